#include <tessera/library/merge.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/library/devices.h>
#include <tessera/library/made_once.h>
#include <tessera/library/program.h>
#include <tessera/library/view_rules.h>
#include <tessera/runtime/memory.h>

namespace tessera {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRows = 16;  // of a tile: elementwise work needs no more, and a row may be long

bool is_wide(const Partial& part) { return part.o.dtype == DType::f32; }

void check_shape(const std::string& name, const View& view, const std::vector<std::int64_t>& wanted, SourceLoc loc) {
  if (view.shape == wanted) return;
  View like = view;
  like.shape = wanted;
  throw UserError(
      loc, fmt::format("{} has the shape {}, expected {}", name, library::shape_text(view), library::shape_text(like)),
      "give all parts one shape");
}

// The 16-bit type of the parts and the result; f32 where there is none.
DType narrow_of(const std::vector<Partial>& parts, const Partial& out) {
  if (!is_wide(out)) return out.o.dtype;
  for (const Partial& part : parts) {
    if (part.o.dtype == DType::f16 || part.o.dtype == DType::bf16) return part.o.dtype;
  }
  return DType::f32;
}

void check_part(const std::string& name, const Partial& part, DType narrow, const Partial& out, SourceLoc loc) {
  const DType dtype = part.o.dtype;
  if (dtype != narrow && !is_wide(part)) {
    throw UserError(loc,
                    fmt::format("{}.o has dtype {}, expected {}", name, name_of(dtype),
                                narrow == DType::f32 ? "f16, bf16 or f32" : fmt::format("{} or f32", name_of(narrow))),
                    "give O in f32 or in one type of 16 bits");
  }
  library::check_view(name + ".o", part.o, dtype, 4, "batch, heads, length, dim", loc);
  library::check_view(name + ".lse", part.lse, DType::f32, 3, "batch, heads, length", loc);
  check_shape(name + ".o", part.o, out.o.shape, loc);
  check_shape(name + ".lse", part.lse, {out.o.shape[0], out.o.shape[1], out.o.shape[2]}, loc);
  for (const View* view : {&part.o, &part.lse}) {
    if (view->memory != out.o.memory) {
      throw UserError(loc, fmt::format("{} is not in the memory that the result is in", name),
                      "put all parts in one memory");
    }
  }
}

std::int64_t offset(const View& view, std::initializer_list<std::int64_t> index) {
  std::int64_t at = 0;
  std::size_t dim = 0;
  for (std::int64_t i : index) at += i * view.strides[dim++];
  return at;
}

// One row in f64. `column` holds the row of the result until all parts have been added.
void merge_row(const std::vector<Partial>& parts, const Partial& out, std::int64_t b, std::int64_t h, std::int64_t q,
               std::vector<double>& column) {
  auto lse_of = [&](const Partial& part) {
    return static_cast<double>(ir::load_element(part.lse.data, DType::f32, offset(part.lse, {b, h, q})));
  };
  double top = -kInfinity, sum = 0;
  int live = 0;
  for (const Partial& part : parts) top = std::max(top, lse_of(part));
  for (const Partial& part : parts) {
    if (lse_of(part) == -kInfinity) continue;
    sum += std::exp(lse_of(part) - top);
    ++live;
  }
  std::fill(column.begin(), column.end(), 0.0);
  for (const Partial& part : parts) {
    if (lse_of(part) == -kInfinity) continue;
    double weight = live == 1 ? 1 : std::exp(lse_of(part) - top) / sum;
    for (std::size_t d = 0; d < column.size(); ++d) {
      double value =
          ir::load_element(part.o.data, part.o.dtype, offset(part.o, {b, h, q, static_cast<std::int64_t>(d)}));
      column[d] = live == 1 ? value : column[d] + weight * value;  // one live part: its bits, a negative zero too
    }
  }
  for (std::size_t d = 0; d < column.size(); ++d) {
    ir::store_element(out.o.data, out.o.dtype, offset(out.o, {b, h, q, static_cast<std::int64_t>(d)}),
                      static_cast<float>(column[d]));
  }
  double lse = live == 0 ? -kInfinity : live == 1 ? top : top + std::log(sum);
  ir::store_element(out.lse.data, DType::f32, offset(out.lse, {b, h, q}), static_cast<float>(lse));
}

void merge_on_host(const std::vector<Partial>& parts, const Partial& out) {
  std::vector<double> column(static_cast<std::size_t>(out.o.shape[3]));
  for (std::int64_t b = 0; b < out.o.shape[0]; ++b) {
    for (std::int64_t h = 0; h < out.o.shape[1]; ++h) {
      for (std::int64_t q = 0; q < out.o.shape[2]; ++q) merge_row(parts, out, b, h, q, column);
    }
  }
}

struct ProgramKey {
  DType part, result;  // part: of those that are not f32
  int count, wide;
  std::int64_t columns;
  friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
};

template <DType Part>
Traced trace_merge(const ProgramKey& key) {
  if (key.result == DType::f32) return merge_program.trace<Part, f32>(key.count, key.wide);
  if constexpr (Part == f32) {
    return key.result == DType::f16 ? merge_program.trace<f32, f16>(key.count, 0)
                                    : merge_program.trace<f32, bf16>(key.count, 0);
  } else {
    return merge_program.trace<Part, Part>(key.count, key.wide);
  }
}

std::shared_ptr<Program> make_program(const ProgramKey& key) {
  ProgramOptions options{.tiles = {{"Query", kRows}}, .whole = {{"Value", static_cast<int>(key.columns)}}};
  Traced traced = key.part == DType::f16    ? trace_merge<f16>(key)
                  : key.part == DType::bf16 ? trace_merge<bf16>(key)
                                            : trace_merge<f32>(key);
  return std::make_shared<Program>(std::move(traced), std::move(options));
}

// Kept as long as the process: captured launches may be replayed.
std::shared_ptr<Program> program_for(const ProgramKey& key) {
  static auto* programs = new library::MadeOnce<ProgramKey, std::shared_ptr<Program>>;
  return programs->get(key, [&] { return make_program(key); });
}

// One kernel. The f32 parts come first.
void merge_at_once(std::span<const Partial> parts, const Partial& out, void* stream, SourceLoc loc) {
  std::vector<ir::Argument> arguments;
  for (const Partial& part : parts) arguments.insert(arguments.end(), {part.o, part.lse});
  arguments.insert(arguments.end(), {out.o, out.lse});
  const int count = static_cast<int>(parts.size());
  const int wide = static_cast<int>(std::count_if(parts.begin(), parts.end(), is_wide));
  const ProgramKey key{parts.back().o.dtype, out.o.dtype, count, wide < count ? wide : 0, out.o.shape[3]};
  program_for(key)->call(std::move(arguments), stream, loc);
}

// The f32 sum of a group of parts, in memory of our own. It is the stream's: a captured merge takes it along.
struct Sum {
  Sum(const Partial& like, const runtime::Device& device, runtime::cu::Stream stream)
      : o(device, like.o.elements() * bytes_of(DType::f32), stream),
        lse(device, like.lse.elements() * bytes_of(DType::f32), stream),
        partial{View::contiguous(o.data(), DType::f32, like.o.shape, Memory::device),
                View::contiguous(lse.data(), DType::f32, like.lse.shape, Memory::device)} {}

  runtime::DeviceBuffer o, lse;
  Partial partial;
};

// Many parts in groups as even as they come, so that none is of one part; then the groups' sums likewise.
void merge_on_device(std::vector<Partial> parts, const Partial& out, void* stream, SourceLoc loc) {
  std::stable_partition(parts.begin(), parts.end(), is_wide);
  if (out.o.elements() == 0) parts.resize(2);  // nothing to compute, and no memory for sums of it
  if (parts.size() <= kMergedAtOnce) return merge_at_once(parts, out, stream, loc);
  const runtime::Device& device = library::device_of("the result's o", out.o, loc);
  const std::size_t groups = (parts.size() + kMergedAtOnce - 1) / kMergedAtOnce;
  std::vector<std::unique_ptr<Sum>> sums;
  std::vector<Partial> partials;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t from = g * parts.size() / groups, to = (g + 1) * parts.size() / groups;
    sums.push_back(std::make_unique<Sum>(out, device, static_cast<runtime::cu::Stream>(stream)));
    merge_at_once(std::span(parts).subspan(from, to - from), sums.back()->partial, stream, loc);
    partials.push_back(sums.back()->partial);
  }
  merge_on_device(std::move(partials), out, stream, loc);
}

void check_apart(const Partial& part, std::size_t index, const Partial& out, SourceLoc loc) {
  for (const auto& [name, output] : {std::pair{"o", &out.o}, {"lse", &out.lse}}) {
    for (const auto& [other, input] : {std::pair{"o", &part.o}, {"lse", &part.lse}}) {
      if (!library::overlap(*output, *input)) continue;
      throw UserError(
          loc,
          fmt::format("the result's {} is written, and its memory overlaps that of part {}.{}", name, index, other),
          "give the result memory of its own");
    }
  }
}

}  // namespace

void merge(const std::vector<Partial>& parts, const Partial& out, void* stream, SourceLoc loc) {
  if (parts.size() < 2)
    throw UserError(loc, fmt::format("there are {} parts to merge", parts.size()), "give two or more");
  if (out.o.dtype != DType::f16 && out.o.dtype != DType::bf16 && out.o.dtype != DType::f32) {
    throw UserError(loc, fmt::format("the result has dtype {}", name_of(out.o.dtype)), "merge f16, bf16 or f32");
  }
  const DType narrow = narrow_of(parts, out);
  check_part("the result", out, narrow, out, loc);
  library::check_output("the result's o", out.o, loc);
  library::check_output("the result's lse", out.lse, loc);
  for (std::size_t i = 0; i < parts.size(); ++i) check_part(fmt::format("part {}", i), parts[i], narrow, out, loc);
  for (std::size_t i = 0; i < parts.size(); ++i) check_apart(parts[i], i, out, loc);
  if (library::overlap(out.lse, out.o))
    throw UserError(loc, "the result's lse is written, and its memory overlaps that of the result's o",
                    "give each memory of its own");
  if (out.o.memory == Memory::host) return merge_on_host(parts, out);
  merge_on_device(parts, out, stream, loc);
}

}  // namespace tessera
