// The interpreter notices when a pass forgets something: each of these takes one op that orders accesses out of a
// placed kernel, or makes one wait for less, at every place where there is one.
#include <doctest/doctest.h>

#include <functional>
#include <regex>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/refusal.h"
#include "support/sanitized.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

// What is to become of an op: true if it stays.
using Change = std::function<bool(Op&)>;

Block changed(const Block& block, const Change& change) {
  Block out;
  out.args = block.args;
  for (Op op : block.ops) {
    if (!change(op)) continue;
    for (Block& region : op.regions) region = changed(region, change);
    out.ops.push_back(std::move(op));
  }
  return out;
}

// Several programs a block.
void run(const Kernel& kernel, std::int64_t keys) {
  test::TestTensor q(DType::bf16, {1, 3, 200, 64}), k(DType::bf16, {1, 1, keys, 64}), v(DType::bf16, {1, 1, keys, 64}),
      o(DType::bf16, {1, 3, 200, 64}), lse(DType::f32, {1, 3, 200});
  for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(1);
  test::TestTensor document(DType::i32, {400});
  document.fill(0);
  std::vector<Argument> arguments{q.view(), k.view(), v.view(), o.view(), lse.view()};
  if (kernel.params.size() > arguments.size()) arguments.push_back(document.view());
  interpret(kernel, bind(kernel, arguments), {.threads = 1});
}

// Keys for loops that both have several trips, for one of them only, with one trip and more, and for none.
std::string complaint(const Kernel& kernel) {
  for (std::int64_t keys : {320, 100, 60, 384, 0}) {
    const std::string text = test::complaint([&] { run(kernel, keys); });
    if (text != "none") return text.substr(text.find("): ") + 3);
  }
  return "none";
}

// The letter that a ring and its barriers are named after.
std::string ring_of(const Kernel& kernel, const Op& op) {
  const std::string name =
      op.code == OpCode::copy ? kernel.params[static_cast<std::size_t>(op.index)].name : kernel.name_of(op.operands[0]);
  return name.substr(0, name.find('_'));
}

// Of a warpgroup without rows, which arrives where it did not wait.
std::string too_soon(const std::string& ring) {
  return "op 'arrive' in consumer [12]: ticket \\d+ of barrier %" + ring +
         R"(_empty belongs to phase \d+, but phase \d+ of slot \d has \d of 3 arrivals and 0 of 0 bytes)";
}

// What the interpreter says of a kernel whose `op` has been left out, or weakened.
std::string expected(const Kernel& kernel, const Op& op) {
  const std::string phase = R"(\(ticket \d+\): phase \d+ of slot \d has )", more = R"((\n  consumer \d waits [^\n]*)*)",
                    unfinished = R"(op '\w+' in consumer \d: uses .*, the result of product group \d+, but only )"
                                 R"(groups up to \d+ were waited for)",
                    refilled = R"(op 'copy' in producer 0: fills slot \d of %\w_ring for ticket \d+ )"
                               R"((while a product still reads ticket \d+|without waiting until ticket \d+ was read))";
  switch (op.code) {
    case OpCode::wait:
      if (op.index == 0)
        return "(op 'mma' in consumer 0: reads ticket \\d+ of %" + ring_of(kernel, op) +
               "_ring(, but slot \\d still holds ticket \\d+| without waiting for its copy, which completes on "
               "barrier %" +
               ring_of(kernel, op) + "_full at ticket \\d+)|" + too_soon(ring_of(kernel, op)) + ")";
      return "op 'copy' in producer 0: fills slot \\d of %" + ring_of(kernel, op) +
             R"(_ring for ticket \d+ (while the copy for ticket \d+ may still be in flight|)"
             R"(while a product still reads ticket \d+|without waiting until ticket \d+ was read))";
    case OpCode::arrive:
      return "(deadlock:\n  producer 0 waits for phase \\d+ of barrier %" + ring_of(kernel, op) + "_empty " + phase +
             R"([012] of [123] arrivals and 0 of 0 bytes)" + more + "|barrier %" + ring_of(kernel, op) +
             R"(_empty is left in the middle of a phase: phase \d of slot \d has [12] of 3 arrivals and 0 of 0 bytes))";
    case OpCode::expect:
    case OpCode::copy:
      return "deadlock:\n  producer 0 waits [^\n]*\n  consumer 0 waits for phase \\d+ of barrier %" +
             ring_of(kernel, op) + "_full " + phase +
             (op.code == OpCode::expect ? R"(0 of 1 arrivals and [1-9]\d* of 0 bytes)"
                                        : R"(1 of 1 arrivals and 0 of [1-9]\d* bytes)") +
             more;
    case OpCode::mma_fence:
      return R"(op 'mma' in consumer 0: (comes before any mma_fence|)"
             R"(reads .* from registers that were written after the last mma_fence|)"
             R"(may write registers that were in use after the last mma_fence))";
    case OpCode::mma_commit:
    case OpCode::mma_wait: return "(" + unfinished + "|" + refilled + ")";
    case OpCode::turn_wait: return "op 'turn_pass' in consumer [01]: passes a turn that it has not got";
    case OpCode::turn_pass:
      return "(op 'turn_wait' in consumer [01]: waits for its turn while it has it|"
             "deadlock:(\n[^\n]*){3}\n  consumer 2 waits for its turn)";
    case OpCode::write:
      return "op 'send' in consumer 0: sends rows from 0 on of %o_out, which this warpgroup has not written as one "
             "tile";
    case OpCode::send_wait:
      return "(op 'write' in consumer 0: writes rows from 0 on of slot 0 of %o_out while a send may still read them|"
             "consumer 0 ends with a send in flight: the block's memory may be another's before it was read)";
    default: return "an op that orders nothing";
  }
}

constexpr OpCode kOrdering[] = {OpCode::wait,      OpCode::arrive,     OpCode::expect,   OpCode::copy,
                                OpCode::mma_fence, OpCode::mma_commit, OpCode::mma_wait, OpCode::turn_wait,
                                OpCode::turn_pass, OpCode::write,      OpCode::send_wait};

struct Variant {
  test::AttentionShape shape;
  backend::Schedule schedule;
  int products;           // mma ops, each with a commit and a wait
  int turns;              // pairs of turn_wait and turn_pass: with three warpgroups, on the way without rows too
  std::string unnoticed;  // right to be: ops that are redundant
};

// In an overlapped iteration nothing happens between the two products, so that the first one's fence is for both: those
// are the loops', which stand between one that fills the pipeline and, after both, one that drains it.
const char* const kSecondFences = "mma_fence 2;mma_fence 5;";
// Where a predicate reads tables, the pending product is waited for right after the first one. All that stands between
// the two waits is the release of the first product's slot, and the interpreter switches to the producer at waits for
// barriers only: that the slot is released too soon shows where anything else stands there, in the other variants.
const char* const kReleased = "mma_fence 2;mma_fence 5;mma_commit 1;mma_wait 1;";

// Either loop may be without trips, or have several.
test::AttentionShape shape(int query_tile, bool documents = false) {
  return {.query_tile = query_tile, .partial_tiles = 3, .documents = documents};
}

// Of three warpgroups two have no rows of a last tile. They read nothing: a wait of theirs may be missing as long as
// another, or a turn, keeps them from arriving a whole phase ahead of the others.
const std::vector<Variant>& variants() {
  const std::string fences = kSecondFences;
  static const std::vector<Variant> all = {
      {shape(128), {.overlap = false, .turns = false}, 4, 0, ""},
      {shape(128), {.overlap = true, .turns = false, .skip_ones = false}, 7, 0, kSecondFences},
      {shape(64), {.stages = 1, .overlap = true}, 7, 0, kSecondFences},
      {shape(192),
       {.overlap = true, .turns = true, .skip_ones = true},
       7,
       4,
       "wait 7;wait 8;wait 9;wait 10;wait 11;wait 12;" + fences},
      {shape(192),
       {.stages = 1, .overlap = true, .turns = true, .skip_ones = false},
       7,
       4,
       "wait 7;wait 8;wait 9;wait 10;wait 11;" + fences},
      {shape(192), {.stages = 3, .overlap = false, .turns = true}, 4, 0, "wait 7;wait 9;"},
      {shape(192), {.overlap = true, .turns = false}, 7, 0, "wait 7;wait 8;wait 9;wait 11;" + fences},
      {shape(128, true), {.overlap = true, .turns = true}, 7, 2, kReleased},
  };
  return all;
}

int count(const Kernel& kernel, OpCode code) {
  int n = 0;
  walk(kernel.entry, [&](const Op& op) { n += op.code == code; });
  return n;
}

// The kernel without its `which`-th op of this kind; a wait for products waits for one group less instead.
Kernel mutant_of(const Kernel& kernel, OpCode code, int which, std::string& pattern) {
  Kernel mutant = kernel;
  mutant.entry = changed(kernel.entry, [&, at = 0](Op& op) mutable {
    if (op.code != code || at++ != which) return true;
    pattern = expected(kernel, op);
    ++op.index;
    return code == OpCode::mma_wait;
  });
  return mutant;
}

}  // namespace

TEST_CASE("every op that orders accesses is missed where it is missing") {
  for (const Variant& variant : variants()) {
    if (test::kSanitized && &variant != &variants()[3]) continue;  // three warpgroups, overlap, turns
    CAPTURE(to_string(variant.schedule));
    CAPTURE(variant.shape.query_tile);
    const Kernel kernel = backend::place(test::tiled_attention(variant.shape), test::hopper(), variant.schedule);
    REQUIRE(complaint(kernel) == "none");
    for (OpCode code : {OpCode::mma_fence, OpCode::mma_commit, OpCode::mma_wait})
      CHECK(count(kernel, code) == variant.products);
    for (OpCode code : {OpCode::turn_wait, OpCode::turn_pass}) CHECK(count(kernel, code) == variant.turns);
    CHECK(count(kernel, OpCode::copy) == 5);  // Q, and of both loops K and V
    CHECK(count(kernel, OpCode::write) == 1);
    CHECK(count(kernel, OpCode::send_wait) == 2);
    std::string unnoticed;
    for (OpCode code : kOrdering)
      for (int which = 0; which < count(kernel, code); ++which) {
        std::string pattern;
        const std::string text = complaint(mutant_of(kernel, code, which, pattern));
        const std::string name = std::string(info(code).name) + " " + std::to_string(which);
        CAPTURE(name);
        CAPTURE(pattern);
        if (text == "none")
          unnoticed += name + ";";
        else
          CHECK_MESSAGE(std::regex_match(text, std::regex(pattern)), text);
      }
    CHECK(unnoticed == variant.unnoticed);
  }
}

TEST_CASE("a wait that does not hold on to the registers of its product is refused") {
  for (const Variant& variant : variants()) {
    const Kernel kernel = backend::place(test::tiled_attention(variant.shape), test::hopper(), variant.schedule);
    int holding = 0;
    for (int which = 0; which < count(kernel, OpCode::mma_wait); ++which) {
      Kernel mutant = kernel;
      bool holds = false;
      mutant.entry = changed(kernel.entry, [&, at = 0](Op& op) mutable {
        if (op.code != OpCode::mma_wait || at++ != which || op.operands.size() == 1) return true;
        holds = true;
        op.operands.resize(1);
        op.results.resize(1);
        return true;
      });
      holding += holds;
      CHECK((legal(mutant, Stage::placed).find("is in registers, but does not list it") != std::string::npos) == holds);
    }
    CHECK(holding == variant.products / 2);
  }
}
