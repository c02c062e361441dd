#include <doctest/doctest.h>

#include <array>
#include <string>

#include <tessera/dsl/ir/interpret_shared.h>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"

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
  try {
    call.run(placed_attention(fault));
  } catch (const InternalError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find("\nkernel "));
  }
  return "none";
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
  CHECK(shared.leftover() ==
        "barrier %b is left in the middle of a phase: phase 0 of slot 0 has 1 of 2 arrivals and 0 of 0 bytes");
  CHECK(shared.arrive(one, b, 1, 0) ==
        "ticket 1 of barrier %b belongs to phase 1, but phase 0 of slot 0 has 1 of 2 arrivals and 0 of 0 bytes");
  CHECK(shared.arrive(two, b, 0, 0) == "");
  CHECK(shared.leftover() == "");
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
