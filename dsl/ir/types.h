// Types of the IR: element types, named axes, tiles, and what the placed stage adds (layouts, shared memory, barriers).
//
// A tile is indexed by *named axes*, not by positions: f32[Query, Key]. Until tiling an axis has no extent (0);
// after it every axis of every tile has one: f32[Query:128, Key:80]. The order of the axes is that of the memory the
// tile came from, or of the operands that made it; it carries no meaning for arithmetic, which broadcasts by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/dsl/diagnostics.h>

namespace tessera {

enum class DType : std::uint8_t { i1, i32, f16, bf16, f32 };

int bytes_of(DType t);  // i1 counts as 1
bool is_float(DType t);
std::string_view name_of(DType t);         // "bf16"
DType dtype_named(std::string_view name);  // throws UserError that lists the names

}  // namespace tessera

namespace tessera::ir {

class Layout;  // dsl/ir/layout.h

// An interned axis name; equal names are the same axis. Cheap to copy and compare.
class Axis {
 public:
  Axis() = default;  // no axis
  static Axis named(std::string_view name);
  const std::string& name() const;
  explicit operator bool() const { return name_ != nullptr; }
  friend bool operator==(Axis a, Axis b) { return a.name_ == b.name_; }

 private:
  explicit Axis(const std::string* name) : name_(name) {}
  const std::string* name_ = nullptr;
};

struct Dim {
  Axis axis;
  int extent = 0;  // elements of the tile along the axis; 0 while axes are symbolic (stage traced)
  friend bool operator==(const Dim&, const Dim&) = default;
};

enum class TypeKind : std::uint8_t {
  tile,     // a scalar when it has no dims
  index,    // the handle `%t` of one tile of a looped axis (stage traced only); `dims[0].axis` says which axis
  shared,   // a ring of `stages` tiles in shared memory
  view,     // one tile of such a ring, or some rows of it
  barrier,  // a ring of `stages` mbarriers, each expecting `arrivals`
};

struct Type {
  TypeKind kind = TypeKind::tile;
  DType dtype = DType::f32;
  std::vector<Dim> dims{};
  std::shared_ptr<const Layout> layout{};  // placed tiles: who holds which element; null before that and for scalars
  int stages = 1;                          // shared, barrier
  int arrivals = 0;                        // barrier: arrivals that complete a phase

  static Type scalar(DType t) { return {.dtype = t, .dims = {}}; }
  static Type tile(DType t, std::vector<Dim> dims) { return {.dtype = t, .dims = std::move(dims)}; }

  bool is_scalar() const { return kind == TypeKind::tile && dims.empty(); }
  bool has(Axis a) const { return find(a) != nullptr; }
  const Dim* find(Axis a) const;  // null when the type lacks the axis
  int extent(Axis a) const;       // InternalError when the type lacks the axis
  std::int64_t elements() const;  // product of extents

  friend bool operator==(const Type& a, const Type& b);  // layouts compare by value
};

// The dims of an elementwise result: those of `a`, then those only `b` has. Extents of shared axes must agree.
std::vector<Dim> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

std::string to_string(const Type& t);  // "f32[Query:128, Key:80]", "i32", "shared<bf16[Key:128, Depth:64] x2>"

}  // namespace tessera::ir
