#include <regex>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

std::string reason(const Kernel& kernel, Stage stage) {
  return std::regex_replace(legal(kernel, stage), std::regex(" at <text>:[0-9]+"), "");
}

std::string placed(const std::string& code) { return reason(parse(test::placed(code)), Stage::placed); }

}  // namespace

TEST_CASE("every op is legal in the stages of the table, and only there") {
  Kernel traced = parse(test::traced("%0 = length Key : i32\nover Key {\n^(%t: tile Key)\nyield\n}"));
  CHECK(legal(traced, Stage::traced) == "");
  CHECK(legal(traced, Stage::tiled) == "the grid has 2 axes but 0 tile extents");
  traced.stage = Stage::tiled;
  traced.grid_tiles = {{traced.grid[0], 64}, {traced.grid[1], 1}};
  CHECK(reason(traced, Stage::tiled) == "op 'over': is not an op of stage tiled");
  CHECK(reason(traced, Stage::traced) == "a traced kernel has grid tiles");
  CHECK(reason(parse(test::tiled("%0 = alloc : barrier<1 x1>")), Stage::tiled) ==
        "op 'alloc': is not an op of stage tiled");
  CHECK(reason(parse(test::traced("%0 = iota Key : i32[Key]")), Stage::traced) ==
        "op 'iota': is not an op of stage traced");
}

TEST_CASE("extents are absent while traced, and bound from tiled on") {
  CHECK(reason(parse(test::traced("%0 = constant 0 : f32[Query:64]")), Stage::traced) ==
        "op 'constant': binds axis Query to 64 elements");
  CHECK(reason(parse(test::tiled("%0 = constant 0 : f32[Query]")), Stage::tiled) ==
        "op 'constant': leaves axis Query without an extent");
  CHECK(placed("%0 = alloc : shared<bf16[Query:64, Depth] x1>") == "op 'alloc': leaves axis Depth without an extent");
  Kernel tiled = parse(test::tiled(""));
  CHECK(legal(tiled, Stage::tiled) == "");
  tiled.grid_tiles[1].extent = 0;
  CHECK(legal(tiled, Stage::tiled) == "grid axis Head has a tile of 0");
  std::swap(tiled.grid_tiles[0], tiled.grid_tiles[1]);
  CHECK(legal(tiled, Stage::tiled) == "grid tile 0 is of Head, must be of Query");
}

TEST_CASE("layouts are absent until placed, and there they cover the tile") {
  Kernel early = parse(test::placed("%0 = constant 0 : f32[Query:64] #1"));
  CHECK(legal(early, Stage::placed) == "");
  CHECK(reason(early, Stage::tiled) ==
        "op 'constant': f32[Query:64] {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16} has a layout before stage "
        "placed");
  CHECK(placed("%0 = constant 0 : f32[Query:64]") == "op 'constant': f32[Query:64] has no layout");
  CHECK(placed("%0 = constant 0 : f32 #1") == "op 'constant': a scalar has a layout");
  CHECK(placed("%0 = constant 0 : f32[Query:128] #1") ==
        "op 'constant': the layout of f32[Query:128] {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16} reaches 64 "
        "elements of "
        "axis Query, must reach 128");
  CHECK(placed("%0 = constant 0 : f32[Query:64] #0") ==
        "op 'constant': f32[Query:64] {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16} is "
        "laid out "
        "along Key, which it lacks");
  CHECK(placed("layout #3 {reg 2*Query:32 | lane 32*Query:1 | warp}\n%0 = constant 0 : f32[Query:64] #3") ==
        "op 'constant': f32[Query:64] {reg 2*Query:32 | lane 32*Query:1 | warp} is laid out over 32 lanes and 1 warps, "
        "must be "
        "32 and 4");
}

TEST_CASE("elementwise operands and reductions stay within a thread") {
  CHECK(placed("%0 = constant 0 : f32[Query:64, Key:128] #0\n%1 = constant 0 : f32[Query:64] #1\n"
               "%2 = sub %0, %1 : f32[Query:64, Key:128] #0") == "");
  CHECK(placed("%0 = constant 0 : f32[Query:64] #1\n%1 = constant 0 : f32[Key:128] #2\n"
               "%2 = sub %0, %1 : f32[Query:64, Key:128] #0") == "");
  CHECK(placed("layout #3 {reg | lane 32*Query:1 | warp 2*Query:32 2}\n%0 = constant 0 : f32[Query:64] #3\n%1 = neg %0 "
               ": f32[Query:64] #1") ==
        "op 'neg': f32[Query:64] {reg | lane 32*Query:1 | warp 2*Query:32 2} and f32[Query:64] {reg 2*Query:8 | lane 4 "
        "8*Query:1 | "
        "warp 4*Query:16} are in different threads or registers");
  CHECK(placed("layout #3 {reg | lane 32*Query:1 | warp 2*Query:32 2}\n%0 = constant 0 : f32[Query:64, Key:128] #0\n"
               "%1 = reduce_sum Key %0 : f32[Query:64] #3")
            .starts_with("op 'reduce_sum': f32[Query:64, Key:128] {"));
  CHECK(placed("layout #3 {reg | lane 32*Query:1 | warp 2*Query:32 2}\n%0 = constant 0 : f32[Query:64] #3\n"
               "%1 = convert %0 : f32[Query:64] #1") == "");
}

TEST_CASE("products are waited for before use") {
  std::string product =
      "%c0 = constant 0 : i32\n%ks = alloc : shared<bf16[Key:128, Depth:64] x1>\n%qs = alloc : shared<bf16[Query:64, "
      "Depth:64] x1>\n"
      "%0 = slot %qs, %c0 : view<bf16[Query:64, Depth:64]>\n%1 = slot %ks, %c0 : view<bf16[Key:128, Depth:64]>\n"
      "%2 = mma Depth %0, %1 : f32[Query:64, Key:128] #0\n";
  CHECK(placed(product + "mma_commit\n%3 = mma_wait 0 %2\n%4 = neg %3 : f32[Query:64, Key:128] #0") == "");
  CHECK(placed(product + "%3 = mma Depth %0, %1, %2 : f32[Query:64, Key:128] #0\nmma_commit\n%4 = mma_wait 0 %3") ==
        "");
  CHECK(placed(product + "%3 = neg %2 : f32[Query:64, Key:128] #0") ==
        "op 'neg': uses a product that no mma_wait has waited for");
  CHECK(placed(product + "%5 = loop %c0 to %c0 (%4 = %2) {\n^(%i)\nyield %4\n}") ==
        "op 'loop': uses a product that no mma_wait has waited for");
}

// Of the products below, the first reads %2 from registers and is in group 1.
const std::string kFromRegisters =
    "layout #3 {reg 2*Depth:1 2*Query:8 8*Depth:8 | lane 4*Depth:2 8*Query:1 | warp 4*Query:16}\n"
    "%c0 = constant 0 : i32\n%ks = alloc : shared<bf16[Key:128, Depth:64] x1>\n"
    "%1 = slot %ks, %c0 : view<bf16[Key:128, Depth:64]>\n%p = constant 0 : bf16[Query:64, Depth:64] #3\n"
    "%r = constant 0 : bf16[Query:64, Depth:64] #3\n"
    "%s0 = mma Depth %p, %1 : f32[Query:64, Key:128] #0\nmma_commit\n";
const std::string kSecond = "%t0 = mma Depth %r, %1 : f32[Query:64, Key:128] #0\nmma_commit\n";

TEST_CASE("the wait that covers a product lists the operand that the product reads from registers") {
  const std::string unlisted =
      "op 'mma_wait': covers a product whose left operand %p is in registers, but does not list it";
  CHECK(placed(kFromRegisters + "%s, %p1 = mma_wait 0 %s0, %p") == "");
  CHECK(placed(kFromRegisters + "%s = mma_wait 0 %s0") == unlisted);
  CHECK(placed(kFromRegisters + "%s, %r1 = mma_wait 0 %s0, %r") == unlisted);
  // The first wait covers only the first product, the second the second.
  const std::string both = kFromRegisters + kSecond;
  CHECK(placed(both + "%s, %p1 = mma_wait 1 %s0, %p\n%t, %r1 = mma_wait 0 %t0, %r") == "");
  CHECK(placed(both + "%s, %p1, %t, %r1 = mma_wait 0 %s0, %p, %t0, %r") == "");
  CHECK(placed(both + "%s = mma_wait 1 %s0\n%t, %r1, %p1 = mma_wait 0 %t0, %r, %p") == unlisted);
  CHECK(placed(both + "%s, %p1 = mma_wait 1 %s0, %p\n%t = mma_wait 0 %t0") ==
        "op 'mma_wait': covers a product whose left operand %r is in registers, but does not list it");
  CHECK(placed(both + "%s, %r1 = mma_wait 0 %s0, %r") == unlisted);
}

TEST_CASE("products are waited for in the block that issues them") {
  const std::string wait = "%s, %p1 = mma_wait 0 %s0, %p\n";
  const std::string loop = "loop %c0 to %c0 {\n^(%i)\n", yield = "yield\n}\n";
  CHECK(placed(kFromRegisters) == "the kernel ends with a product in flight");
  CHECK(placed(kFromRegisters + "%s, %p1 = mma_wait 1 %s0, %p") == "the kernel ends with a product in flight");
  CHECK(placed(kFromRegisters + wait + kSecond.substr(0, kSecond.find("mma_commit")) +
               "%t, %r1 = mma_wait 0 %t0, %r") == "the kernel ends with a product in flight");
  CHECK(placed(kFromRegisters + wait + loop + kSecond + "%t, %r1 = mma_wait 0 %t0, %r\n" + yield) == "");
  CHECK(placed(kFromRegisters + wait + loop + kSecond + yield) ==
        "op 'loop': its region ends with a product in flight, which nothing outside can wait for");
  CHECK(placed(kFromRegisters + wait + "role @1 {\n" + kSecond + "}\n") ==
        "op 'role': its region ends with a product in flight, which nothing outside can wait for");
  // One that was issued before a loop may be in flight in it, but not be waited for there.
  CHECK(placed(kFromRegisters + loop + kSecond + "%t, %r1 = mma_wait 1 %t0, %r\n" + yield + wait) ==
        "op 'mma_wait': covers a product that was issued outside of its block");
  CHECK(placed(kFromRegisters + loop + "%c1 = constant 1 : i32\n" + yield + wait) == "");
}

TEST_CASE("roles and rings are at the top of the entry block, threads are what the roles need") {
  CHECK(placed("role @0 {\n}\nrole @1 {\n}") == "");
  CHECK(placed("%c0 = constant 0 : i32\nloop %c0 to %c0 {\n^(%i)\nrole @0 {\n}\nyield\n}") ==
        "op 'role': is not at the top of the entry block");
  CHECK(placed("role @0 {\nrole @1 {\n}\n}") == "op 'role': is not at the top of the entry block");
  CHECK(placed("role @0 {\n%0 = alloc : barrier<1 x1>\n}") == "op 'alloc': is not at the top of the entry block");
  Kernel k = parse(test::placed(""));
  k.threads = 128;
  CHECK(legal(k, Stage::placed) == "the kernel has 128 threads, but its roles need 256");
  k.roles.clear();
  CHECK(legal(k, Stage::placed) == "");
}
