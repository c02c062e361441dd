// Calls of a Program after the first: what they ask of the driver, what they pass to the kernel, and what they may not
// take over from it.
#include "library/device/device_call.h"

#include <cstddef>
#include <cstring>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/program_cases.h"

using namespace tessera;
using namespace tessera::test;
using namespace tessera::test::programs;

namespace {

std::string text(const DriverCalls& calls) {
  std::string all;
  for (const auto& [name, count] : calls) all += fmt::format("{} {}; ", name, count);
  return all;
}

int launches_in(DriverCalls calls) { return calls["cuLaunchKernel"]; }

struct GateCall {
  DeviceTensor x{f32, {64, 72}}, gate{bf16, {64, 72}}, y{bf16, {64, 72}};
  GateArgs<bound> args{.x = x.view, .gate = gate.view, .y = y.view, .scale = 3};
};

Program gate_program() { return Program(gated.trace(), {.tiles = {{"Row", 32}}, .whole = {{"Column", 72}}}); }

std::string refusal(Program& program, const GateArgs<bound>& args) {
  const std::size_t before = runtime::test::state().launches.size();
  std::string said = "accepted";
  try {
    program(args);
  } catch (const UserError& error) {
    said = error.what();
    said = said.substr(said.find("error: "));
    CHECK(error.loc().line > 0);
    CHECK(runtime::test::state().launches.size() == before);
  }
  return said;
}

}  // namespace

TEST_CASE("the same call again is a launch, and so is one whose scalar or shape was seen") {
  GateCall at;
  Program program = gate_program();
  program(at.args);
  const std::string launch = "cuCtxGetCurrent 2; cuCtxPopCurrent 1; cuCtxPushCurrent 1; cuLaunchKernel 1; ";
  CHECK(text(driver_calls([&] { program(at.args); })) == launch);
  at.args.scale = 5;
  CHECK(text(driver_calls([&] { program(at.args); })) == launch);
  GateCall shorter;
  for (View* view : {&shorter.args.x.view, &shorter.args.gate.view, &shorter.args.y.view}) view->shape[0] = 40;
  CHECK(launches_in(driver_calls([&] { program(shorter.args); })) == 1);
  CHECK(text(driver_calls([&] { program(shorter.args); })) == launch);
  CHECK(text(driver_calls([&] { program(at.args); })) == launch);
}

TEST_CASE("addresses that move: the driver is asked once, and nothing that a first call refuses is served") {
  GateCall at, moved;
  Program program = gate_program();
  program(at.args);
  at.args.y.view.data = moved.y.view.data;
  CHECK(driver_calls([&] { program(at.args); })["cuPointerGetAttributes"] == 0);
  CHECK(driver_calls([&] { program(moved.args); })["cuPointerGetAttributes"] == 1);

  GateArgs<bound> bad = moved.args;
  bad.y.view.data = static_cast<std::byte*>(bad.gate.view.data) + 16;
  CHECK(refusal(program, bad) ==
        "error: y is written, and its memory overlaps that of gate; note: give y memory of its own");
  bad = moved.args;
  bad.gate.view.memory = Memory::host;
  CHECK(refusal(program, bad) ==
        "error: 'gate' is not in the memory that the other arguments of 'gated' are in; note: put all arguments of a "
        "call in one memory");
  bad = moved.args;
  bad.gate.view.dtype = f16;
  CHECK(refusal(program, bad) ==
        "error: 'gate' is bf16 in this kernel, got f16; note: convert it to bf16, or build the kernel for f16");
  CHECK(refusal(program, moved.args) == "accepted");

  const auto first = [](const GateCall& call) { return reinterpret_cast<std::uint64_t>(call.x.view.data); };
  CHECK(runtime::test::state().launches.back().first_parameter == first(moved));
  at.args.y = at.y.view;
  program(at.args);
  CHECK(runtime::test::state().launches.back().first_parameter == first(at));
}
