#include <doctest/doctest.h>

#include <string>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::test;

namespace {

struct Call {
  Call(std::int64_t queries, std::int64_t keys, std::int64_t heads = 1, std::int64_t kv_heads = 1)
      : q(DType::bf16, 1, heads, queries, 64), k(DType::bf16, 1, kv_heads, keys, 64), v(DType::bf16, 1, kv_heads, keys, 64),
        o(DType::bf16, 1, heads, queries, 64), lse(DType::f32, 1, heads, queries, 1) {
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
      {Fault::arrive_too_early, "op 'copy' in producer 0", "fills slot 0 of %ks for ticket 2 without waiting until ticket 0 was read"},
      {Fault::wrong_ticket, "op 'mma' in consumer 0", "reads ticket 2 of %ks, but slot 0 still holds ticket 0"},
      {Fault::no_mma_wait, "op 'mul' in consumer 0", "uses %s0, the result of product group 1, but only groups up to 0"},
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
  CHECK(has(starved, "producer 0 waits for phase 0 of barrier %k_empty (ticket 2): phase 0 of slot 0 has 0 of 2 arrivals"));
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
