#include <tessera/library/merge.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/library/devices.h>
#include <tessera/library/program.h>
#include <tessera/library/view_rules.h>
#include <tessera/runtime/memory.h>

namespace tessera {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRows = 16;  // of a tile: elementwise work needs no more, and a row may be long

void check_shape(const std::string& name, const View& view, const std::vector<std::int64_t>& wanted, SourceLoc loc) {
  if (view.shape == wanted) return;
  View like = view;
  like.shape = wanted;
  throw UserError(
      loc, fmt::format("{} has the shape {}, expected {}", name, library::shape_text(view), library::shape_text(like)),
      "give all parts one shape");
}

void check_part(const std::string& name, const Partial& part, const Partial& out, SourceLoc loc) {
  library::check_view(name + ".o", part.o, out.o.dtype, 4, "batch, heads, length, dim", loc);
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

Traced trace_merge(DType dtype) {
  switch (dtype) {
    case DType::f16: return merge_program.trace<f16>();
    case DType::bf16: return merge_program.trace<bf16>();
    default: return merge_program.trace<f32>();
  }
}

// Programs by element type and columns, kept as long as the process: captured launches may be replayed.
Program& program_for(DType dtype, std::int64_t columns) {
  static std::mutex mutex;
  static auto* programs = new std::map<std::pair<DType, std::int64_t>, Program>;
  std::lock_guard lock(mutex);
  auto found = programs->find({dtype, columns});
  if (found == programs->end()) {
    ProgramOptions options{.tiles = {{"Query", kRows}}, .whole = {{"Value", static_cast<int>(columns)}}};
    found = programs->emplace(std::pair{dtype, columns}, Program(trace_merge(dtype), std::move(options))).first;
  }
  return found->second;
}

void merge_pair(const Partial& left, const Partial& right, const Partial& out, void* stream, SourceLoc loc) {
  Program& program = program_for(out.o.dtype, out.o.shape[3]);
  program.call({left.o, left.lse, right.o, right.lse, out.o, out.lse}, stream, loc);
}

// By turns into the result and into memory of our own, so that no kernel writes what it reads, and the last writes the
// result. That memory is the stream's: a captured merge takes it along.
void merge_on_device(const std::vector<Partial>& parts, const Partial& out, void* stream, SourceLoc loc) {
  if (parts.size() == 2 || out.o.elements() == 0) return merge_pair(parts[0], parts[1], out, stream, loc);
  const runtime::Device& device = library::device_of("the result's o", out.o, loc);
  const auto cu_stream = static_cast<runtime::cu::Stream>(stream);
  const runtime::DeviceBuffer o(device, out.o.elements() * bytes_of(out.o.dtype), cu_stream);
  const runtime::DeviceBuffer lse(device, out.lse.elements() * bytes_of(DType::f32), cu_stream);
  const Partial between{View::contiguous(o.data(), out.o.dtype, out.o.shape, Memory::device),
                        View::contiguous(lse.data(), DType::f32, out.lse.shape, Memory::device)};
  Partial sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Partial& next = (parts.size() - i) % 2 == 1 ? out : between;
    merge_pair(sum, parts[i], next, stream, loc);
    sum = next;
  }
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
  check_part("the result", out, out, loc);
  library::check_output("the result's o", out.o, loc);
  library::check_output("the result's lse", out.lse, loc);
  for (std::size_t i = 0; i < parts.size(); ++i) check_part(fmt::format("part {}", i), parts[i], out, loc);
  for (std::size_t i = 0; i < parts.size(); ++i) check_apart(parts[i], i, out, loc);
  if (library::overlap(out.lse, out.o))
    throw UserError(loc, "the result's lse is written, and its memory overlaps that of the result's o",
                    "give each memory of its own");
  if (out.o.memory == Memory::host) return merge_on_host(parts, out);
  merge_on_device(parts, out, stream, loc);
}

}  // namespace tessera
