// tessera draw: a mask as a picture, on the terminal or in a file.
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tessera/library/cli/commands.h>
#include <tessera/library/draw/picture.h>
#include <tessera/library/registry.h>

namespace tessera::cli {

namespace {

constexpr draw::Canvas kTerminal{32, 64, 2};  // a character is twice as high as wide

std::string title_of(const Arguments& a) {
  std::string title = a.pattern;
  for (const auto& [name, value] : a.parameters) title += fmt::format(" --{} {}", name, value);
  return title;
}

std::string order_of(const draw::TileView& view) {
  return fmt::format("order of queries {}, of keys {}", view.query_order, view.key_order);
}

bool is_png(const std::string& output) {
  if (output.ends_with(".png")) return true;
  if (output.ends_with(".svg") || output.empty()) return false;
  throw UserError({}, fmt::format("--output {} is no picture that can be drawn", output),
                  "give a name that ends in .svg or .png");
}

void write(const std::string& output, const std::string& bytes) {
  std::ofstream file(output, std::ios::binary);
  if (!file || !(file << bytes << std::flush))
    throw UserError({}, fmt::format("--output {} cannot be written", output), "check the path, and the space there");
}

std::vector<draw::Panel> panels_of(const Arguments& a, const mask::Pointwise& predicate,
                                   const draw::ViewRequest& request, const draw::TileView& tiles) {
  draw::Panel elements{draw::scaled_view(predicate, request, {a.pixels, a.pixels}), "", {}};
  const draw::TileView& view = elements.view;
  elements.title = view.query_tile == 1 && view.key_tile == 1
                       ? "elements"
                       : fmt::format("elements, {} x {} to a point", view.query_tile, view.key_tile);
  elements.notes = {fmt::format("{} queries (down) x {} keys (across)", view.queries, view.keys)};
  draw::Panel panel{tiles, fmt::format("tiles of {} x {}", tiles.query_tile, tiles.key_tile), {}};
  panel.notes = {draw::summary(tiles), order_of(tiles)};
  return {std::move(elements), std::move(panel)};
}

std::string report(const Arguments& a, const draw::TileView& tiles) {
  if (!a.json) {
    return fmt::format("tiles      {} x {}: {}\norder      queries {}, keys {}\n", tiles.query_tile, tiles.key_tile,
                       draw::summary(tiles), tiles.query_order, tiles.key_order);
  }
  nlohmann::ordered_json json = {
      {"pattern", a.pattern},
      {"parameters", a.parameters},
      {"query_length", tiles.queries},
      {"key_length", tiles.keys},
      {"query_order", tiles.query_order},
      {"key_order", tiles.key_order},
      {"tiles",
       {{"total", tiles.rows * tiles.columns},
        {"visited", tiles.count(draw::Kind::full) + tiles.count(draw::Kind::partial)},
        {"full", tiles.count(draw::Kind::full)},
        {"partial", tiles.count(draw::Kind::partial)}}},
      {"output", a.output.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(a.output)}};
  return json.dump(2) + "\n";
}

}  // namespace

std::string draw(const Arguments& a) {
  const bool png = is_png(a.output);
  const Mask mask = make_mask(pattern_named(a.pattern), a.parameters);
  const AttentionShapes shapes = a.shapes();
  const draw::ViewRequest request{shapes.query_length, shapes.key_length, a.head, a.sequence, a.query_tile, a.key_tile};
  const draw::TileView tiles = draw::tile_view(mask.predicate(), request);
  if (a.output.empty()) {
    const draw::TileView marks = draw::scaled_view(mask.predicate(), request, kTerminal);
    return (a.json ? "" : title_of(a) + "\n" + draw::to_terminal(marks)) + report(a, tiles);
  }
  const auto panels = panels_of(a, mask.predicate(), request, tiles);
  write(a.output, png ? draw::to_png(panels) : draw::to_svg(panels, title_of(a)));
  return report(a, tiles) + (a.json ? "" : fmt::format("wrote      {}\n", a.output));
}

}  // namespace tessera::cli
