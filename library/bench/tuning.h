// Tuning: the time of one attention call under every tile and schedule that the compiler accepts.
#pragma once

#include <string>
#include <vector>

#include <tessera/library/attention_options.h>
#include <tessera/library/tune_choice.h>
#include <tessera/runtime/device.h>

namespace tessera::bench {

struct Trial {
  library::TuneChoice choice;
  double ms = 0;
  std::string refusal{};  // of the compiler, or the choice that gave the same kernel; then it has no time
  bool is_final = false;  // measured again beside the default
};

struct Tuning {
  std::vector<Trial> trials;  // the default first
  std::size_t winner = 0;

  const Trial& best() const { return trials[winner]; }
  const Trial& standard() const { return trials[0]; }
};

// Tiles that a choice leaves open are filled in first, and are what its trial names: what was tuned before has no part
// in it. Compiles all choices, on all cores, and measures them; then the fastest few and the first, which is the
// default, again by turns. UserError when the default itself is refused, as the compiler says it.
Tuning tune(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes,
            const std::vector<library::TuneChoice>& choices, int launches);

// The fastest of the finals; the default unless it is beaten by more than noise.
std::size_t winner_of(const std::vector<Trial>& trials);

}  // namespace tessera::bench
