#include "backend/tiled_kernels.h"

#include <cmath>

namespace tessera::test {

using namespace ir;

namespace {

const Axis query = Axis::named("Query"), key = Axis::named("Key"), depth = Axis::named("Depth"),
           value = Axis::named("Value"), head = Axis::named("Head"), batch = Axis::named("Batch");

Kernel named(const char* name, std::vector<Dim> grid) {
  Kernel kernel;
  kernel.name = name;
  kernel.stage = Stage::tiled;
  for (const Dim& d : grid) kernel.grid.push_back(d.axis);
  kernel.grid_tiles = std::move(grid);
  return kernel;
}

Param tensor(const char* name, ParamKind kind, DType dtype, std::vector<Axis> axes) {
  const int rank = static_cast<int>(axes.size());
  return {name, kind, dtype, std::move(axes), rank};
}

Value ceil_div(Builder& b, Value n, int by) { return b.div(b.add(n, by - 1), by); }

}  // namespace

Kernel tiled_matmul() {
  const Axis row = Axis::named("Row"), column = Axis::named("Column"), inner = Axis::named("Inner");
  Kernel k = named("matmul", {{row, 128}, {column, 64}});
  k.params = {tensor("a", ParamKind::input, DType::bf16, {row, inner}),
              tensor("b", ParamKind::input, DType::bf16, {inner, column}),
              tensor("c", ParamKind::output, DType::f32, {row, column})};
  Builder b(k, k.entry);
  const Value r = b.mul(b.program_id(row), 128), c = b.mul(b.program_id(column), 64);
  const std::vector<Value> init{b.constant(0, Type::tile(DType::f32, {{row, 128}, {column, 64}}))};
  const std::vector<std::string> names{"acc"};
  const auto acc = b.loop(
      b.constant(0), ceil_div(b, b.length(inner), 64), init, names, [&](Builder& in, std::span<const Value> args) {
        const Value at = in.mul(args[0], 64);
        const Value left = in.load(0, Type::tile(DType::bf16, {{row, 128}, {inner, 64}}), std::vector{r, at});
        const Value right = in.load(1, Type::tile(DType::bf16, {{inner, 64}, {column, 64}}), std::vector{at, c});
        return std::vector{in.dot(left, right, args[1])};
      });
  b.store(2, acc[0], std::vector{r, c});
  return k;
}

Kernel tiled_attention(AttentionShape s) {
  Kernel k = named("attention", {{query, s.query_tile}, {head, 1}, {batch, 1}});
  k.whole = {{depth, s.head_dim}, {value, s.value_dim}};
  k.params = {tensor("q", ParamKind::input, DType::bf16, {query, depth}),
              tensor("k", ParamKind::input, DType::bf16, {key, depth}),
              tensor("v", ParamKind::input, DType::bf16, {key, value}),
              tensor("o", ParamKind::output, DType::bf16, {query, value}),
              tensor("lse", ParamKind::output, DType::f32, {query})};
  if (s.documents)
    k.params.push_back({.name = "document", .kind = ParamKind::table, .dtype = DType::i32, .axes = {}, .rank = 1});
  const Dim rows{query, s.query_tile}, keys{key, s.key_tile}, d{depth, (s.head_dim + 15) / 16 * 16},
      dv{value, (s.value_dim + 7) / 8 * 8};
  const auto f32_tile = [](std::vector<Dim> dims) { return Type::tile(DType::f32, std::move(dims)); };

  Builder b(k, k.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), s.query_tile);
  const Value q = b.load(0, Type::tile(DType::bf16, {rows, d}), std::vector{row, zero});
  const Value length = b.length(key);
  const std::vector<std::string> names{"row_max", "row_sum", "acc"};
  const auto allowed = [&](Builder& in, Value at) {
    const Value position = in.add(in.iota(keys), at), inside = in.binary(OpCode::lt, position, length);
    if (!s.documents) return inside;
    const Value mine = in.gather(5, DType::i32, std::vector{in.add(in.iota(rows), row)}),
                theirs = in.gather(5, DType::i32, std::vector{position});
    return in.binary(OpCode::logical_and, in.binary(OpCode::eq, mine, theirs), inside);
  };
  const auto step = [&](bool partial) {
    return [&, partial](Builder& in, std::span<const Value> args) {
      const Value at = in.mul(args[0], s.key_tile);
      const Value counts = partial ? allowed(in, at) : Value();
      const Value kt = in.load(1, Type::tile(DType::bf16, {keys, d}), std::vector{at, zero});
      Value x = in.binary(OpCode::mul, in.dot(q, kt), in.constant(0.18, Type::scalar(DType::f32)));
      if (partial)
        x = in.append_value(OpCode::select, {counts, x, in.constant(-INFINITY, Type::scalar(DType::f32))},
                            f32_tile({rows, keys}));
      const Value m = in.max(args[1], in.reduce(OpCode::reduce_max, x, key));
      const Value r = in.unary(OpCode::exp2, in.sub(args[1], m));
      const Value p = in.unary(OpCode::exp2, in.sub(x, m));
      const Value l = in.add(in.mul(args[2], r), in.reduce(OpCode::reduce_sum, p, key));
      const Value vt = in.load(2, Type::tile(DType::bf16, {keys, dv}), std::vector{at, zero});
      const Value acc = in.dot(in.cast(p, DType::bf16), vt, in.mul(args[3], r));
      return std::vector{m, l, acc};
    };
  };
  const Value full = b.mul(b.div(length, s.key_tile * s.partial_tiles), s.partial_tiles);
  auto state = std::vector{b.constant(-1e30, f32_tile({rows})), b.constant(0, f32_tile({rows})),
                           b.constant(0, f32_tile({rows, dv}))};
  state = b.loop(full, ceil_div(b, length, s.key_tile), state, names, step(true));
  state = b.loop(zero, full, state, names, step(false));
  const Value live = b.binary(OpCode::gt, state[1], b.constant(0, Type::scalar(DType::f32)));
  const Value o = b.select(live, b.binary(OpCode::div, state[2], state[1]), b.constant(0, Type::scalar(DType::f32)));
  b.store(3, b.cast(o, DType::bf16), std::vector{row, zero});
  const Value lse =
      b.mul(b.add(state[0], b.unary(OpCode::log2, state[1])), b.constant(0.6931471805599453, Type::scalar(DType::f32)));
  b.store(4, lse, std::vector{row});
  return k;
}

Kernel tiled_pairs() {
  Kernel k = named("pairs", {{query, 64}, {head, 1}});
  k.whole = {{depth, 64}};
  k.params = {tensor("q", ParamKind::input, DType::bf16, {query, depth}),
              tensor("k", ParamKind::input, DType::bf16, {value, depth}),
              tensor("y", ParamKind::output, DType::f32, {query, value})};
  const Dim rows{query, 64}, d{depth, 64}, columns{value, 32};
  Builder b(k, k.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), 64);
  const Value q = b.load(0, Type::tile(DType::bf16, {rows, d}), std::vector{row, zero});
  const std::vector<Value> init{b.constant(0, Type::tile(DType::f32, {rows, columns}))};
  const std::vector<std::string> names{"acc"};
  const auto acc =
      b.loop(zero, ceil_div(b, b.length(value), 64), init, names, [&](Builder& in, std::span<const Value> args) {
        const Value at = in.mul(args[0], 64);
        const Value even = in.load(1, Type::tile(DType::bf16, {columns, d}), std::vector{at, zero});
        const Value odd = in.load(1, Type::tile(DType::bf16, {columns, d}), std::vector{in.add(at, 32), zero});
        return std::vector{in.dot(q, odd, in.dot(q, even, args[1]))};
      });
  b.store(2, acc[0], std::vector{row, zero});
  return k;
}

Kernel tiled_branch(bool on_tiles) {
  Kernel k = named("branch", {{query, 64}, {head, 1}});
  k.whole = {{value, 32}};
  k.params = {tensor("a", ParamKind::input, DType::bf16, {query, key}),
              tensor("b", ParamKind::input, DType::bf16, {key, value}),
              tensor("gate", ParamKind::input, DType::f32, {query}),
              tensor("c", ParamKind::output, DType::f32, {query, value})};
  const Dim rows{query, 64}, inner{key, 64}, columns{value, 32};
  Builder b(k, k.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), 64);
  const Value gate = b.load(2, Type::tile(DType::f32, {rows}), std::vector{row});
  const Value open =
      b.reduce(OpCode::reduce_any, b.binary(OpCode::gt, gate, b.constant(0, Type::scalar(DType::f32))), query);
  const std::vector<Value> init{b.constant(0, Type::tile(DType::f32, {rows, columns}))};
  const std::vector<std::string> names{"acc"};
  const auto acc =
      b.loop(zero, ceil_div(b, b.length(key), 64), init, names, [&](Builder& in, std::span<const Value> args) {
        const Value at = in.mul(args[0], 64);
        const Value left = in.load(0, Type::tile(DType::bf16, {rows, inner}), std::vector{row, at});
        const Value taken = on_tiles ? open : in.binary(OpCode::lt, args[0], in.constant(3));
        const std::vector<Value> state{args[1]};
        return in.when(taken, state, names, [&](Builder& then, std::span<const Value> carried) {
          const Value right = then.load(1, Type::tile(DType::bf16, {inner, columns}), std::vector{at, zero});
          return std::vector{then.dot(left, right, carried[0])};
        });
      });
  b.store(3, acc[0], std::vector{row, zero});
  return k;
}

Kernel tiled_rows() {
  Kernel k = named("rows", {{query, 16}, {head, 1}});
  k.whole = {{depth, 64}};
  k.params = {tensor("x", ParamKind::input, DType::f32, {query, depth}),
              tensor("y", ParamKind::output, DType::f32, {query, depth})};
  Builder b(k, k.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), 16);
  const Value x = b.load(0, Type::tile(DType::f32, {{query, 16}, {depth, 64}}), std::vector{row, zero});
  const Value m = b.reduce(OpCode::reduce_max, x, depth);
  b.store(1, b.add(b.mul(x, b.constant(2, Type::scalar(DType::f32))), m), std::vector{row, zero});
  return k;
}

}  // namespace tessera::test
