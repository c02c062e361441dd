#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include <tessera/dsl/ir/interpret_shared.h>
#include <tessera/dsl/ir/print.h>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"
#include "dsl/ir/kernel_text.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::test;

namespace {

struct Call {
  Call(std::int64_t queries, std::int64_t keys, std::int64_t heads = 1, std::int64_t kv_heads = 1)
      : q(DType::bf16, 1, heads, queries, 64),
        k(DType::bf16, 1, kv_heads, keys, 64),
        v(DType::bf16, 1, kv_heads, keys, 64),
        o(DType::bf16, 1, heads, queries, 64),
        lse(DType::f32, 1, heads, queries, 1) {
    q.randomise(1);
    k.randomise(2);
    v.randomise(3);
  }
  void run(const Kernel& kernel) {
    interpret(kernel, ir::bind(kernel, {q.view(), k.view(), v.view(), o.view(), lse.rows(), 0.125}));
  }
  Errors errors() const {
    return attention_errors(q, k, v, o, lse, 0.125, [](int, int, int, int) { return true; });
  }
  Tensor q, k, v, o, lse;
};

std::string violation(Fault fault, std::int64_t keys) {
  Call call(100, keys);
  return tessera::test::complaint([&] { call.run(placed_attention(fault)); });
}

// A producer that copies a tile of keys, and a consumer that multiplies it with a tile in registers, as text.
const std::string kProducer =
                      "expect 16384 %full, %c0\n%w = slot %ks, %c0 : view<bf16[Key:128, Depth:64]>\n"
                      "copy k(%w ; %full, %c0 ; %c0, %c0)\n",
                  kProduct =
                      "mma_fence\n%v = slot %ks, %c0 : view<bf16[Key:128, Depth:64]>\n"
                      "%s0 = mma Depth %p, %v : f32[Query:64, Key:128] #0\n",
                  kWait = "wait %full, %c0\n", kCommit = "mma_commit\n", kDone = "%s, %p1 = mma_wait 0 %s0, %p\n";

std::string end_of(const std::string& producer, const std::string& consumer) {
  const Kernel kernel =
      parse(placed("layout #3 {reg 2*Depth:1 2*Query:8 8*Depth:8 | lane 4*Depth:2 8*Query:1 | warp 4*Query:16}\n"
                   "%c0 = constant 0 : i32\n%p = constant 1 : bf16[Query:64, Depth:64] #3\n"
                   "%ks = alloc : shared<bf16[Key:128, Depth:64] x1>\n%full = alloc : barrier<1 x1>\n"
                   "role @0 {\n" +
                   producer + "}\nrole @1 {\n" + consumer + "}\n"));
  Tensor q(DType::bf16, 1, 1, 64, 64), k(DType::bf16, 1, 1, 128, 64);
  std::vector<float> o(64);
  const View rows = View::contiguous(o.data(), DType::f32, {1, 64});
  const std::string text =
      tessera::test::complaint([&] { interpret(kernel, ir::bind(kernel, {q.view(3), k.view(3), rows})); });
  return text == "none" ? text : text.substr(text.find("): ") + 3);
}

// What two operations, done in this order, have to say.
std::string both(std::array<std::string, 2> reasons) { return reasons[0] + reasons[1]; }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a placed pipeline computes attention") {
  const Kernel kernel = placed_attention(Fault::none);
  for (std::int64_t keys : {0, 1, 63, 64, 65, 300}) {
    for (std::int64_t queries : {1, 64, 129}) {
      CAPTURE(keys);
      CAPTURE(queries);
      Call call(queries, keys, 2, 1);
      call.run(kernel);
      const Errors errors = call.errors();
      CHECK(errors.output <= 1e-2);
      CHECK(errors.lse <= 1e-4);
      CHECK(errors.empty_rows_right);
      CHECK(call.o.outside_untouched());
      CHECK(call.lse.outside_untouched());
    }
  }
}

TEST_CASE("every misuse of shared memory is refused, with the op, the buffer and the ticket") {
  struct Row {
    Fault fault;
    const char* op;
    const char* what;
  };
  const Row table[] = {
      {Fault::no_wait_for_full, "op 'mma' in consumer 0",
       "reads ticket 0 of %ks without waiting for its copy, which completes on barrier %k_full at ticket 0"},
      {Fault::no_wait_for_empty, "op 'copy' in producer 0", "fills slot 0 of %ks for ticket 2"},
      {Fault::arrive_too_early, "op 'copy' in producer 0",
       "fills slot 0 of %ks for ticket 2 without waiting until ticket 0 was read"},
      {Fault::wrong_ticket, "op 'mma' in consumer 0", "reads ticket 2 of %ks, but slot 0 still holds ticket 0"},
      {Fault::no_mma_wait, "op 'mul' in consumer 0",
       "uses %s0, the result of product group 1, but only groups up to 0"},
      {Fault::no_fence, "op 'mma' in consumer 0", "reads %p from registers that were written after the last mma_fence"},
      {Fault::short_expect, "op 'copy' in producer 0", "barrier %k_full at ticket 0 got more than it waits for"},
      {Fault::refill_early, "op 'copy' in producer 0", "fills slot 0 of %ks for ticket 2"},
  };
  for (const Row& row : table) {
    const std::string text = violation(row.fault, 300);
    CAPTURE(text);
    CHECK(has(text, row.op));
    CHECK(has(text, row.what));
  }
}

TEST_CASE("a deadlock lists who waits for what") {
  const std::string starved = violation(Fault::no_arrive, 300);
  CAPTURE(starved);
  CHECK(has(starved, "deadlock"));
  CHECK(has(starved,
            "producer 0 waits for phase 0 of barrier %k_empty (ticket 2): phase 0 of slot 0 has 0 of 2 arrivals"));
  CHECK(has(starved, "consumer 0 waits for phase 1 of barrier %k_full (ticket 2)"));
  CHECK(has(starved, "consumer 1 waits for phase 1 of barrier %k_full (ticket 2)"));

  const std::string bytes = violation(Fault::long_expect, 300);
  CAPTURE(bytes);
  CHECK(has(bytes, "phase 0 of slot 0 has 1 of 1 arrivals and 8192 of 8320 bytes"));
}

TEST_CASE("pipelines that are too short to show a fault are right") {
  for (Fault fault : {Fault::no_arrive, Fault::no_wait_for_empty, Fault::arrive_too_early, Fault::refill_early}) {
    CHECK(violation(fault, 100) == "none");  // two tiles: the rings are never refilled
  }
}

TEST_CASE("a role ends with nothing that it began unfinished") {
  CHECK(end_of(kProducer, kWait + kProduct + kCommit + kDone) == "none");
  CHECK(end_of(kProducer, kWait + kProduct) ==
        "consumer 0 ends with a product that no mma_commit has put into a group");
  CHECK(end_of(kProducer, kWait + kProduct + kDone) ==
        "consumer 0 ends with a product that no mma_commit has put into a group");
  CHECK(end_of(kProducer, kWait + kProduct + kCommit) ==
        "consumer 0 ends with product group 1 in flight: only groups up to 0 were waited for");
  CHECK(end_of(kProducer, kWait + kProduct + kCommit + "%s, %p1 = mma_wait 1 %s0, %p\n") ==
        "consumer 0 ends with product group 1 in flight: only groups up to 0 were waited for");
  CHECK(end_of(kProducer, kWait + "turn_wait\n") == "consumer 0 ends with a turn that it has not passed");
  CHECK(end_of(kProducer, kWait + "turn_wait\nturn_pass\n") == "none");
}

TEST_CASE("a fence lies between other uses of registers and a product, which may write any") {
  const std::string
      first = kWait + kProduct + kCommit + kDone,
      use = "%n = neg %s : f32[Query:64, Key:128] #0\n",
      second = "%t0 = mma Depth %p1, %v : f32[Query:64, Key:128] #0\nmma_commit\n%t, %p2 = mma_wait 0 %t0, %p1\n";
  CHECK(end_of(kProducer, first + second) == "none");
  CHECK(end_of(kProducer, first + use + "mma_fence\n" + second) == "none");
  for (const std::string& order : {first + use + second, first + "mma_fence\n" + use + second}) {
    const std::string text = end_of(kProducer, order);
    CAPTURE(text);
    CHECK(has(text, "op 'mma'"));
    CHECK(has(text, "in consumer 0: may write registers that were in use after the last mma_fence"));
  }
}

TEST_CASE("a copy into shared memory lands before its block ends") {
  CHECK(end_of(kProducer, kWait) == "none");  // not read, but known to have landed
  CHECK(end_of(kProducer + kWait, "") == "none");
  CHECK(end_of("", "") == "none");
  CHECK(end_of(kProducer, "") == "nobody has waited for the copy for ticket 0 of %ks");
}

TEST_CASE("the blocks of a launch share its programs, on one thread too") {
  const Kernel kernel = parse(R"(kernel turns placed grid(Query:16, Head:1) threads 128 {
  param y: out f32[Query]
  layout #0 {reg 1 | lane 16*Query:1 2 | warp 4}
  programs {
    ^(%turn)
    %0 = program_id Query : i32
    %row = mul %0, 16 : i32
    %1 = cast %turn : f32
    %2 = broadcast %1 : f32[Query:16] #0
    store y(%row), %2
    yield
  }
}
)");
  // Each program's place among those of its block.
  const auto turns = [&](std::int64_t programs, int threads) {
    std::vector<float> y(static_cast<std::size_t>(16 * programs), -1), first;
    const View view = View::contiguous(y.data(), DType::f32, {1, 16 * programs});
    interpret(kernel, ir::bind(kernel, {view}), {.threads = threads});
    for (std::size_t i = 0; i < y.size(); i += 16) first.push_back(y[i]);
    return first;
  };
  CHECK(turns(5, 1) == std::vector<float>{0, 1, 2, 0, 1});
  CHECK(turns(1, 1) == std::vector<float>{0});
  for (int threads : {2, 3, 4, 7}) {
    CAPTURE(threads);
    std::vector<float> taken = turns(9, threads);
    CHECK(*std::max_element(taken.begin(), taken.end()) < (9 + threads - 1) / threads);
    CHECK(*std::min_element(taken.begin(), taken.end()) == 0);
  }
}

TEST_CASE("rows of a slot belong to who writes them, and to a send until it has read them") {
  using namespace tessera::ir::interp;
  SharedMemory shared(2);
  const Agent one{0, "one"}, two{1, "two"};
  const Axis rows = Axis::named("Query"), columns = Axis::named("Value");
  const Type ring{.kind = TypeKind::shared, .dtype = DType::bf16, .dims = {{rows, 128}, {columns, 64}}};
  const Type half{.kind = TypeKind::view, .dtype = DType::bf16, .dims = {{rows, 64}, {columns, 64}}};
  const int o = shared.add_ring("%o", ring);
  const interp::Tile tile = interp::Tile::number(DType::bf16, 1, half.dims);
  interp::Tile sent;
  CHECK(shared.send(one, o, 0, {0, 0}, half, sent) ==
        "sends rows from 0 on of %o, which this warpgroup has not written as one tile");
  CHECK(shared.write(one, o, 0, {0, 0}, tile) == "");
  CHECK(shared.write(two, o, 0, {63, 0}, tile) ==
        "writes rows from 63 on of slot 0 of %o, which belong to another warpgroup");
  CHECK(shared.write(two, o, 0, {64, 0}, tile) == "");
  CHECK(shared.send(one, o, 0, {64, 0}, half, sent) ==
        "sends rows from 64 on of %o, which this warpgroup has not written as one tile");
  CHECK(shared.send(one, o, 0, {0, 0}, half, sent) == "");
  CHECK(shared.write(one, o, 0, {0, 0}, tile) ==
        "writes rows from 0 on of slot 0 of %o while a send may still read them");
  shared.end_sends(two);
  CHECK(shared.write(one, o, 0, {0, 0}, tile) ==
        "writes rows from 0 on of slot 0 of %o while a send may still read them");
  shared.end_sends(one);
  CHECK(shared.write(one, o, 0, {0, 0}, tile) == "");
  const int b = shared.add_barrier("%b", {.kind = TypeKind::barrier, .dtype = DType::i32, .arrivals = 1});
  CHECK(shared.fill(one, o, 0, tile, b, 0) == "fills slot 0 of %o, which warpgroups write");
  const int k = shared.add_ring("%k", ring);
  CHECK(shared.fill(one, k, 0, tile, b, 0) == "");
  CHECK(shared.write(one, k, 0, {0, 0}, tile) == "writes rows from 0 on of slot 0 of %k, which copies fill");
}

TEST_CASE("barriers count phases, and refuse what hardware would miscount") {
  using namespace tessera::ir::interp;
  SharedMemory shared(2);
  Agent one{0, "one"}, two{1, "two"};
  const Type type{.kind = TypeKind::barrier, .dtype = DType::i32, .dims = {}, .stages = 1, .arrivals = 2};
  const int b = shared.add_barrier("%b", type);
  bool passed = false;
  CHECK(shared.wait(one, b, 0, 1, passed) == "");
  CHECK(passed);  // a fresh barrier: the phase before the first is complete
  CHECK(shared.wait(one, b, 0, 0, passed) == "");
  CHECK(!passed);
  CHECK(shared.arrive(one, b, 0, 0) == "");
  CHECK(shared.leftover({}) ==
        "barrier %b is left in the middle of a phase: phase 0 of slot 0 has 1 of 2 arrivals and 0 of 0 bytes");
  CHECK(shared.arrive(one, b, 1, 0) ==
        "ticket 1 of barrier %b belongs to phase 1, but phase 0 of slot 0 has 1 of 2 arrivals and 0 of 0 bytes");
  CHECK(shared.arrive(two, b, 0, 0) == "");
  CHECK(shared.leftover({}) == "");
  CHECK(shared.wait(two, b, 0, 0, passed) == "");
  CHECK(passed);
  CHECK(shared.arrive(two, b, 0, 0).find("ticket 0 of barrier %b belongs to phase 0, but phase 1") == 0);
  CHECK(both({shared.arrive(one, b, 1, 0), shared.arrive(two, b, 1, 0)}) == "");
  CHECK(shared.wait(one, b, 0, 0, passed).find("by its parity, that phase is not complete") != std::string::npos);
  CHECK(shared.wait(one, b, -1, 0, passed) == "ticket -1 of barrier %b is negative");
}

TEST_CASE("a slot is refilled only after all who read it are known to have") {
  using namespace tessera::ir::interp;
  SharedMemory shared(3);
  Agent writer{0, "writer"}, first{1, "first"}, second{2, "second"};
  for (Agent* agent : {&writer, &first, &second}) agent->clock.raise(agent->number, 1);
  const Axis row = Axis::named("Row");
  const Type ring_type{.kind = TypeKind::shared, .dtype = DType::bf16, .dims = {{row, 64}}};
  const int ring = shared.add_ring("%r", ring_type);
  const int full = shared.add_barrier("%full", {.kind = TypeKind::barrier, .dtype = DType::i32, .arrivals = 1});
  // One arrival only, so that the second reader is not waited for: right by luck of timing, wrong by any other.
  const int empty = shared.add_barrier("%empty", {.kind = TypeKind::barrier, .dtype = DType::i32, .arrivals = 1});
  const Tile tile = Tile::number(DType::bf16, 1, {{row, 64}});
  bool passed = false;
  CHECK(shared_bytes(ring_type) == 128);
  CHECK(shared.may_read(first, ring, 0) == "reads ticket 0 of %r, but slot 0 was never filled");
  CHECK(both({shared.arrive(writer, full, 0, 128), shared.fill(writer, ring, 0, tile, full, 0)}) == "");
  for (Agent* reader : {&first, &second}) {
    CHECK(shared.may_read(*reader, ring, 0).find("without waiting for its copy") != std::string::npos);
    CHECK(both({shared.wait(*reader, full, 0, 0, passed), shared.may_read(*reader, ring, 0)}) == "");
    shared.begin_read(*reader, ring, 0);
  }
  CHECK(shared.fill(writer, ring, 1, tile, full, 1).find("while the copy for ticket 0 may still be in flight") !=
        std::string::npos);
  shared.end_read(first, ring, 0);
  CHECK(both({shared.arrive(first, empty, 0, 0), shared.wait(writer, empty, 0, 0, passed)}) == "");
  CHECK(shared.fill(writer, ring, 1, tile, full, 1) ==
        "fills slot 0 of %r for ticket 1 while a product still reads ticket 0");
  shared.end_read(second, ring, 0);
  CHECK(shared.fill(writer, ring, 1, tile, full, 1) ==
        "fills slot 0 of %r for ticket 1 without waiting until ticket 0 was read");
  CHECK(both({shared.arrive(second, empty, 1, 0), shared.wait(writer, empty, 1, 0, passed)}) == "");
  CHECK(both({shared.arrive(writer, full, 1, 128), shared.fill(writer, ring, 1, tile, full, 1)}) == "");
  CHECK(shared.may_read(first, ring, 0) == "reads ticket 0 of %r, but slot 0 was overwritten for ticket 1");
}
