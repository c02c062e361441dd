#include <tessera/dsl/ir/types.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include <fmt/format.h>

#include <tessera/dsl/ir/layout.h>

namespace tessera {

namespace {
constexpr std::string_view kNames[] = {"i1", "i32", "f16", "bf16", "f32"};
}

int bytes_of(DType t) {
  switch (t) {
    case DType::i1: return 1;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i32:
    case DType::f32: return 4;
  }
  throw InternalError("unknown dtype");
}

bool is_float(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32; }

std::string_view name_of(DType t) { return kNames[static_cast<int>(t)]; }

DType dtype_named(std::string_view name) {
  for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  throw UserError({}, fmt::format("there is no element type '{}'", name), "use one of i1, i32, f16, bf16, f32");
}

}  // namespace tessera

namespace tessera::ir {

// Nodes of an unordered_set stay where they are, so the address of a name is its identity for the life of the program.
Axis Axis::named(std::string_view name) {
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  std::lock_guard lock(mutex);
  return Axis(&*names.emplace(name).first);
}

const std::string& Axis::name() const {
  static const std::string none;
  return name_ ? *name_ : none;
}

const Dim* Type::find(Axis a) const {
  auto it = std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.axis == a; });
  return it == dims.end() ? nullptr : &*it;
}

int Type::extent(Axis a) const {
  const Dim* dim = find(a);
  if (!dim) throw InternalError(fmt::format("{} has no axis {}", to_string(*this), a.name()));
  return dim->extent;
}

std::int64_t Type::elements() const {
  std::int64_t n = 1;
  for (const Dim& d : dims) n *= d.extent;
  return n;
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.dims != b.dims || a.stages != b.stages || a.arrivals != b.arrivals) {
    return false;
  }
  if (a.layout == b.layout) return true;
  return a.layout && b.layout && *a.layout == *b.layout;
}

std::vector<Dim> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> dims = a;
  for (const Dim& d : b) {
    auto it = std::find_if(a.begin(), a.end(), [&](const Dim& other) { return other.axis == d.axis; });
    if (it == a.end()) {
      dims.push_back(d);
    } else if (it->extent != d.extent) {
      throw InternalError(
          fmt::format("axis {} is {} elements on one side and {} on the other", d.axis.name(), it->extent, d.extent));
    }
  }
  return dims;
}

namespace {
std::string element_and_dims(const Type& t) {
  std::string text(name_of(t.dtype));
  if (t.dims.empty()) return text;
  const char* separator = "[";
  for (const Dim& d : t.dims) {
    text += separator;
    text += d.extent ? fmt::format("{}:{}", d.axis.name(), d.extent) : d.axis.name();
    separator = ", ";
  }
  return text + "]";
}
}  // namespace

std::string to_string(const Type& t) {
  switch (t.kind) {
    case TypeKind::tile: return element_and_dims(t) + (t.layout ? " " + to_string(*t.layout) : std::string());
    case TypeKind::index: return fmt::format("tile {}", t.dims.empty() ? "?" : t.dims[0].axis.name());
    case TypeKind::shared: return fmt::format("shared<{} x{}>", element_and_dims(t), t.stages);
    case TypeKind::view: return fmt::format("view<{}>", element_and_dims(t));
    case TypeKind::barrier: return fmt::format("barrier<{} x{}>", t.arrivals, t.stages);
  }
  throw InternalError("unknown kind of type");
}

}  // namespace tessera::ir
