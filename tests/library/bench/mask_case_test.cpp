// The masks that attention is measured under: pair by pair against tests/perf/peers/masks.json, which peers are held
// against too, and the number of live keys in closed form against the pairs.
#include <tessera/library/bench/mask_case.h>

#include <fstream>
#include <set>

#include <doctest/doctest.h>

using namespace tessera;
using namespace tessera::bench;
using json = nlohmann::ordered_json;

namespace {

// Row q of the mask as text: a digit a key.
std::string row_of(const Mask& mask, std::int64_t q, std::int64_t tokens) {
  std::string row;
  for (std::int64_t k = 0; k < tokens; ++k) {
    const mask::Point point{.q = q, .k = k, .query_length = tokens, .key_length = tokens};
    row += mask::allows(mask.predicate(), point) ? '1' : '0';
  }
  return row;
}

void check_counts(const MaskCase& mask, std::int64_t tokens) {
  CAPTURE(mask.kind);
  CAPTURE(mask.parameters.dump());
  CAPTURE(tokens);
  for (std::int64_t q = 0; q < tokens; ++q) {
    const std::string row = row_of(mask.mask, q, tokens);
    CHECK(mask.live_keys(q, tokens) == std::count(row.begin(), row.end(), '1'));
  }
}

std::vector<MaskCase> cases() {
  BlockMap map{4, 6, {}};
  for (const char digit : std::string("101001010010001100110110000010100001")) map.live.push_back(digit - '0');
  return {all_keys(),
          causal_keys(),
          window_keys(5, 2),
          window_keys(3, 0),
          prefix_keys(7),
          sink_keys(3, 4),
          longformer_keys(3, 2),
          strided_keys(5),
          dilated_keys(2, 3),
          diagonal_blocks(7),
          causal_documents({1, 9, 0, 6, 8}),
          block_map_keys(map),
          neighbourhood_keys({{4, 3, 1}, {6, 3, 1}}),
          neighbourhood_keys({{2, 2, 1}, {3, 2, 1}, {4, 3, 2}}),
          video_keys(4, 2, 3, 1)};
}

}  // namespace

TEST_CASE("every kind is the mask that peers build from its parameters") {
  std::ifstream file(TESSERA_TESTS_DIR "/perf/peers/masks.json");
  json wanted = json::parse(file);
  for (const MaskCase& mask : cases()) {
    json description = {{"kind", mask.kind}};
    description.update(mask.parameters);
    CAPTURE(description.dump());
    const auto found =
        std::find_if(wanted.begin(), wanted.end(), [&](const json& entry) { return entry["mask"] == description; });
    REQUIRE(found != wanted.end());
    const auto tokens = static_cast<std::int64_t>(found->at("rows").size());
    for (std::int64_t q = 0; q < tokens; ++q)
      CHECK(row_of(mask.mask, q, tokens) == found->at("rows").at(static_cast<std::size_t>(q)).get<std::string>());
    wanted.erase(found);
  }
  CHECK(wanted.empty());
}

TEST_CASE("live keys are counted as they are") {
  for (const MaskCase& mask : cases()) check_counts(mask, 24);
  for (const std::int64_t tokens : {1, 6, 40}) {
    for (const MaskCase& mask : {all_keys(), causal_keys(), window_keys(5, 2), window_keys(60, 60), prefix_keys(7),
                                 sink_keys(3, 4), sink_keys(50, 2), longformer_keys(3, 2), longformer_keys(50, 9),
                                 strided_keys(5), dilated_keys(2, 3), diagonal_blocks(7)})
      check_counts(mask, tokens);
  }
}

TEST_CASE("random blocks are the same everywhere, about as many as asked for, and hold the diagonal") {
  const BlockMap map = random_blocks(128, 128, 0.25, 0);
  std::int64_t live = 0;
  for (std::int64_t row = 0; row < map.side; ++row) {
    live += map.live_in_row(row);
    CHECK(map.live[static_cast<std::size_t>(row * map.side + row)] == 1);
  }
  CHECK(live == 4214);
  CHECK(random_blocks(128, 128, 0.25, 0).live == map.live);
  CHECK(random_blocks(128, 128, 0.25, 1).live != map.live);
}

TEST_CASE("BigBird's blocks: a band, the first rows and columns, and as many others in each row") {
  const int globals = 2, random = 3;
  const BlockMap map = bigbird_blocks(64, 40, 3, globals, random, 7);
  CHECK(map.live_in_row(0) == 40);
  CHECK(map.live_in_row(1) == 40);
  CHECK(map.live_in_row(2) == 2 + 2 + random);  // blocks 1 to 3, of which 1 is a global column
  for (std::int64_t row = 3; row < 39; ++row) {
    const auto at = [&](std::int64_t column) { return map.live[static_cast<std::size_t>(row * 40 + column)]; };
    CHECK(map.live_in_row(row) == globals + 3 + random);
    CHECK((at(0) && at(1) && at(row - 1) && at(row) && at(row + 1)));
  }
}
