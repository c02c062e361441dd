// Forward attention as it is traced, and running it over host tensors.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/mask/planner.h>

#include "dsl/mask/at_points.h"
#include "support/reference.h"
#include "support/tensor.h"

namespace tessera::testing {

inline constexpr const char* kForward = R"(kernel forward traced grid(Query, Head, Batch) {
  param q: in f32[Query, Depth]
  param k: in f32[Key, Depth]
  param v: in f32[Key, Value]
  param o: out f32[Query, Value]
  param lse: out f32[Query]
  param scale: scalar f32
%PARAMS%  function @0 everything(q, k, head, batch, query_length, key_length) {
    yield true
  }
  %q = load q : f32[Query, Depth]
  %scale = scalar scale : f32
  %lowest = constant -1e+30 : f32[Query]
  %zero = constant 0 : f32[Query]
  %none = constant 0 : f32[Query, Value]
%BOUND%  %row_max.1, %row_sum.1, %acc.1 = over Key mask @0%OVER% (%row_max = %lowest, %row_sum = %zero, %acc = %none) {
    ^(%t: tile Key)
    %k = load k(%t) : f32[Key, Depth]
    %s = dot Depth %q, %k : f32[Query, Key]
    %factor = mul %scale, 1.44269502 : f32
    %scaled = mul %s, %factor : f32[Query, Key]
    %allowed = allowed @0 %t : i1[Query, Key]
    %masked = constant -inf : f32[Query, Key]
    %x = select %allowed, %scaled, %masked : f32[Query, Key]
    %tile_max = reduce_max Key %x : f32[Query]
    %m = max %row_max, %tile_max : f32[Query]
    %less = sub %row_max, %m : f32[Query]
    %r = exp2 %less : f32[Query]
    %shifted = sub %x, %m : f32[Query, Key]
    %p = exp2 %shifted : f32[Query, Key]
    %kept = mul %row_sum, %r : f32[Query]
    %tile_sum = reduce_sum Key %p : f32[Query]
    %l = add %kept, %tile_sum : f32[Query]
    %faded = mul %acc, %r : f32[Query, Value]
    %p16 = cast %p : f32[Query, Key]
    %v = load v(%t) : f32[Key, Value]
    %pv = dot Key %p16, %v : f32[Query, Value]
    %a = add %faded, %pv : f32[Query, Value]
    yield %m, %l, %a
  }
  %live = gt %row_sum.1, %zero : i1[Query]
  %mean = div %acc.1, %row_sum.1 : f32[Query, Value]
  %out = select %live, %mean, %none : f32[Query, Value]
  %out16 = cast %out : f32[Query, Value]
  store o(), %out16
  %log = log2 %row_sum.1 : f32[Query]
  %sum = add %row_max.1, %log : f32[Query]
  %ln2 = constant 0.693147182 : f32[Query]
  %lse = mul %sum, %ln2 : f32[Query]
  store lse(), %lse
}
)";

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  return text;
}

// `bounded`: keys end at key_lengths[batch].
inline ir::Kernel forward(const mask::Pointwise& mask, bool bounded = false) {
  std::string text = replaced(kForward, "%PARAMS%", bounded ? "  param key_lengths: table i32 rank 1\n" : "");
  text = replaced(text, "%BOUND%",
                  bounded ? "  %batch = program_id Batch : i32\n  %bound = gather key_lengths(%batch) : i32\n" : "");
  ir::Kernel kernel = ir::parse(replaced(text, "%OVER%", bounded ? " bound %bound" : ""));
  kernel.functions = {mask.function};
  return kernel;
}

struct Run {
  std::vector<double> o, lse;
  bool guards = true;
};

struct Inputs {
  test::TestTensor q, k, v;
  // f32, so that tiling shows and rounding does not.
  Inputs(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t queries, std::int64_t keys,
         int depth, int value)
      : q(DType::f32, {batch, heads, queries, depth}),
        k(DType::f32, {batch, kv_heads, keys, depth}),
        v(DType::f32, {batch, kv_heads, keys, value}) {
    q.fill_normal(1), k.fill_normal(2), v.fill_normal(3);
  }
};

// Arguments in the order of a call, traced or tiled: the kernel's own, the mask's captures, the plan's list. Tensors
// lie as [Batch, Head, ...] in memory, whatever the order of the grid.
inline Run run(const ir::Kernel& kernel, Inputs& in, const mask::Pointwise& mask, const mask::PlanRequest& request,
               const mask::Plan* plan) {
  const std::vector<std::int64_t>& shape = in.q.shape();
  test::TestTensor o(DType::f32, {shape[0], shape[1], shape[2], in.v.shape()[3]}),
      lse(DType::f32, {shape[0], shape[1], shape[2]});
  o.poison(), lse.poison();
  const bool heads_outermost = ir::outer_axes(kernel).at(0) == ir::Axis::named("Head");
  std::vector<ir::Argument> arguments;
  for (View view : {in.q.view(), in.k.view(), in.v.view(), o.view(), lse.view()}) {
    if (heads_outermost) std::swap(view.shape[0], view.shape[1]), std::swap(view.strides[0], view.strides[1]);
    arguments.push_back(std::move(view));
  }
  arguments.push_back(1 / std::sqrt(double(shape[3])));
  std::vector<std::int32_t> lengths(request.key_lengths.begin(), request.key_lengths.end());
  const auto table = [](const std::int32_t* data, std::vector<std::int64_t> shape) {
    return View::contiguous(const_cast<std::int32_t*>(data), DType::i32, std::move(shape));
  };
  if (!lengths.empty()) arguments.push_back(table(lengths.data(), {static_cast<std::int64_t>(lengths.size())}));
  for (std::size_t i = 0; i < mask.captures.size(); ++i) {
    const mask::Capture& c = mask.captures[i];
    double value = c.value;
    for (const mask::NamedScalar& s : request.scalars)
      if (s.name == mask.function.params[i].name) value = s.value;
    if (c.table)
      arguments.push_back(View::contiguous(const_cast<void*>(c.table->data()), c.table->dtype(), c.table->shape()));
    else
      arguments.push_back(value);
  }
  for (std::size_t i = 0; plan && i < plan->passes[0].sources.size(); ++i) {
    const auto* list = std::get_if<mask::TileList>(&plan->passes[0].sources[i].schedule);
    if (!list) continue;
    static const std::int32_t none = 0;  // a table has an address
    constexpr std::int64_t fields = mask::TileList::kFields;
    const auto size = static_cast<std::int64_t>(list->tiles.size());
    arguments.push_back(table(list->rows.data(), {static_cast<std::int64_t>(list->rows.size()) / fields, fields}));
    arguments.push_back(table(size ? list->tiles.data() : &none, {std::max<std::int64_t>(size, 1)}));
    if (!list->class_of.empty()) arguments.push_back(table(list->class_of.data(), {request.batch, request.heads}));
  }
  ir::interpret(kernel, ir::bind(kernel, arguments), {.threads = 2, .traced_tile = 64});
  return {o.values(), lse.values(), o.guards_intact() && lse.guards_intact()};
}

inline test::Problem attention_problem(const Inputs& in, const mask::Pointwise& mask, const mask::PlanRequest& r) {
  test::Problem p;
  p.q = &in.q, p.k = &in.k, p.v = &in.v, p.scale = 1 / std::sqrt(double(in.q.shape()[3]));
  p.key_lengths = r.key_lengths;
  p.allowed = [&r, allows = at_points(mask, r.scalars)](const test::Pair& x) {
    return allows({x.q, x.k, x.head, x.batch, r.query_length, r.key_length});
  };
  return p;
}

// fp64 attention, within the rounding of f32; rows without keys exactly.
inline bool is_attention(const Run& got, const test::Problem& problem) {
  const test::Result exact = test::attention_fp64(problem);
  return got.guards && test::max_difference(got.o, exact.o) <= 2e-5 && test::max_difference(got.lse, exact.lse) <= 2e-5;
}

}  // namespace tessera::testing
