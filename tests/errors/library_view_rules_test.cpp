// A tensor that a call leaves out.
#include <vector>

#include <doctest/doctest.h>

#include <tessera/attention.h>

#include "support/refusal.h"

using namespace tessera;

TEST_CASE("a call that leaves out a tensor names it and what it has to be") {
  alignas(16) static std::uint16_t memory[3][8 * 16];
  const auto view = [](int i) { return View::contiguous(memory[i], bf16, {1, 1, 8, 16}); };
  Attention attend({.mask = causal, .dtype = bf16, .head_dim = 16});
  const auto refused = [&](View AttentionCall::* left_out) {
    AttentionCall call{.q = view(0), .k = view(0), .v = view(1), .o = view(2)};
    call.*left_out = View{};
    return test::refusal_in(__FILE__, [&] { attend(call); });
  };
  const std::string remedy = " a View of bf16 and the shape [batch, heads, length, dim]";
  CHECK(refused(&AttentionCall::q) == "error: q is not set; note: give q" + remedy);
  CHECK(refused(&AttentionCall::k) == "error: k is not set; note: give k" + remedy);
  CHECK(refused(&AttentionCall::v) == "error: v is not set; note: give v" + remedy);
  CHECK(refused(&AttentionCall::o) == "error: o is not set; note: give o" + remedy);
  CHECK(refused(&AttentionCall::lse) == "not refused");
}
