#include <tessera/library/tune_choice.h>

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::library {

namespace {

using json = nlohmann::ordered_json;

// All fields of a schedule by their names. One that is added to it does not compile until it is listed here.
template <class S, class Visit>
void each_field(S& schedule, Visit visit) {
  auto& [warpgroups, stages, blocks, persistent, overlap, turns, skip_ones] = schedule;
  visit("warpgroups", warpgroups);
  visit("stages", stages);
  visit("blocks", blocks);
  visit("persistent", persistent);
  visit("overlap", overlap);
  visit("turns", turns);
  visit("skip_ones", skip_ones);
}

std::vector<backend::Schedule> schedules() {
  std::vector<backend::Schedule> all;
  for (const bool persistent : {true, false}) {
    for (const bool turns : {false, true}) {
      for (const bool skip_ones : {true, false})
        all.push_back({.persistent = persistent, .overlap = true, .turns = turns, .skip_ones = skip_ones});
    }
  }
  all.push_back({.stages = 3, .skip_ones = true});
  all.push_back({.overlap = false});
  return all;
}

bool read(const json& value, std::optional<bool>& field) {
  if (value.is_boolean()) field = value.get<bool>();
  return value.is_boolean() || value.is_null();
}

template <class T>
bool read(const json& value, T& field) {
  const bool fits = std::is_same_v<T, bool> ? value.is_boolean() : value.is_number_integer();
  if (fits) field = value.get<T>();
  return fits;
}

std::optional<backend::Schedule> parse_schedule(const json& value) {
  if (!value.is_object()) return std::nullopt;
  backend::Schedule schedule;
  std::size_t fields = 0;
  bool reads = true;
  each_field(schedule, [&](const char* name, auto& field) {
    ++fields;
    reads = reads && value.contains(name) && read(value[name], field);
  });
  return reads && fields == value.size() ? std::optional(schedule) : std::nullopt;
}

bool is_tile(const backend::TileShape& tile) {
  if (tile == backend::TileShape{}) return true;  // left open
  return tile.query > 0 && tile.query % 64 == 0 && tile.query <= 192 && tile.key > 0 && tile.key % 16 == 0 &&
         tile.key <= 256;
}

}  // namespace

std::string to_string(const TuneChoice& choice) {
  const std::string schedule = to_string(choice.schedule);
  if (choice.tile == backend::TileShape{}) return "tile left open, " + schedule;
  return fmt::format("{} x {}, {}", choice.tile.query, choice.tile.key, schedule);
}

json to_json(const TuneChoice& choice) {
  json schedule = json::object();
  each_field(choice.schedule, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<decltype(field), const std::optional<bool>&>)
      schedule[name] = field ? json(*field) : json(nullptr);
    else
      schedule[name] = field;
  });
  return {{"tile", {choice.tile.query, choice.tile.key}}, {"schedule", std::move(schedule)}};
}

std::optional<TuneChoice> parse_choice(const json& value) {
  if (!value.is_object() || !value.contains("tile") || !value.contains("schedule")) return std::nullopt;
  const json& tile = value["tile"];
  const auto schedule = parse_schedule(value["schedule"]);
  TuneChoice choice;
  if (!schedule || !tile.is_array() || tile.size() != 2 || !read(tile[0], choice.tile.query) ||
      !read(tile[1], choice.tile.key) || !is_tile(choice.tile))
    return std::nullopt;
  choice.schedule = *schedule;
  return choice;
}

std::vector<TuneChoice> tune_choices() {
  std::vector<TuneChoice> all = {{}};
  for (const int query : {64, 128, 192}) {
    for (const int key : {64, 80, 96, 112, 128, 160, 192}) {
      for (const backend::Schedule& schedule : schedules()) {
        const TuneChoice choice{{query, key}, schedule};
        if (std::find(all.begin(), all.end(), choice) == all.end()) all.push_back(choice);
      }
    }
  }
  return all;
}

}  // namespace tessera::library
