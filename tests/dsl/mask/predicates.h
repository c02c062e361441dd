// Predicates for tests, written with operators: `predicate([](Args& a) { return a.k <= a.q; })`.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::testing {

// A scalar of the function being built.
struct Expr {
  ir::Builder* into = nullptr;
  ir::Value value{};
};

inline Expr number(const Expr& like, double x) {
  return {like.into, like.into->constant(x, like.into->type(like.value))};
}
inline Expr apply(ir::OpCode op, Expr a, Expr b) { return {a.into, a.into->binary(op, a.value, b.value)}; }
inline Expr apply(ir::OpCode op, Expr a) { return {a.into, a.into->unary(op, a.value)}; }

#define TESSERA_TEST_BINARY(sign, op)                                                            \
  inline Expr operator sign(Expr a, Expr b) { return apply(ir::OpCode::op, a, b); }              \
  inline Expr operator sign(Expr a, double b) { return apply(ir::OpCode::op, a, number(a, b)); } \
  inline Expr operator sign(double a, Expr b) { return apply(ir::OpCode::op, number(b, a), b); }
TESSERA_TEST_BINARY(+, add)
TESSERA_TEST_BINARY(-, sub)
TESSERA_TEST_BINARY(*, mul)
TESSERA_TEST_BINARY(/, div)
TESSERA_TEST_BINARY(%, mod)
TESSERA_TEST_BINARY(<, lt)
TESSERA_TEST_BINARY(<=, le)
TESSERA_TEST_BINARY(>, gt)
TESSERA_TEST_BINARY(>=, ge)
TESSERA_TEST_BINARY(==, eq)
TESSERA_TEST_BINARY(!=, ne)
#undef TESSERA_TEST_BINARY
inline Expr operator&(Expr a, Expr b) { return apply(ir::OpCode::logical_and, a, b); }
inline Expr operator|(Expr a, Expr b) { return apply(ir::OpCode::logical_or, a, b); }
inline Expr operator!(Expr a) { return apply(ir::OpCode::logical_not, a); }
inline Expr abs(Expr a) { return apply(ir::OpCode::abs, a); }
inline Expr min(Expr a, Expr b) { return apply(ir::OpCode::min, a, b); }
inline Expr max(Expr a, Expr b) { return apply(ir::OpCode::max, a, b); }
inline Expr where(Expr c, Expr a, Expr b) { return {a.into, a.into->select(c.value, a.value, b.value)}; }

using Table = std::shared_ptr<const mask::TableData>;

inline Table table(std::vector<std::int32_t> values) {
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  return mask::TableData::make(std::move(values), {size});
}

// The arguments of a predicate, and what it may capture.
struct Args {
  Expr q, k, head, batch, query_length, key_length;
  mask::Pointwise* out;

  Expr scalar(const std::string& name, double value) {
    for (std::size_t i = 0; i < out->function.params.size(); ++i)
      if (out->function.params[i].name == name) return {q.into, q.into->scalar(static_cast<int>(i), DType::i32)};
    const int index =
        capture({.name = name, .kind = ir::ParamKind::scalar, .dtype = DType::i32, .axes = {}}, {nullptr, value});
    return {q.into, q.into->scalar(index, DType::i32)};
  }
  // `data` null: given at the call.
  Expr read(const std::string& name, const Table& data, std::vector<Expr> at, DType dtype = DType::i32) {
    int index = -1;
    for (std::size_t i = 0; i < out->function.params.size(); ++i)
      if (out->function.params[i].name == name) index = static_cast<int>(i);
    if (index < 0)
      index = capture({.name = name,
                       .kind = ir::ParamKind::table,
                       .dtype = data ? data->dtype() : dtype,
                       .axes = {},
                       .rank = static_cast<int>(at.size())},
                      {data, 0});
    std::vector<ir::Value> indices;
    for (const Expr& e : at) indices.push_back(e.value);
    return {q.into, q.into->gather(index, out->function.params[index].dtype, indices)};
  }

 private:
  int capture(ir::Param param, mask::Capture c) {
    out->function.params.push_back(std::move(param));
    out->captures.push_back(std::move(c));
    return static_cast<int>(out->captures.size()) - 1;
  }
};

template <class Body>
mask::Pointwise predicate(const std::string& name, const Body& body) {
  mask::Pointwise out;
  out.function.name = name;
  ir::Graph& graph = out.function.graph;
  for (const char* argument : {"q", "k", "head", "batch", "query_length", "key_length"})
    graph.entry.args.push_back(graph.add_value(ir::Type::scalar(DType::i32), argument));
  ir::Builder builder(graph, graph.entry);
  const auto at = [&](int i) { return Expr{&builder, graph.entry.args[i]}; };
  Args args{at(0), at(1), at(2), at(3), at(4), at(5), &out};
  const ir::Value result = body(args).value;
  builder.yield({&result, 1});
  return out;
}

// The patterns of the library, and a few beyond its closed forms.
struct NamedMask {
  const char* name;
  mask::Pointwise mask;
  bool closed_form;  // spans are expected, and expected to equal the tile map
};
std::vector<NamedMask> catalogue(std::int64_t query_length, std::int64_t key_length);

}  // namespace tessera::testing
