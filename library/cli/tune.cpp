// tessera tune: measures tiles and schedules of one attention, and keeps the best for the calls to come.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tessera/library/bench/tuning.h>
#include <tessera/library/check_call.h>
#include <tessera/library/cli/commands.h>
#include <tessera/library/cli/measuring.h>
#include <tessera/library/planned.h>
#include <tessera/library/tune_store.h>

namespace tessera::cli {

namespace {

using json = nlohmann::ordered_json;

// Returns where it is kept.
std::string keep(const bench::Trial& best, const runtime::Device& device, const AttentionOptions& options,
                 const AttentionShapes& shapes) {
  const auto program = library::trace_attention(options, shapes.lse, shapes.key_lengths);
  const library::TuneKey key = library::tune_key(device.info().name, program, options, shapes);
  return library::TuneStore::from_environment().save(key, best.choice, best.ms);
}

json trial_json(const bench::Trial& trial) {
  json result = library::to_json(trial.choice);
  result["ms"] = trial.refusal.empty() ? json(trial.ms) : json(nullptr);
  if (!trial.refusal.empty()) result["refusal"] = trial.refusal;
  return result;
}

std::string as_json(const Arguments& arguments, const runtime::Device& device, const bench::Tuning& tuning,
                    const std::string& kept) {
  json result = {{"device", device.info().name},       {"pattern", arguments.pattern},
                 {"parameters", arguments.parameters}, {"default", trial_json(tuning.standard())},
                 {"best", trial_json(tuning.best())},  {"kept", kept}};
  result["trials"] = json::array();
  for (const bench::Trial& trial : tuning.trials) result["trials"].push_back(trial_json(trial));
  return result.dump(2) + "\n";
}

std::string as_text(const runtime::Device& device, const bench::Tuning& tuning, const std::string& kept) {
  std::vector<const bench::Trial*> measured;
  for (const bench::Trial& trial : tuning.trials)
    if (trial.refusal.empty()) measured.push_back(&trial);
  std::stable_sort(measured.begin(), measured.end(), [](const auto* a, const auto* b) { return a->ms < b->ms; });
  constexpr std::size_t shown = 10;
  std::string text = fmt::format("device     {}\n", device.info().text());
  text += fmt::format("measured   {} tiles and schedules; {} others do not fit\n", measured.size(),
                      tuning.trials.size() - measured.size());
  for (std::size_t i = 0; i < std::min(measured.size(), shown); ++i)
    text += fmt::format("  {:.4f} ms  {}\n", measured[i]->ms, to_string(measured[i]->choice));
  text += fmt::format("default    {:.4f} ms  {}\n", tuning.standard().ms, to_string(tuning.standard().choice));
  text += fmt::format("best       {:.4f} ms  {}\n", tuning.best().ms, to_string(tuning.best().choice));
  return text + fmt::format("kept       {}\n", kept);
}

}  // namespace

std::string tune(const Arguments& arguments) {
  const AttentionOptions options = library::resolve(arguments.options(), SourceLoc{});
  const AttentionShapes shapes = library::check_shapes(arguments.shapes(), SourceLoc{});
  const runtime::Device& device = device_to_measure_on();
  const auto choices = library::tune_choices();
  const bench::Tuning tuning = bench::tune(device, options, shapes, choices, arguments.repeat);
  const std::string kept = keep(tuning.best(), device, options, shapes);
  return arguments.json ? as_json(arguments, device, tuning, kept) : as_text(device, tuning, kept);
}

}  // namespace tessera::cli
