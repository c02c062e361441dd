// Every schedule that tuning may pick, pair by pair with shapes of tiles and with masks, in kernels that are
// small enough for what this program is there for:   compute-sanitizer --tool racecheck gpu_schedules
//
// What no schedule says is covered too: blocks that take one program and several, and results that leave through shared
// memory or straight from registers.
#include <doctest/doctest.h>

#include <algorithm>

#include <tessera/library/tune_choice.h>

#include "gpu/device_case.h"
#include "gpu/pairwise.h"
#include "gpu/patterns.h"

using namespace tessera;
using namespace tessera::test;

namespace {

// What tuning chooses from, each once; the default first.
std::vector<backend::Schedule> tuned_schedules() {
  std::vector<backend::Schedule> all;
  for (const library::TuneChoice& choice : library::tune_choices())
    if (std::find(all.begin(), all.end(), choice.schedule) == all.end()) all.push_back(choice.schedule);
  return all;
}

const std::vector<const char*> kMasks = {"full", "causal", "window", "documents, causal"};

const PatternCase& pattern(const std::string& name) {
  const auto found = std::find_if(pattern_cases().begin(), pattern_cases().end(),
                                  [&](const PatternCase& p) { return p.name == name; });
  REQUIRE(found != pattern_cases().end());
  return *found;
}

// Persistent kernels get so many programs that blocks take several; others a few, with edges in every direction.
Case sized(int rows, int depth, bool persistent) {
  Case c{.batch = 2, .heads = 4, .kv_heads = 2, .depth = depth};
  c.query_tile = rows;
  c.key_tile = 64;
  if (persistent) {
    const std::int64_t tiles = test_device().info().multiprocessors / (c.batch * c.heads) + 1;
    c.queries = c.keys = tiles * rows - 3;
  } else {
    c.queries = 2 * rows + 10;
    c.keys = c.queries + 37;
  }
  return c;
}

// What each kernel is, over a run of the list.
struct Seen {
  int kernels = 0, staged = 0, persistent = 0;
};

void check_schedule(const backend::Schedule& schedule, const Case& c, const std::string& name, Seen& seen) {
  CAPTURE(to_string(schedule));
  AttentionOptions options = options_of(c);
  options.schedule = schedule;
  Attention attend(options);
  check_sampled(attend, c, name, 8);
  ++seen.kernels;
  seen.staged += attend.ptx().find("cp.async.bulk.tensor.4d.global.shared") != std::string::npos;
  seen.persistent += schedule.persistent;
}

}  // namespace

TEST_CASE("every schedule of tuning with every shape of tiles and mask, pair by pair") {
  const std::vector<backend::Schedule> schedules = tuned_schedules();
  // Rows and head dim: one to three warpgroups, narrow products and wide. For 256 three have no registers.
  const std::vector<std::pair<int, int>> shapes = {{64, 128}, {128, 64}, {128, 256}, {192, 64}, {192, 128}};
  enum { schedule, shape, mask };
  Seen seen;
  for (const auto& row : pairwise({schedules.size(), shapes.size(), kMasks.size()})) {
    const auto& [rows, depth] = shapes[row[shape]];
    Case c = sized(rows, depth, schedules[row[schedule]].persistent);
    pattern(kMasks[row[mask]]).apply(c);
    check_schedule(schedules[row[schedule]], c,
                   std::string(kMasks[row[mask]]) + ", " + std::to_string(rows) + " rows, d" + std::to_string(depth),
                   seen);
  }
  CHECK(seen.kernels == static_cast<int>(schedules.size() * shapes.size()));
  CHECK(seen.staged > 0);
  CHECK(seen.staged < seen.kernels);
  CHECK(seen.persistent > 0);
  CHECK(seen.persistent < seen.kernels);
}
