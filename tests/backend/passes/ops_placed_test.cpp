// Every elementwise op on edge values: what a placed kernel computes on the interpreter, and that it can be emitted.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/backend/compile.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "backend/op_programs.h"
#include "backend/placed_runs.h"

namespace tessera::test {

namespace {

ir::Kernel tiled(const OpProgram& program) {
  const passes::Tiling tiling{.tiles = {{ir::Axis::named("Row"), 16}},
                              .whole = {{ir::Axis::named("Column"), kEdgeColumns}}};
  return passes::simplify(passes::tile_by_mask(passes::simplify(program.traced), nullptr, tiling));
}

std::vector<ir::Argument> arguments_of(const OpProgram& program, const TestTensor& y) {
  std::vector<ir::Argument> arguments;
  for (const TestTensor& input : program.inputs) arguments.emplace_back(input.view());
  arguments.emplace_back(y.view());
  return arguments;
}

TestTensor result_of(const OpProgram& program) {
  return TestTensor(program.to == DType::i1 ? DType::i32 : program.to, program.inputs[0].shape());
}

}  // namespace

TEST_CASE("every elementwise op has a program, and places and emits") {
  const std::vector<OpProgram> programs = op_programs();
  CHECK(programs.size() > 80);
  for (const OpProgram& program : programs) {
    CAPTURE(program.name());
    const TestTensor y = result_of(program);
    const ir::Kernel kernel = tiled(program);
    CHECK(placed_difference(kernel, arguments_of(program, y)) == 0);
    CHECK(backend::compile(kernel, hopper(), {}).artifact.ptx.find(program.traced.name) != std::string::npos);
  }
}

TEST_CASE("division rounds to minus infinity, remainders have the divisor's sign, by zero both are 0") {
  for (const OpProgram& program : op_programs()) {
    if (program.to != DType::i32 || program.from != DType::i32) continue;
    if (program.code != ir::OpCode::div && program.code != ir::OpCode::mod) continue;
    const TestTensor y = result_of(program);
    const std::vector<double> got = outputs_of(tiled(program), arguments_of(program, y)).at(0);
    const std::vector<double> a = elements_of(program.inputs[0].view()), b = elements_of(program.inputs[1].view());
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double quotient = b[i] == 0 ? 0 : std::floor(a[i] / b[i]);
      const double exact = program.code == ir::OpCode::div ? quotient : b[i] == 0 ? 0 : a[i] - quotient * b[i];
      wrong += got[i] != (exact == 0x1p31 ? -0x1p31 : exact);  // the one quotient that wraps
    }
    CHECK(wrong == 0);
  }
  for (const OpProgram& program : division_programs()) {
    CAPTURE(program.traced.name);
    const TestTensor y = result_of(program);
    CHECK(placed_difference(tiled(program), arguments_of(program, y)) == 0);
  }
}

}  // namespace tessera::test
