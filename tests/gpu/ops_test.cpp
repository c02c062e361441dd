// The GPU against the interpreter, op by op and program by program: what a placed kernel means, the machine does.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/library/program.h>

#include "backend/block_programs.h"
#include "backend/op_programs.h"
#include "backend/placed_runs.h"
#include "gpu/device_case.h"

namespace tessera::test {

namespace {

// Runs the program on both, with the last tensor as its output; counts elements that differ by more than allowed.
int differences(const OpProgram& op) {
  const DType stored = op.to == DType::i1 ? DType::i32 : op.to;
  TestTensor expected(stored, op.inputs[0].shape()), y(stored, op.inputs[0].shape());
  y.poison();
  DeviceTensor device_y(y);
  std::vector<ir::Argument> host, device;
  std::vector<DeviceTensor> inputs;
  inputs.reserve(op.inputs.size());
  for (const TestTensor& input : op.inputs) {
    inputs.emplace_back(input);
    host.emplace_back(input.view());
    device.emplace_back(inputs.back().view());
  }
  host.emplace_back(expected.view());
  device.emplace_back(device_y.view());
  Program program(Traced{op.traced, {}}, {.tiles = {{"Row", 16}}, .whole = {{"Column", kEdgeColumns}}});
  program.call(host);
  program.call(device);
  test_device().synchronize();
  device_y.download(y);
  const std::vector<double> a = elements_of(expected.view()), b = elements_of(y.view());
  int wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (agrees(op, a[i], b[i])) continue;
    if (wrong++ < 3) MESSAGE(op.name(), " at ", i, ": expected ", a[i], ", got ", b[i]);
  }
  return wrong + !y.guards_intact();
}

double program_difference(const BlockProgram& block, Fill fill) {
  std::vector<TestTensor> expected = tensors_for(block, fill);
  ProgramOptions options = block.options;
  Program program(block.trace(), options);
  std::vector<DeviceTensor> device;
  device.reserve(expected.size());
  for (const TestTensor& t : expected) device.emplace_back(t);
  std::vector<ir::Argument> arguments;
  for (const DeviceTensor& t : device) arguments.emplace_back(t.view());
  program.call(arguments_of(expected));
  program.call(arguments);
  test_device().synchronize();
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    TestTensor got(expected[i].dtype(), expected[i].shape());
    device[i].download(got);
    CHECK(got.guards_intact());
    const std::vector<double> a = expected[i].values(), b = got.values();
    for (std::size_t j = 0; j < a.size(); ++j) worst = std::max(worst, std::abs(a[j] - b[j]) / (1 + std::abs(a[j])));
  }
  return worst;
}

}  // namespace

TEST_CASE("every elementwise op on edge values") {
  for (const OpProgram& op : op_programs()) {
    CAPTURE(op.name());
    CHECK(differences(op) == 0);
  }
}

TEST_CASE("division by constants, negative ones and zero among them") {
  for (const OpProgram& op : division_programs()) {
    CAPTURE(op.traced.name);
    CHECK(differences(op) == 0);
  }
}

TEST_CASE("block programs compute what the interpreter computes") {
  for (const BlockProgram& block : block_programs()) {
    CAPTURE(block.name);
    CHECK(program_difference(block, Fill::normal) <=
          block.tolerance + 2e-4);  // tensor cores add in an order of their own
  }
}

TEST_CASE("of small integers products are exact, bit for bit") {
  for (const BlockProgram& block : block_programs()) {
    CAPTURE(block.name);
    CHECK(program_difference(block, Fill::integers) == 0);
  }
}

}  // namespace tessera::test
