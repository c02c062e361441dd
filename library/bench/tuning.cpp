#include <tessera/library/bench/tuning.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include <tessera/library/attention.h>
#include <tessera/library/bench/launch_timer.h>
#include <tessera/library/bench/tensors.h>
#include <tessera/library/check_call.h>
#include <tessera/library/choose_tile.h>
#include <tessera/library/devices.h>

namespace tessera::bench {

namespace {

constexpr std::size_t kFinalists = 4;
constexpr int kRounds = 3;
constexpr double kNoise = 0.01;

// One choice, compiled; or why it is not.
struct Candidate {
  Trial trial;
  std::unique_ptr<Attention> attend{};
  std::string ptx{};
  std::exception_ptr failure{};
};

Candidate compile(AttentionOptions options, const AttentionShapes& shapes, const library::TuneChoice& choice) {
  Candidate candidate{{choice, 0, ""}};
  options.query_tile = choice.tile.query;
  options.key_tile = choice.tile.key;
  options.schedule = choice.schedule;
  try {
    auto attend = std::make_unique<Attention>(options, SourceLoc{});
    attend->prepare(shapes, SourceLoc{});
    candidate.ptx = attend->ptx(SourceLoc{});
    candidate.attend = std::move(attend);
  } catch (const UserError& error) {
    candidate.trial.refusal = error.what();
    candidate.failure = std::current_exception();
  } catch (...) {
    candidate.failure = std::current_exception();
  }
  return candidate;
}

// With whole tiles: an Attention that leaves them open would take those of a stored tuning, which is what is to be
// replaced, and an entry without them would say nothing.
std::vector<library::TuneChoice> resolved(std::vector<library::TuneChoice> choices, const AttentionOptions& options,
                                          const AttentionShapes& shapes, const backend::Target& target) {
  const auto program = library::trace_attention(library::resolve(options, SourceLoc{}), shapes.lse, shapes.key_lengths);
  for (library::TuneChoice& choice : choices) choice.tile = library::choose_tile(choice.tile, program, target);
  return choices;
}

// Throws what is no refusal, and the refusal of the first.
std::vector<Candidate> compile_all(const AttentionOptions& options, const AttentionShapes& shapes,
                                   const std::vector<library::TuneChoice>& choices) {
  std::vector<Candidate> all(choices.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < choices.size(); at = next++) all[at] = compile(options, shapes, choices[at]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Candidate& candidate : all)
    if (candidate.failure && (candidate.trial.refusal.empty() || &candidate == &all.front()))
      std::rethrow_exception(candidate.failure);
  return all;
}

// A schedule asks for stages, and gets those that fit: several may be one kernel.
void refuse_copies(std::vector<Candidate>& candidates) {
  std::map<std::string, const Candidate*> kernels;
  for (Candidate& candidate : candidates) {
    if (!candidate.attend) continue;
    const auto [place, first] = kernels.emplace(candidate.ptx, &candidate);
    if (first) continue;
    candidate.trial.refusal = fmt::format("it is the kernel of {}", to_string(place->second->trial.choice));
    candidate.attend.reset();
  }
}

// The fastest few and the default.
std::vector<Candidate*> finalists(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> accepted;
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (candidates[i].attend) accepted.push_back(&candidates[i]);
  std::sort(accepted.begin(), accepted.end(),
            [](const Candidate* a, const Candidate* b) { return a->trial.ms < b->trial.ms; });
  accepted.resize(std::min(accepted.size(), kFinalists));
  accepted.push_back(&candidates.front());
  return accepted;
}

// By turns, so that none has the device at its coolest.
template <class Time>
void time_again(const std::vector<Candidate*>& candidates, const Time& time) {
  std::vector<std::vector<double>> ms(candidates.size());
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) ms[i].push_back(time(*candidates[i]));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i]->trial.ms = median(ms[i]);
    candidates[i]->trial.is_final = true;
  }
}

}  // namespace

std::size_t winner_of(const std::vector<Trial>& trials) {
  std::size_t winner = 0;
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (trials[i].is_final && trials[i].ms < trials[winner].ms) winner = i;
  return trials[winner].ms < (1 - kNoise) * trials[0].ms ? winner : 0;
}

Tuning tune(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes,
            const std::vector<library::TuneChoice>& choices, int launches) {
  ensure(!choices.empty(), "there is a default to tune from");
  const backend::Target& target = library::choose_target(options.target, &device, SourceLoc{});
  std::vector<Candidate> candidates = compile_all(options, shapes, resolved(choices, options, shapes, target));
  refuse_copies(candidates);
  const LaunchTimer timer(device);
  const Tensors tensors(device, options, shapes, timer.stream());
  const auto time = [&](const Candidate& candidate) {
    return timer.single([&] { (*candidate.attend)(tensors.call(), SourceLoc{}); }, launches).median_ms;
  };
  for (Candidate& candidate : candidates)
    if (candidate.attend) candidate.trial.ms = time(candidate);
  time_again(finalists(candidates), time);

  Tuning result;
  for (Candidate& candidate : candidates) result.trials.push_back(std::move(candidate.trial));
  result.winner = winner_of(result.trials);
  return result;
}

}  // namespace tessera::bench
