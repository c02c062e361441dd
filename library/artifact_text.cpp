#include <tessera/library/artifact_text.h>

#include <nlohmann/json.hpp>

namespace tessera::library {

namespace {

using nlohmann::json;

std::string axis_text(ir::Axis axis) { return axis ? axis.name() : std::string(); }
ir::Axis axis_of(const std::string& name) { return name.empty() ? ir::Axis() : ir::Axis::named(name); }

json slot_json(const backend::Slot& slot) {
  json text = {static_cast<int>(slot.kind), slot.param, slot.dim, axis_text(slot.axis), slot.columns, slot.rows};
  if (slot.digits.empty()) return text;
  json digits = json::array();
  for (const ir::OrderDigit& d : slot.digits) digits.push_back({d.weight, d.tile, d.origin});
  text.push_back(digits);
  text.push_back(slot.complete);
  return text;
}

backend::Slot slot_of(const json& text) {
  backend::Slot slot{.kind = static_cast<backend::SlotKind>(text.at(0).get<int>()),
                     .param = text.at(1).get<int>(),
                     .dim = text.at(2).get<int>(),
                     .axis = axis_of(text.at(3).get<std::string>()),
                     .columns = text.at(4).get<int>(),
                     .rows = text.at(5).get<int>()};
  if (text.size() == 6) return slot;
  for (const json& d : text.at(6))
    slot.digits.push_back({d.at(0).get<std::int64_t>(), d.at(1).get<int>(), d.at(2).get<int>()});
  slot.complete = text.at(7).get<bool>();
  return slot;
}

}  // namespace

std::string serialise(const backend::Artifact& artifact) {
  json slots = json::array(), grid = json::array();
  for (const backend::Slot& slot : artifact.slots) slots.push_back(slot_json(slot));
  for (const ir::Dim& dim : artifact.grid) grid.push_back({axis_text(dim.axis), dim.extent});
  json text = {{"entry", artifact.entry},
               {"target", artifact.target},
               {"ptx", artifact.ptx},
               {"threads", artifact.threads},
               {"blocks", artifact.blocks},
               {"persistent", artifact.persistent},
               {"shared", artifact.shared_bytes},
               {"slots", slots},
               {"grid", grid}};
  return text.dump();
}

std::optional<backend::Artifact> parse_artifact(std::string_view bytes) try {
  json text = json::parse(bytes);
  backend::Artifact artifact{.entry = text.at("entry").get<std::string>(),
                             .target = text.at("target").get<std::string>(),
                             .ptx = text.at("ptx").get<std::string>(),
                             .threads = text.at("threads").get<int>(),
                             .blocks = text.at("blocks").get<int>(),
                             .persistent = text.at("persistent").get<bool>(),
                             .shared_bytes = text.at("shared").get<int>(),
                             .slots = {},
                             .grid = {}};
  for (const json& slot : text.at("slots")) artifact.slots.push_back(slot_of(slot));
  for (const json& dim : text.at("grid")) {
    artifact.grid.push_back({axis_of(dim.at(0).get<std::string>()), dim.at(1).get<int>()});
  }
  return artifact;
} catch (const json::exception&) {
  return std::nullopt;
}

}  // namespace tessera::library
