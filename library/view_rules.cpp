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

}  // namespace

std::string shape_text(const View& view) { return fmt::format("[{}]", fmt::join(view.shape, ", ")); }

void check_view(const std::string& name, const View& view, DType dtype, std::size_t rank, const char* dims,
                SourceLoc loc) {
  if (view.dtype != dtype) {
    throw UserError(loc, fmt::format("{} has dtype {}, expected {}", name, name_of(view.dtype), name_of(dtype)),
                    fmt::format("convert {}, or make an Attention for {}", name, name_of(view.dtype)));
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
  check_null(name, view, loc);
}

void check_address(const char* name, const View& view, SourceLoc loc) {
  auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data) % kUnit);
  if (view.data != nullptr && past == 0) return;
  if (view.elements() == 0) return;
  check_null(name, view, loc);
  throw UserError(loc, fmt::format("{} starts {} bytes past a multiple of 16", name, past),
                  fmt::format("start it at a multiple of {} elements of a 16-byte aligned allocation",
                              kUnit / bytes_of(view.dtype)));
}

void check_alignment(const std::string& name, const View& view, SourceLoc loc) {
  if (view.elements() == 0) return;
  check_address(name.c_str(), view, loc);
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

void check_output(const std::string& name, const View& view, SourceLoc loc) {
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
