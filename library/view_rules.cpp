#include <tessera/library/view_rules.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::library {

namespace {

constexpr std::int64_t kUnit = 16;  // bytes

void check_null(const std::string& name, const View& view, SourceLoc loc) {
  if (view.data == nullptr && view.elements() > 0) {
    throw UserError(loc,
                    fmt::format("{} has no memory: its pointer is null and its shape is {}", name, shape_text(view)),
                    "pass a view of allocated memory");
  }
}

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

struct ByteRange {
  std::uintptr_t begin, end;
};

ByteRange range_of(const View& view) {
  std::int64_t before = 0, after = 1;  // elements, of the one at `data`
  for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
    const std::int64_t reach = (view.shape[dim] - 1) * view.strides[dim];
    (reach < 0 ? before : after) += reach;
  }
  const auto data = reinterpret_cast<std::uintptr_t>(view.data);
  const std::int64_t size = bytes_of(view.dtype);
  return {data + static_cast<std::uintptr_t>(before * size), data + static_cast<std::uintptr_t>(after * size)};
}

std::int64_t past_multiple(const View& view, std::int64_t unit) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(unit));
}

}  // namespace

std::string shape_text(const View& view) { return fmt::format("[{}]", fmt::join(view.shape, ", ")); }

void check_view(const std::string& name, const View& view, DType dtype, std::size_t rank, const char* dims,
                SourceLoc loc) {
  if (view.data == nullptr && view.shape.empty() && view.strides.empty()) {
    throw UserError(loc, fmt::format("{} is not set", name),
                    fmt::format("give {} a View of {} and the shape [{}]", name, name_of(dtype), dims));
  }
  if (view.dtype != dtype) {
    throw UserError(loc, fmt::format("{} has dtype {}, expected {}", name, name_of(view.dtype), name_of(dtype)),
                    is_16_bit(dtype) && is_16_bit(view.dtype)
                        ? fmt::format("convert {}, or make an Attention for {}", name, name_of(view.dtype))
                        : fmt::format("give {} as {}", name, name_of(dtype)));
  }
  if (view.shape.size() != rank || view.strides.size() != rank) {
    throw UserError(loc,
                    fmt::format("{} has {} dims and {} strides, expected {} of each", name, view.shape.size(),
                                view.strides.size(), rank),
                    fmt::format("give {} the shape [{}]", name, dims));
  }
  for (std::int64_t extent : view.shape) {
    if (extent < 0)
      throw UserError(loc, fmt::format("{} has the shape {}", name, shape_text(view)), "give sizes of 0 or more");
  }
  check_address(name, view, bytes_of(dtype), loc);
}

void check_address(const std::string& name, const View& view, std::int64_t unit, SourceLoc loc) {
  check_null(name, view, loc);
  const std::int64_t past = past_multiple(view, unit), elements = unit / bytes_of(view.dtype);
  if (past == 0 || view.elements() == 0) return;
  throw UserError(loc, fmt::format("{} starts {} bytes past a multiple of {}", name, past, unit),
                  fmt::format("start it at a multiple of {} element{} of a 16-byte aligned allocation", elements,
                              elements == 1 ? "" : "s"));
}

bool is_addressable(const View& view, bool units) {
  if (view.data != nullptr && past_multiple(view, units ? kUnit : bytes_of(view.dtype)) == 0) return true;
  return view.elements() == 0;
}

void check_alignment(const std::string& name, const View& view, SourceLoc loc) {
  if (view.elements() == 0) return;
  check_address(name, view, kUnit, loc);
  std::int64_t bytes = bytes_of(view.dtype), elements = kUnit / bytes;
  std::size_t last = view.shape.size() - 1;
  if (view.shape[last] > 1 && view.strides[last] != 1) {
    throw UserError(loc, fmt::format("{} has stride {} along its last dim, must be 1", name, view.strides[last]),
                    fmt::format("copy {} so that its rows are contiguous", name));
  }
  for (std::size_t dim = 0; dim < last; ++dim) {
    if (view.shape[dim] <= 1) continue;
    if (view.strides[dim] < 0) {
      throw UserError(loc, fmt::format("{} has stride {} along dim {}", name, view.strides[dim], dim),
                      "use strides of 0 or more");
    }
    if (view.strides[dim] % elements != 0) {
      throw UserError(loc,
                      fmt::format("{} has stride {} along dim {}: {} bytes, not a multiple of 16", name,
                                  view.strides[dim], dim, view.strides[dim] * bytes),
                      fmt::format("pad its rows to a multiple of {} elements", elements));
    }
  }
}

bool overlap(const View& a, const View& b) {
  if (a.memory != b.memory || !a.data || !b.data || a.elements() == 0 || b.elements() == 0) return false;
  const ByteRange x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}

void check_output(const std::string& name, const View& view, SourceLoc loc) {
  if (view.elements() == 0) return;  // packed strides of an empty shape are 0
  std::vector<std::size_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return view.strides[a] < view.strides[b]; });
  std::int64_t reach = 1;  // elements from the first to one past the last of the dims so far
  for (std::size_t dim : order) {
    if (view.shape[dim] <= 1) continue;
    if (view.strides[dim] < reach) {
      throw UserError(loc,
                      fmt::format("{} is an output of shape {} and strides [{}]: several elements share a place", name,
                                  shape_text(view), fmt::join(view.strides, ", ")),
                      "give each output element its own memory");
    }
    reach = (view.shape[dim] - 1) * view.strides[dim] + reach;
  }
}

}  // namespace tessera::library
