#include <tessera/library/acsr/layout.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tessera {

namespace {

void check_height(std::int64_t height, SourceLoc loc) {
  if (height < 1) throw UserError(loc, fmt::format("a band has {} rows", height), "give 1 or more");
}

struct Group {
  std::int64_t stride, residue;
  std::vector<std::int64_t> rows;  // ascending
};

// Rows by stride and residue; those without a key are the last group. A row of one key is of every stride: it goes with
// a group of its residue.
std::vector<Group> groups_of(const Acsr& acsr) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> groups;
  std::vector<std::int64_t> single, none;
  for (std::size_t r = 0; r < acsr.rows.size(); ++r) {
    const Progression& row = acsr.rows[r];
    if (row.count == 0) none.push_back(static_cast<std::int64_t>(r));
    if (row.count == 1) single.push_back(static_cast<std::int64_t>(r));
    if (row.count > 1) groups[{row.stride, row.first % row.stride}].push_back(static_cast<std::int64_t>(r));
  }
  for (std::int64_t r : single) {
    const std::int64_t key = acsr.rows[static_cast<std::size_t>(r)].first;
    const auto home = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return key % group.first.first == group.first.second; });
    (home == groups.end() ? groups[{1, 0}] : home->second).push_back(r);
  }
  std::vector<Group> result;
  for (auto& [key, rows] : groups) {
    std::sort(rows.begin(), rows.end());
    result.push_back({key.first, key.second, std::move(rows)});
  }
  if (!none.empty()) result.push_back({1, 0, std::move(none)});
  return result;
}

// Cuts a group's rows where they stop to be evenly spaced, and every `height` rows.
void append_bands(const Group& group, std::int64_t height, std::vector<AcsrBand>& bands) {
  const std::vector<std::int64_t>& rows = group.rows;
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::int64_t step = begin + 1 < rows.size() ? rows[begin + 1] - rows[begin] : 1;
    std::size_t end = begin + 1;
    while (end < rows.size() && static_cast<std::int64_t>(end - begin) < height && rows[end] - rows[end - 1] == step)
      ++end;
    bands.push_back(
        {rows[begin], end - begin == 1 ? 1 : step, static_cast<std::int64_t>(end - begin), 0, group.stride});
    begin = end;
  }
}

KeySpan span_of(const Acsr& acsr, const AcsrBand& band) {
  KeySpan span;
  for (std::int64_t i = 0; i < band.rows; ++i) {
    const Progression& row = acsr.rows[static_cast<std::size_t>(band.row + i * band.row_step)];
    if (row.count == 0) continue;
    span.first = span.last < 0 ? row.first : std::min<std::int64_t>(span.first, row.first);
    span.last = std::max<std::int64_t>(span.last, row.last());
  }
  return span;
}

bool same_shape(const AcsrBand& a, const AcsrBand& b) {
  return a.rows == b.rows && a.row_step == b.row_step && a.key_step == b.key_step;
}

std::vector<AcsrLaunch> launches_of(const std::vector<AcsrBand>& bands, const std::vector<std::int64_t>& widths) {
  std::vector<AcsrLaunch> launches;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (!launches.empty()) {
      AcsrLaunch& open = launches.back();
      const AcsrBand& before = bands[i - 1];
      const std::int64_t rows = bands[i].row - before.row, keys = bands[i].key - before.key;
      const bool follows = open.count == 1 || (rows == open.row_distance && keys == open.key_distance);
      if (same_shape(before, bands[i]) && widths[i] == open.width && follows && rows > 0 && keys >= 0) {
        open.row_distance = rows, open.key_distance = keys;
        ++open.count;
        continue;
      }
    }
    launches.push_back({i, 1, 0, 0, widths[i]});
  }
  return launches;
}

}  // namespace

std::vector<KeySpan> spans_of(const Acsr& acsr, std::int64_t height, SourceLoc loc) {
  check_height(height, loc);
  const auto rows = static_cast<std::int64_t>(acsr.rows.size());
  std::vector<KeySpan> spans;
  for (std::int64_t row = 0; row < rows; row += height)
    spans.push_back(span_of(acsr, {row, 1, std::min(height, rows - row), 0, 1}));
  return spans;
}

std::vector<std::int64_t> regrouped_rows(const Acsr& acsr, std::int64_t height, SourceLoc loc) {
  check_height(height, loc);
  std::vector<std::int64_t> slots;
  for (const Group& group : groups_of(acsr)) {
    slots.insert(slots.end(), group.rows.begin(), group.rows.end());
    while (static_cast<std::int64_t>(slots.size()) % height != 0) slots.push_back(-1);
  }
  return slots;
}

AcsrLayout acsr_layout(const Acsr& acsr, std::int64_t height, SourceLoc loc) {
  check_height(height, loc);
  AcsrLayout layout;
  layout.height = height;
  std::vector<std::int64_t> widths;  // of each band: that of its group's widest
  for (const Group& group : groups_of(acsr)) {
    const std::size_t begin = layout.bands.size();
    append_bands(group, height, layout.bands);
    std::int64_t width = std::min<std::int64_t>(acsr.columns, 1);
    for (std::size_t i = begin; i < layout.bands.size(); ++i) {
      const KeySpan span = span_of(acsr, layout.bands[i]);
      layout.bands[i].key = span.first;
      width = std::max(width, (span.last - span.first) / group.stride + 1);
    }
    // Bands near the end begin earlier, so that all of their keys exist.
    const std::int64_t keys = (acsr.columns - group.residue + group.stride - 1) / group.stride;
    const std::int64_t latest = group.residue + (keys - width) * group.stride;
    for (std::size_t i = begin; i < layout.bands.size(); ++i)
      layout.bands[i].key = std::min(layout.bands[i].key, latest);
    widths.resize(layout.bands.size(), width);
    layout.width = std::max(layout.width, width);
  }
  layout.launches = launches_of(layout.bands, widths);
  return layout;
}

}  // namespace tessera
