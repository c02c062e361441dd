// A block-level program, tiled and ready to call: on the interpreter with views of host memory, on a GPU with views of
// device memory.
//
//   auto scale_rows = kernel(grid<Query>, [](Args<traced> a) { store(a.y, load(a.x) * a.factor); });
//   Program program(scale_rows.trace(), {.tiles = {{"Query", 64}}, .whole = {{"Value", 128}}});
//   program(Args<bound>{.x = x, .y = y, .factor = 2});
//
// Programs with a mask are planned for the lengths they are called with. One Program may be used by several threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tessera/backend/schedule.h>
#include <tessera/dsl/lang/kernel.h>

namespace tessera {

struct AxisTile {
  std::string axis;
  int extent;
};

struct ProgramOptions {
  std::vector<AxisTile> tiles = {};  // of each axis that the grid or a loop walks in tiles
  std::vector<AxisTile> whole = {};  // lengths of the other axes: a tile has all of them
  backend::Schedule schedule = {};
  std::string target = {};  // "sm_90a"; empty: the device's
};

class TESSERA_API Program {
 public:
  Program(Traced program, ProgramOptions options, SourceLoc loc = SourceLoc::here());
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // The program's argument struct, bound.
  template <class Bound>
  void operator()(const Bound& bound, void* stream = nullptr, SourceLoc loc = SourceLoc::here()) {
    call(arguments(bound, traced()), stream, loc);
  }
  // One argument a parameter, in order.
  void call(std::vector<ir::Argument> arguments, void* stream = nullptr, SourceLoc loc = SourceLoc::here());

  const ir::Kernel& traced() const;

  // Of the kernel of the last call.
  std::string ir(ir::Stage stage) const;
  std::string ptx() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
