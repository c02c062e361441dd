#include <tessera/library/bench/tuning.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include <tessera/library/attention.h>
#include <tessera/library/bench/launch_timer.h>
#include <tessera/library/bench/tensors.h>
#include <tessera/library/devices.h>

namespace tessera::bench {

namespace {

constexpr std::size_t kFinalists = 4;
constexpr int kRounds = 3;
constexpr double kNoise = 0.01;

AttentionOptions chosen(AttentionOptions options, const library::TuneChoice& choice) {
  options.query_tile = choice.tile.query;
  options.key_tile = choice.tile.key;
  options.schedule = choice.schedule;
  return options;
}

class Trials {
 public:
  Trials(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes, int launches)
      : options_(options), timer_(device), tensors_(device, options, shapes, timer_.stream()), launches_(launches) {}

  Trial run(const library::TuneChoice& choice) const try {
    Attention attend(chosen(options_, choice), SourceLoc{});
    return {choice, time(attend), ""};
  } catch (const UserError& error) {
    return {choice, 0, error.what()};
  }

  // By turns, so that none has the device at its coolest.
  void run_again(const std::vector<Trial*>& trials) const {
    std::vector<std::unique_ptr<Attention>> attends;
    for (const Trial* trial : trials)
      attends.push_back(std::make_unique<Attention>(chosen(options_, trial->choice), SourceLoc{}));
    std::vector<std::vector<double>> ms(trials.size());
    for (int round = 0; round < kRounds; ++round)
      for (std::size_t i = 0; i < trials.size(); ++i) ms[i].push_back(time(*attends[i]));
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i]->ms = median(ms[i]);
  }

 private:
  double time(Attention& attend) const {
    return timer_.single([&] { attend(tensors_.call(), SourceLoc{}); }, launches_).median_ms;
  }

  const AttentionOptions options_;
  const LaunchTimer timer_;
  const Tensors tensors_;
  const int launches_;
};

// The fastest few and the default.
std::vector<Trial*> finalists(std::vector<Trial>& trials) {
  std::vector<Trial*> accepted;
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (trials[i].refusal.empty()) accepted.push_back(&trials[i]);
  std::sort(accepted.begin(), accepted.end(), [](const Trial* a, const Trial* b) { return a->ms < b->ms; });
  accepted.resize(std::min(accepted.size(), kFinalists));
  accepted.push_back(&trials[0]);
  return accepted;
}

}  // namespace

std::size_t winner_of(const std::vector<Trial>& trials) {
  std::size_t winner = 0;
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (trials[i].refusal.empty() && trials[i].ms < trials[winner].ms) winner = i;
  return trials[winner].ms < (1 - kNoise) * trials[0].ms ? winner : 0;
}

Tuning tune(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes,
            int launches) {
  const backend::Target& target = library::choose_target(options.target, &device, SourceLoc{});
  const int value_dim = options.value_dim ? options.value_dim : options.head_dim;
  const Trials measure(device, options, shapes, launches);
  Tuning result;
  for (const library::TuneChoice& choice : library::tune_choices(options.head_dim, value_dim, target)) {
    result.trials.push_back(measure.run(choice));
    if (const std::string& refusal = result.trials[0].refusal; !refusal.empty())
      throw UserError({}, "the default tile and schedule are refused: " + refusal, "change what is asked for");
  }
  std::vector<Trial> finals;
  const std::vector<Trial*> again = finalists(result.trials);
  measure.run_again(again);
  for (const Trial* trial : again) finals.push_back(*trial);
  std::rotate(finals.begin(), finals.end() - 1, finals.end());  // the default first
  const Trial& won = finals[winner_of(finals)];
  const auto is_won = [&](const Trial& trial) { return trial.choice == won.choice; };
  result.winner = static_cast<std::size_t>(
      std::find_if(result.trials.begin(), result.trials.end(), is_won) - result.trials.begin());
  return result;
}

}  // namespace tessera::bench
