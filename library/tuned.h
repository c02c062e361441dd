// What tuning chose for the calls of one Attention: looked up once for each class of shapes, and nothing where the user
// named a tile or a schedule.
#pragma once

#include <functional>

#include <tessera/library/made_once.h>
#include <tessera/library/tune_store.h>
#include <tessera/runtime/device.h>

namespace tessera::library {

class Tuned {
 public:
  // `resolved`: the Attention's options, with their dims filled in.
  Tuned(const AttentionOptions& resolved, const TuneChoice& fallback, const runtime::Device* device);

  struct Answer {
    TuneChoice choice;
    std::string note;  // for explain(): what was chosen, or why an entry is not used; empty where there is none
  };
  // `program` traces the Attention's for these shapes; it is called where no answer for their class is at hand.
  Answer at(const AttentionShapes& shapes, const std::function<const TracedProgram&()>& program);

 private:
  Answer look_up(const AttentionShapes& shapes, const TracedProgram& program) const;

  int head_dim_, value_dim_;
  TuneChoice fallback_;
  std::string device_;  // empty: nothing is looked up
  MadeOnce<std::string, Answer> answers_;
};

}  // namespace tessera::library
