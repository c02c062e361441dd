// A block-level program, tiled and ready to call: on the interpreter with views of host memory, on a GPU with views of
// device memory.
//
//   auto scale_rows = kernel(grid<Query>, [](Args<traced> a) { store(a.y, load(a.x) * a.factor); });
//   Program program(scale_rows.trace(), {.tiles = {{"Query", 64}}, .whole = {{"Value", 128}}});
//   program(Args<bound>{.x = x, .y = y, .factor = 2});
//
// Programs with a mask are planned for the lengths they are called with. One Program may be used by several threads.
//
// The interpreter runs every program with every tile. GPUs do not: matrix products take f16 or bf16 operands and rows
// in multiples of 64, and what a block holds is limited. check() says so on any machine, as does explain().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tessera/backend/schedule.h>
#include <tessera/dsl/lang/kernel.h>

namespace tessera {

namespace library {
struct PlanMaker;
}

struct AxisTile {
  std::string axis;
  int extent;
};

// Every axis of the kernel is in one of the lists, but for grid axes that no tensor lists (Head, Batch), along which
// programs step by one. What is missing, misspelt or in the wrong list is refused when the Program is made.
struct ProgramOptions {
  std::vector<AxisTile> tiles = {};  // of each axis that the grid or a loop walks in tiles; Query and Key of a program
                                     // with a mask have a tile of 128 where none is given, which explain() shows
  std::vector<AxisTile> whole = {};  // lengths of the other axes: a tile has all of them
  backend::Schedule schedule = {};
  std::string target = {};                                    // "sm_90a"; empty: the device's
  std::shared_ptr<const library::PlanMaker> plan_maker = {};  // in place of the planner (library/plan_maker.h)
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
    call(arguments(bound, traced(), loc), stream, loc);
  }
  // One argument a parameter, in order. Outputs share no memory with anything else that is given.
  void call(std::vector<ir::Argument> arguments, void* stream = nullptr, SourceLoc loc = SourceLoc::here());

  const ir::Kernel& traced() const;

  // Throws the UserErrors that the kernel of a call on a GPU would be refused with, at the line that is at fault: for
  // the named target, else for that of the options. No GPU and no call are needed. What depends on the memory of a call
  // (its alignment, its strides) is only known to the call.
  void check(const std::string& target = {}, SourceLoc loc = SourceLoc::here()) const;

  // Tiles, what the mask skipped in the last call, and whether the target would run the program.
  std::string explain(SourceLoc loc = SourceLoc::here()) const;

  // Of the kernel of the last call.
  std::string ir(ir::Stage stage, SourceLoc loc = SourceLoc::here()) const;
  std::string ptx(SourceLoc loc = SourceLoc::here()) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
