// Measuring on the stand-in driver, where every launch takes 1.5 ms: what is launched, how often, and what is made of
// it.
#include <tessera/library/bench/measure.h>
#include <tessera/library/bench/tuning.h>
#include <tessera/library/tuned.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include <tessera/library/build_id.h>
#include <tessera/library/check_call.h>
#include <tessera/library/devices.h>
#include <tessera/library/planned.h>

#include "runtime/fake/attach.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::bench;

namespace {

const runtime::Device& device() {
  static const bool enough = (runtime::test::state().memory_bytes = 1 << 30, true);
  static const runtime::Device opened = runtime::Device::open(0);
  (void)enough;
  return opened;
}

Workload small(const std::string& name, MaskCase mask, std::int64_t tokens = 512) {
  return {name, 1, 2, 1, tokens, 64, 64, std::move(mask)};
}

std::size_t launches(const std::function<void()>& work) {
  const std::size_t before = runtime::test::state().launches.size();
  work();
  return runtime::test::state().launches.size() - before;
}

}  // namespace

TEST_CASE("each launch is timed alone, after more memory than the cache holds was written") {
  const LaunchTimer timer(device());
  int count = 0;
  runtime::test::state().calls.clear();
  const LaunchTimes times = timer.single([&] { ++count; }, 20);
  CHECK(times.median_ms == 1.5);
  CHECK(times.best_ms == 1.5);
  CHECK(times.launches == 20);
  CHECK(count == 25);  // with the warm-up
  CHECK(runtime::test::state().calls["cuMemsetD8Async"] == 25);
  CHECK(runtime::test::state().calls["cuEventRecord"] == 50);
  CHECK(runtime::test::state().calls["cuEventSynchronize"] == 25);
  CHECK(timer.single([] {}, 1000).launches == 166);  // a quarter of a second
  CHECK(timer.single([] {}, 3).launches == 3);

  count = 0;
  CHECK(timer.sustained_ms([&] { ++count; }, 1.5) == 1.5 / 166);
  CHECK(count == 166);
}

TEST_CASE("a suite, with what does not fit and what has nothing dense beside it") {
  const std::vector<Workload> everything = {small("dense", all_keys()), small("causal", causal_keys()),
                                            small("huge", causal_keys(), 1 << 23)};
  std::vector<Workload> chosen = {everything[1], everything[2]};
  chosen.push_back(small("other dims", causal_keys()));
  chosen.back().head_dim = 32;
  std::vector<Row> rows;
  CHECK(launches([&] { rows = measure_all(device(), chosen, everything, 10); }) == 3 * (1 + 5 + 10 + 166));
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[0].measured);
  CHECK(rows[0].measured->single.median_ms == 1.5);
  const TileWork& tiles = rows[0].measured->tiles.at(0);
  CHECK(tiles.visited < 2 * 3 * 4);
  REQUIRE(rows[0].bound_ms);
  const double dense_tiles = 2.0 * 3 * 4;  // of 192 x 128, the default for these dims
  CHECK(tiles.query_tile == 192);
  CHECK(tiles.key_tile == 128);
  CHECK(*rows[0].bound_ms == doctest::Approx(1.5 / dense_tiles * (static_cast<double>(tiles.visited) + 1.4 * 2 * 3)));
  CHECK(!rows[1].measured);
  CHECK(rows[1].failure.find("memory") != std::string::npos);
  CHECK(rows[2].measured);
  CHECK(!rows[2].bound_ms);
}

TEST_CASE("tuning tries what it is given, says what does not fit, and keeps the default where nothing beats it") {
  const Workload w = small("causal", causal_keys());
  std::vector<library::TuneChoice> choices = {
      {{128, 128}, {}}, {{64, 96}, {}}, {{192, 256}, {}}, {{128, 256}, {}}, {{128, 256}, {}}};
  choices[3].schedule.stages = 7;  // more than fit
  choices[4].schedule.stages = 8;
  const Tuning tuning = tune(device(), w.options(), w.shapes(), choices, 10);
  REQUIRE(tuning.trials.size() == 5);
  CHECK(tuning.trials[0].ms == 1.5);
  CHECK(tuning.trials[1].ms == 1.5);
  CHECK(tuning.trials[2].refusal.find("registers") != std::string::npos);
  CHECK(tuning.trials[3].ms == 1.5);
  CHECK(tuning.trials[4].refusal == "it is the kernel of " + to_string(choices[3]));
  CHECK(tuning.trials[4].ms == 0);
  for (const std::size_t i : {0, 1, 3}) CHECK(tuning.trials[i].is_final);
  CHECK(tuning.winner == 0);
  CHECK(test::refusal_in("", [&] {
          tune(device(), w.options(), w.shapes(), {choices[2]}, 10);
        }).starts_with("error: kernel 'forward' needs about "));
}

TEST_CASE("tuning again neither reads nor empties what was tuned before") {
  const auto folder = std::filesystem::temp_directory_path() / ("tessera_tune_again_" + std::to_string(::getpid()));
  ::setenv("TESSERA_CACHE_DIR", folder.c_str(), 1);
  const Workload w = small("causal", causal_keys());
  const AttentionOptions options = library::resolve(w.options(), SourceLoc{});
  const library::TracedProgram program = library::trace_attention(options, false, false);
  const library::TuneKey key = library::tune_key(device().info().name, program, options, w.shapes());
  const library::TuneStore store = library::TuneStore::from_environment();
  const library::TuneChoice earlier{{64, 96}, {}}, standard{{192, 128}, {}};
  store.save(key, earlier, 1);

  const std::vector<library::TuneChoice> choices = {{}, earlier};
  for (int time = 0; time < 2; ++time) {
    const Tuning tuning = tune(device(), w.options(), w.shapes(), choices, 10);
    CHECK(tuning.standard().choice == standard);  // and not the earlier winner
    CHECK(tuning.trials[1].refusal.empty());      // nor is that a copy of the default
    CHECK(tuning.trials[1].choice == earlier);
    store.save(key, tuning.best().choice, tuning.best().ms);
    CHECK(*store.find(key).choice == standard);  // all take the same time here: the default is kept, by its tile
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("what was tuned is used where tile and schedule are left open, on its device, and said") {
  const auto folder = std::filesystem::temp_directory_path() / ("tessera_tuned_test_" + std::to_string(::getpid()));
  ::setenv("TESSERA_CACHE_DIR", folder.c_str(), 1);
  const AttentionOptions options = library::resolve(small("causal", causal_keys()).options(), SourceLoc{});
  const AttentionShapes shapes = small("causal", causal_keys()).shapes();
  const library::TracedProgram program = library::trace_attention(options, false, false);
  const library::TuneChoice fallback{{128, 128}, {}}, best{{64, 176}, {}};
  const library::TuneKey key = library::tune_key(device().info().name, program, options, shapes);
  int traced = 0;
  const auto trace = [&]() -> const library::TracedProgram& { return ++traced, program; };

  CHECK(library::Tuned(options, fallback, &device()).at(shapes, trace).choice == fallback);
  CHECK(library::Tuned(options, fallback, &device()).at(shapes, trace).note.empty());
  const std::string file = library::TuneStore::from_environment().save(key, best, 1);

  traced = 0;
  library::Tuned tuned(options, fallback, &device());
  CHECK(tuned.at(shapes, trace).choice == best);
  CHECK(tuned.at(shapes, trace).note == "tuned: 64 x 176, " + to_string(best.schedule));
  CHECK(traced == 1);  // looked up once
  AttentionShapes longer = shapes;
  longer.query_length = 4096;
  CHECK(tuned.at(longer, trace).choice == fallback);
  CHECK(library::Tuned(options, fallback, nullptr).at(shapes, trace).choice == fallback);
  AttentionOptions named = options;
  named.key_tile = 128;
  CHECK(library::Tuned(named, fallback, &device()).at(shapes, trace).choice == fallback);
  named = options;
  named.schedule.stages = 3;
  CHECK(library::Tuned(named, fallback, &device()).at(shapes, trace).choice == fallback);

  std::filesystem::resize_file(file, 10);
  const library::Tuned::Answer damaged = library::Tuned(options, fallback, &device()).at(shapes, trace);
  CHECK(damaged.choice == fallback);
  CHECK(damaged.note == "the tuning entry " + file + " is not used: it is no tuning entry; tessera tune replaces it");
  std::filesystem::remove_all(folder);
}
