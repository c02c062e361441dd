#include <tessera/library/bench/mask_case.h>

#include <algorithm>

#include <tessera/library/patterns.h>

namespace tessera::bench {

namespace {

using json = nlohmann::ordered_json;

// Of whole numbers from first to last, both included.
std::int64_t count(std::int64_t first, std::int64_t last) { return std::max<std::int64_t>(last - first + 1, 0); }

// Of keys in [first, last] and in [0, leading), each once, where first is not beyond tokens.
std::int64_t count_with_leading(std::int64_t first, std::int64_t last, std::int64_t leading) {
  first = std::max<std::int64_t>(first, 0);
  leading = std::min(leading, last + 1);
  return count(first, last) + std::min(first, leading);
}

int whole(std::int64_t value) { return static_cast<int>(value); }

}  // namespace

MaskCase all_keys() {
  return {"full", json::object(), full, [](std::int64_t, std::int64_t tokens) { return tokens; }};
}

MaskCase causal_keys() {
  return {"causal", json::object(), causal, [](std::int64_t q, std::int64_t) { return q + 1; }};
}

MaskCase window_keys(std::int64_t left, std::int64_t right) {
  const auto live = [=](std::int64_t q, std::int64_t tokens) {
    return count(std::max<std::int64_t>(q - left, 0), std::min(q + right, tokens - 1));
  };
  return {"window", {{"left", left}, {"right", right}}, window(whole(left), whole(right)), live};
}

MaskCase prefix_keys(std::int64_t length) {
  const auto live = [=](std::int64_t q, std::int64_t tokens) { return std::max(q + 1, std::min(length, tokens)); };
  return {"prefix", {{"length", length}}, prefix(whole(length)), live};
}

MaskCase sink_keys(std::int64_t sinks, std::int64_t left) {
  const auto live = [=](std::int64_t q, std::int64_t) { return count_with_leading(q - left, q, sinks); };
  return {"sinks", {{"count", sinks}, {"left", left}}, sink_window(whole(sinks), whole(left)), live};
}

MaskCase longformer_keys(std::int64_t half, std::int64_t globals) {
  const int near = whole(half), first = whole(globals);
  const Mask mask = [=](Position q, Position k) { return abs(q - k) <= near || q < first || k < first; };
  const auto live = [=](std::int64_t q, std::int64_t tokens) {
    const std::int64_t last = std::min(q + half, tokens - 1);
    return q < globals ? tokens : count_with_leading(q - half, last, globals);
  };
  return {"longformer", {{"half", half}, {"globals", globals}}, mask.named("longformer"), live};
}

MaskCase strided_keys(std::int64_t stride) {
  const int step = whole(stride);
  const Mask mask = [=](Position q, Position k) {
    Position back = q - k;
    return back >= 0 && (back < step || back % step == 0);
  };
  const auto live = [=](std::int64_t q, std::int64_t) { return std::min(stride, q + 1) + q / stride; };
  return {"strided", {{"stride", stride}}, mask.named("strided"), live};
}

MaskCase dilated_keys(std::int64_t half, std::int64_t dilation) {
  const int reach = whole(half * dilation), step = whole(dilation);
  const Mask mask = [=](Position q, Position k) {
    Position apart = q - k;
    return abs(apart) <= reach && apart % step == 0;
  };
  const auto live = [=](std::int64_t q, std::int64_t tokens) {
    return std::min(half, q / dilation) + std::min(half, (tokens - 1 - q) / dilation) + 1;
  };
  return {"dilated", {{"half", half}, {"dilation", dilation}}, mask.named("dilated"), live};
}

MaskCase diagonal_blocks(std::int64_t size) {
  const auto live = [=](std::int64_t q, std::int64_t tokens) {
    const std::int64_t first = q / size * size;
    return std::min(first + size, tokens) - first;
  };
  return {"block_diagonal", {{"size", size}}, block_diagonal(whole(size)), live};
}

MaskCase causal_documents(std::vector<std::int64_t> lengths) {
  const Mask mask = Mask(causal) & documents(document_ids(lengths));
  const json parameters = {{"lengths", lengths}};
  const auto live = [lengths = std::move(lengths)](std::int64_t q, std::int64_t) {
    for (const std::int64_t length : lengths) {
      if (q < length) break;
      q -= length;
    }
    return q + 1;
  };
  return {"documents", parameters, mask, live};
}

std::int64_t BlockMap::live_in_row(std::int64_t row) const {
  return std::count(live.begin() + row * side, live.begin() + (row + 1) * side, 1);
}

MaskCase block_map_keys(BlockMap map) {
  std::vector<std::string> rows;
  for (std::int64_t row = 0; row < map.side; ++row) {
    std::string text;
    for (std::int64_t column = 0; column < map.side; ++column)
      text += map.live[static_cast<std::size_t>(row * map.side + column)] ? '1' : '0';
    rows.push_back(std::move(text));
  }
  const int size = whole(map.block);
  Table<i32, 2> live(map.live, map.side, map.side);
  const Mask mask = [=](Position q, Position k) { return live(q / size, k / size) != 0; };
  const json parameters = {{"block", map.block}, {"rows", std::move(rows)}};
  const auto keys = [map = std::move(map)](std::int64_t q, std::int64_t) {
    return map.block * map.live_in_row(q / map.block);
  };
  return {"blocks", parameters, mask.named("blocks"), keys};
}

namespace {

// Whether a key's place is in the window of a query's, along one axis.
auto within(const Position& q, const Position& k, const SpaceAxis& a) {
  Position middle = min(q / a.stride * a.stride + a.stride / 2, a.length - 1);
  Position first = min(max(middle - a.window / 2, 0), a.length - a.window);
  Position ahead = k - first;
  return ahead >= 0 && ahead < a.window;
}

Mask in_space(const SpaceAxis& y, const SpaceAxis& x) {
  return [=](Position q, Position k) {
    return within(q / x.length, k / x.length, y) && within(q % x.length, k % x.length, x);
  };
}

Mask in_space(const SpaceAxis& z, const SpaceAxis& y, const SpaceAxis& x) {
  const int plane = y.length * x.length;
  return [=](Position q, Position k) {
    return within(q / plane, k / plane, z) && within(q / x.length % y.length, k / x.length % y.length, y) &&
           within(q % x.length, k % x.length, x);
  };
}

}  // namespace

MaskCase neighbourhood_keys(std::vector<SpaceAxis> axes) {
  ensure(axes.size() == 2 || axes.size() == 3, "a neighbourhood has two or three dims");
  const Mask mask = axes.size() == 2 ? in_space(axes[0], axes[1]) : in_space(axes[0], axes[1], axes[2]);
  json lengths = json::array(), windows = json::array(), strides = json::array();
  std::int64_t live = 1;
  for (const SpaceAxis& axis : axes) {
    lengths.push_back(axis.length);
    windows.push_back(axis.window);
    strides.push_back(axis.stride);
    live *= axis.window;
  }
  return {"neighbourhood",
          {{"lengths", lengths}, {"windows", windows}, {"strides", strides}},
          mask.named("neighbourhood"),
          [live](std::int64_t, std::int64_t) { return live; }};
}

MaskCase video_keys(std::int64_t frames, std::int64_t rows, std::int64_t columns, std::int64_t near) {
  const int across = whole(columns), frame = whole(rows * columns), reach = whole(near);
  const Mask mask = [=](Position q, Position k) {
    Position down = q % frame / across - k % frame / across, aside = q % across - k % across;
    return (abs(down) <= reach && abs(aside) <= reach && k / frame % 2 == 0) || k < frame;
  };
  const auto live = [=](std::int64_t q, std::int64_t) {
    const std::int64_t row = q % frame / columns, column = q % columns;
    const std::int64_t around = count(std::max<std::int64_t>(row - near, 0), std::min(row + near, rows - 1)) *
                                count(std::max<std::int64_t>(column - near, 0), std::min(column + near, columns - 1));
    return around * ((frames + 1) / 2 - 1) + frame;
  };
  return {"video", {{"lengths", {frames, rows, columns}}, {"near", near}}, mask.named("video"), live};
}

}  // namespace tessera::bench
