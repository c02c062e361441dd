// What only tracing can know: each refusal with the user's file and line.
#include <doctest/doctest.h>

#include <tessera/dsl/lang/lang.h>
#include <tessera/library/forward.h>

#include "support/expect_error.h"

// The tests say how many lines below them the error is.
// clang-format off
using namespace tessera;
using test::expect_user_error;

namespace {

template <class Stage>
struct Args {
  TESSERA_STRUCT(Args, (In<Stage, f32, Query, Depth>, q), (In<Stage, f32, Key, Depth>, k), (Out<Stage, f32, Query>, o),
                 (Lookup<Stage, i32, 1>, lengths));
};

template <class F>
auto tracing(F body) {
  return [body] { kernel(grid<Query, Batch>, body).named("sums").trace(); };
}

}  // namespace

TEST_CASE("a tile outside a trace") {
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Tile<f32, Query> x = 0.0;
    (void)x;
  }, "a Tile can only be made while a kernel is being traced",
    "move this into the lambda given to kernel(...), Mask or Score");
  const int line = __LINE__ + 1;
  expect_user_error(__FILE__, line, [] { positions<Query>(); },
    "a Tile can only be made while a kernel is being traced");
}

TEST_CASE("a mask called in a kernel") {
  const Mask near = [](Position q, Position k) { return q - k < 4; };
  const int line = __LINE__ + 2;
  expect_user_error(__FILE__, line, tracing([near](Args<traced> a) {
    near(index<Batch>(), 0, At{0, 0, 0, 0});
    store(a.o, reduce_sum<Depth>(load(a.q)));
  }), "a Mask is called in a kernel", "kernels walk masks: over<Key>(mask, ...)");
}

TEST_CASE("a tile of another trace") {
  std::vector<Tile<f32, Query>> kept;
  tracing([&](Args<traced> a) {
    kept.push_back(reduce_sum<Depth>(load(a.q)));
    store(a.o, kept[0]);
  })();
  int line = 0;
  auto again = tracing([&](Args<traced> a) { line = __LINE__; store(a.o, kept[0] + 1); });
  try { again(); } catch (const UserError&) {}
  expect_user_error(__FILE__, line, again, "a value of another trace is used here", "lives inside the lambda");
}

TEST_CASE("a position of a mask in a kernel") {
  int line = 0;
  expect_user_error(__FILE__, __LINE__ + 3, tracing([&](Args<traced> a) {
    std::vector<Position> kept;
    Mask m = [&](Position q, Position k) { kept.push_back(q); return k <= q; };
    line = __LINE__; store(a.o, reduce_sum<Depth>(load(a.q)) + cast<f32>(kept[0]));
  }), "a value of another trace is used here");
}

TEST_CASE("a tile that leaves its loop") {
  expect_user_error(__FILE__, __LINE__ + 5, tracing([](Args<traced> a) {
    Tile<f32, Query> sum = 0;
    loop<Key>([&](KeyTile t) {
      sum += reduce_sum<Key>(dot(cast<f16>(load(a.q)), cast<f16>(load(a.k, t))));
    });
    store(a.o, sum);
  }), "a Tile made inside the body of a loop or when is used after it", "make it a field of the carried state");
}

TEST_CASE("an output stored twice") {
  expect_user_error(__FILE__, __LINE__ + 3, tracing([](Args<traced> a) {
    Tile<f32, Query> sum = reduce_sum<Depth>(load(a.q));
    store(a.o, sum);
    store(a.o, sum * 2);
  }), "'o' is stored twice, first at ", "lang_trace_test.cpp:", "store once");
}

TEST_CASE("an output stored on every trip of a loop") {
  expect_user_error(__FILE__, __LINE__ + 2, tracing([](Args<traced> a) {
    loop(0, 4, [&](Tile<i32> i) {
      store(a.o, reduce_sum<Depth>(load(a.q)) * cast<f32>(i)); }); }),
    "store to 'o' inside the loop at ", "writes the same elements on every trip");
}

TEST_CASE("an output that is never stored") {
  auto program = kernel(grid<Query>, [](Args<traced> a) { load(a.q); }).named("sums"); const int line = __LINE__;
  expect_user_error(__FILE__, line, [&] { program.trace(); }, "kernel 'sums' never stores its output 'o'",
    "declare it Optional<Out<...>>");
}

TEST_CASE("a whole axis inside the loop that walks it") {
  expect_user_error(__FILE__, __LINE__ + 2, tracing([](Args<traced> a) {
    auto sum = loop<Key>(Tile<f32, Query>(0), [&](KeyTile, Tile<f32, Query> s) {
      load(a.k);
      return let(s + reduce_sum<Depth>(load(a.q)));
    });
    store(a.o, sum);
  }), "load of 'k' takes the whole axis Key, which the loop at ", "walks in tiles",
    "pass the loop's tile, as in load(a.k, t)");
}

TEST_CASE("two loops over one axis, one in the other") {
  expect_user_error(__FILE__, __LINE__ + 2, tracing([](Args<traced> a) {
    auto sum = loop<Key>(Tile<f32, Query>(0), [&](KeyTile, Tile<f32, Query> s) {
      return over<Key>(Mask(), s, [](KeyTile, Tile<f32, Query> r) { return r; });
    });
    store(a.o, sum);
  }), "a loop over the tiles of Key inside another at ", "Key would mean two different tiles");
}

TEST_CASE("a loop over a grid axis") {
  expect_user_error(__FILE__, __LINE__ + 1, tracing([](Args<traced> a) {
    auto sum = loop<Query>(Tile<f32>(0), [&](QueryTile, Tile<f32> s) { return s; });
    store(a.o, reduce_sum<Depth>(load(a.q)) + sum);
  }), "a loop over the tiles of Query, which is on the kernel's grid", "take Query off the grid");
}

TEST_CASE("a mask in a kernel without the other axis on its grid") {
  int line = 0;
  auto program = kernel(grid<Batch>, [&](Args<traced> a) {
    auto end = over<Key>(Mask(), Tile<f32, Query>(0), [&](KeyTile t, Tile<f32, Query> s) {
      line = __LINE__; return let(s + reduce_sum<Key>(cast<f32>(t.allowed)));
    });
    store(a.o, end);
  });
  try { program.trace(); } catch (const UserError&) {}
  expect_user_error(__FILE__, line, [&] { program.trace(); },
    "the mask of over<Key> needs Query on the kernel's grid, which is grid<Batch>");
}

TEST_CASE("a mask that the body does not heed") {
  const auto sum = [](auto body) {
    return tracing([=](Args<traced> a) { store(a.o, over<Key>(Mask(), Tile<f32, Query>(0), body)); });
  };
  expect_user_error(__FILE__, __LINE__ + 2, tracing([](Args<traced> a) {
    Tile<f32, Query> zero = 0;
    auto end = over<Key>(Mask(), zero, [&](KeyTile t, Tile<f32, Query> s) {
      return let(s + reduce_sum<Depth>(load(a.q)) * reduce_max<Key>(cast<f32>(positions(t))));
    });
    store(a.o, end);
  }), "the body of over<Key>(mask, ...) never reads t.allowed: in tiles that the mask allows in part, what it forbids would "
      "count as well", "choose by it: where(t.allowed, x, -inf) before a softmax, where(t.allowed, x, 0) before a sum; or "
      "say t.ignore_mask() if all of a visited tile is to count");
  expect_user_error(__FILE__, __LINE__ + 1, tracing([](Args<traced> a) {
    over<Key>(Mask(), [](KeyTile) {}); store(a.o, 0 * reduce_sum<Depth>(load(a.q))); }), "never reads t.allowed");
  // Read in a branch or in another loop of the body, or not meant.
  sum([](KeyTile t, Tile<f32, Query> s) { return let(s + reduce_sum<Key>(cast<f32>(t.allowed))); })();
  sum([](KeyTile t, Tile<f32, Query> s) {
    return when(length<Key>() > 3, s, [&](Tile<f32, Query> r) { return let(r + reduce_sum<Key>(cast<f32>(t.allowed))); });
  })();
  sum([](KeyTile t, Tile<f32, Query> s) { t.ignore_mask(); return let(s + reduce_max<Key>(cast<f32>(positions(t)))); })();
  // Another loop's tile is not this one's.
  expect_user_error(__FILE__, __LINE__ + 3, tracing([](Args<traced> a) {
    auto first = over<Key>(Mask(), Tile<f32, Query>(0), [](KeyTile t, Tile<f32, Query> s) {
      return let(s + reduce_sum<Key>(cast<f32>(t.allowed))); });
    store(a.o, over<Key>(Mask(), first, [](KeyTile, Tile<f32, Query> s) { return s; }));
  }), "never reads t.allowed");
}

TEST_CASE("no mask to ignore") {
  expect_user_error(__FILE__, __LINE__ + 2, tracing([](Args<traced> a) {
    auto end = loop<Key>(Tile<f32, Query>(0), [](KeyTile t, Tile<f32, Query> s) {
      t.ignore_mask(); return s; });
    store(a.o, end);
  }), "ignore_mask in a loop over every tile of Key, which has no mask",
    "leave it out, or walk the tiles that a mask needs: over<Key>(mask, ...)");
}

TEST_CASE("index of an axis that is tiled, or not on the grid") {
  expect_user_error(__FILE__, __LINE__ + 1, tracing([](Args<traced> a) {
    store(a.o, reduce_sum<Depth>(load(a.q)) * cast<f32>(index<Query>())); }),
    "index<Query>() of an axis that 'q' is read or written along in tiles", "use positions<Query>()");
  expect_user_error(__FILE__, __LINE__ + 1, tracing([](Args<traced> a) {
    store(a.o, reduce_sum<Depth>(load(a.q)) * cast<f32>(index<Head>())); }),
    "index<Head>() needs Head on the kernel's grid, which is grid<Query, Batch>");
}

TEST_CASE("kernel things in a mask, mask things in a kernel") {
  const Param<i32> left{"left", 3};
  expect_user_error(__FILE__, __LINE__ + 1, tracing([left](Args<traced> a) {
    store(a.o, reduce_sum<Depth>(load(a.q)) * cast<f32>(left)); }), "Param 'left' is read in a kernel",
    "give the kernel a Scalar argument");
  const Table doc(std::vector<int>{1, 2});
  expect_user_error(__FILE__, __LINE__ + 1, tracing([doc](Args<traced> a) {
    store(a.o, reduce_sum<Depth>(load(a.q)) * cast<f32>(doc[index<Batch>()])); }), "a Table is read in a kernel",
    "Lookup");
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Mask m = [](Position q, Position k) { return q < length<Key>() && k < q; }; }, "length inside a mask or score");
}

TEST_CASE("arguments that are missing or not wanted") {
  const Traced plain = forward.trace<f16>(Mask(), Scores{}, ForwardOptions{});
  const Traced with_lse = forward.trace<f16>(Mask(), Scores{}, ForwardOptions{.lse = true});
  const View v;
  ForwardArgs<bound, f16> call{.q = v, .k = v, .v = v, .o = v, .lse = {}, .scale = 1, .key_lengths = {}};
  CHECK(arguments(call, plain.kernel).size() == 5);
  expect_user_error(__FILE__, __LINE__, [&] { arguments(call, with_lse.kernel); },
    "kernel 'forward' is called without its argument 'lse'", "set .lse");
  call.lse = v;
  expect_user_error(__FILE__, __LINE__, [&] { arguments(call, plain.kernel); },
    "kernel 'forward' has no use for the argument 'lse'");
}

TEST_CASE("a kernel's name that its entry point cannot bear") {
  const auto body = [](Args<traced> a) { store(a.o, reduce_sum<Depth>(load(a.q))); };
  for (const std::string name : {"my kernel", "", "2sums", "a-b", "a.b", "caf\xc3\xa9", "\"", "a\n"}) {
    expect_user_error(__FILE__, __LINE__, [&] { kernel(grid<Query, Batch>, body).named(name); },
      "a kernel cannot be named '" + name + "'", "use letters, digits and underscores, a letter or underscore first");
    expect_user_error(__FILE__, __LINE__, [&] { kernel(name.c_str(), grid<Query, Batch>, body); },
      "a kernel cannot be named '" + name + "'");
  }
  for (const char* name : {"_", "sums2", "My_Kernel"}) {
    CHECK(kernel(grid<Query, Batch>, body).named(name).trace().kernel.name == name);
  }
}
