// What tuning chooses from: how a kernel is cut into tiles, and how it runs. As JSON, and as a list of what is worth
// measuring.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tessera/backend/schedule.h>

namespace tessera::library {

struct TuneChoice {
  backend::TileShape tile{};  // none: chosen by its cost, as where nothing was tuned
  backend::Schedule schedule{};
  friend bool operator==(const TuneChoice& a, const TuneChoice& b) {
    return a.tile == b.tile && a.schedule == b.schedule;
  }
};

std::string to_string(const TuneChoice& choice);  // "128 x 128, warpgroups 0, stages 2, persistent, overlap"

// {"tile": [128, 128], "schedule": {"warpgroups": 0, "stages": 2, "blocks": 0, "persistent": true, "overlap": true,
// "turns": null,
//  "skip_ones": null}}; null is left open
nlohmann::ordered_json to_json(const TuneChoice& choice);
// Nothing if it has another form: a field too many or too few, or a tile that no kernel can have.
std::optional<TuneChoice> parse_choice(const nlohmann::ordered_json& value);

// The default first, then the others, each once. Some are refused when they are compiled: too many registers, or more
// shared memory than there is.
std::vector<TuneChoice> tune_choices();

}  // namespace tessera::library
