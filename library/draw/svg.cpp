#include <algorithm>

#include <fmt/format.h>

#include <tessera/library/draw/picture.h>

namespace tessera::draw {

namespace {

constexpr double kSide = 320, kGap = 36, kMargin = 16, kLine = 16, kTop = 64;

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

// All boxes of one kind as one path, a run of neighbours as one rectangle; in units of boxes.
std::string path_of(const TileView& view, Kind kind, const char* style) {
  std::string runs;
  for (std::int64_t row = 0; row < view.rows; ++row)
    for (std::int64_t column = 0; column < view.columns; ++column) {
      if (view.at(row, column) != kind) continue;
      const std::int64_t begin = column;
      while (column < view.columns && view.at(row, column) == kind) ++column;
      runs += fmt::format("M{} {}h{}v1h-{}z", begin, row, column - begin, column - begin);
    }
  return runs.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, runs);
}

struct PanelSize {
  double width, height;
};

// In tokens the panel has the shape of the mask; the longer side is kSide.
PanelSize panel_size(const TileView& view) {
  const double queries = static_cast<double>(std::max<std::int64_t>(view.queries, 1));
  const double keys = static_cast<double>(std::max<std::int64_t>(view.keys, 1));
  const double longer = std::max(queries, keys);
  return {std::max(kSide * keys / longer, 1.0), std::max(kSide * queries / longer, 1.0)};
}

std::string panel_text(const Panel& panel, double left) {
  const TileView& view = panel.view;
  const PanelSize size = panel_size(view);
  // The last boxes may reach past the end of the tokens: the picture is cut off there.
  const double across = static_cast<double>(view.keys) / view.key_tile,
               down = static_cast<double>(view.queries) / view.query_tile;
  std::string text = fmt::format("<g transform=\"translate({:.1f},{:.1f})\">\n<text y=\"-10\">{}</text>\n", left, kTop,
                                 escaped(panel.title));
  text += fmt::format(
      "<svg width=\"{:.2f}\" height=\"{:.2f}\" viewBox=\"0 0 {:.4f} {:.4f}\" preserveAspectRatio=\"none\">\n",
      size.width, size.height, std::max(across, 1e-3), std::max(down, 1e-3));
  text += path_of(view, Kind::partial, "partial") + path_of(view, Kind::full, "full") + "</svg>\n";
  text += fmt::format("<rect class=\"frame\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n", size.width, size.height);
  double below = size.height + kLine;
  for (const std::string& note : panel.notes) {
    text += fmt::format("<text y=\"{:.1f}\">{}</text>\n", below, escaped(note));
    below += kLine;
  }
  return text + "</g>\n";
}

}  // namespace

std::string to_svg(const std::vector<Panel>& panels, const std::string& title) {
  std::string body;
  double left = kMargin, lowest = 0;
  for (const Panel& panel : panels) {
    body += panel_text(panel, left);
    left += kSide + kGap;
    lowest =
        std::max(lowest, kTop + panel_size(panel.view).height + kLine * static_cast<double>(panel.notes.size() + 1));
  }
  const double width = left - kGap + kMargin;
  constexpr const char* legend =
      "<g transform=\"translate({:.1f},{:.1f})\"><rect class=\"full\" width=\"10\" height=\"10\"/><text x=\"16\" "
      "y=\"9\">all "
      "live</text><rect class=\"partial\" x=\"80\" width=\"10\" height=\"10\"/><text x=\"96\" y=\"9\">some "
      "live</text><rect "
      "class=\"frame\" x=\"180\" width=\"10\" height=\"10\"/><text x=\"196\" y=\"9\">none</text></g>\n";
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<style>.frame{{fill:none;stroke:#bbb}}.partial{{fill:#9cc4e4}}.full{{fill:#1b4f72}}"
             "text{{fill:#777}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             width, lowest + 2 * kLine) +
         fmt::format("<text x=\"{}\" y=\"26\" font-size=\"14\">{}</text>\n", kMargin, escaped(title)) + body +
         fmt::format(legend, kMargin, lowest + 4) + "</svg>\n";
}

}  // namespace tessera::draw
