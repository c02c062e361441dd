// What was measured to be best, kept on disk beside the compiled kernels: one small file of JSON for each kernel,
// device and class of shapes, written under a name of its own and renamed into place.
//
// Only `tessera tune` writes here. An Attention whose tile and schedule are left open reads it (library/tuned.h). What
// is damaged, of another format, of another kernel, or measured with another build of the compiler is not used, and
// whoever asked is told why.
#pragma once

#include <optional>
#include <string>

#include <tessera/library/attention_options.h>
#include <tessera/library/tune_choice.h>
#include <tessera/runtime/hash.h>

namespace tessera::library {

struct TracedProgram;

// Lengths and heads by powers of two, the number of query heads that share keys as it is:
// "queries 8192, keys 8192, heads 16, group 1" is for 8192 to 16383 queries, ...
std::string shape_class(const AttentionShapes& shapes);

// What a measurement holds for.
struct TuneKey {
  std::string device;   // "NVIDIA H200"
  std::string program;  // the traced program's text, which has the mask, the scores and the types, but no tables
  int head_dim = 0, value_dim = 0;
  std::string shapes;  // their class

  runtime::Hash hash() const;
};
TuneKey tune_key(const std::string& device, const TracedProgram& program, const AttentionOptions& resolved,
                 const AttentionShapes& shapes);

class TuneStore {
 public:
  TuneStore(std::string directory, std::string compiler)  // an empty directory keeps nothing
      : directory_(std::move(directory)), compiler_(std::move(compiler)) {}
  static TuneStore from_environment();  // in the directory of the kernel cache, of this build of the compiler

  struct Found {
    std::optional<TuneChoice> choice;
    std::string ignored;  // why an entry that is there is not used: one sentence
  };
  Found find(const TuneKey& key) const;

  // Returns the name of the file. UserError if it cannot be written.
  std::string save(const TuneKey& key, const TuneChoice& choice, double ms) const;

 private:
  std::string path(const TuneKey& key) const;

  std::string directory_, compiler_;
};

}  // namespace tessera::library
