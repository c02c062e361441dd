#include <tessera/dsl/ir/types.h>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/ir/layout.h>

using namespace tessera;
using namespace tessera::ir;

namespace {
const Axis query = Axis::named("Query"), key = Axis::named("Key"), depth = Axis::named("Depth");
}

TEST_CASE("dtypes have sizes and names that read back") {
  struct Row {
    DType dtype;
    const char* name;
    int bytes;
    bool is_float;
  };
  for (const Row& row :
       {Row{DType::i1, "i1", 1, false}, Row{DType::i32, "i32", 4, false}, Row{DType::f16, "f16", 2, true},
        Row{DType::bf16, "bf16", 2, true}, Row{DType::f32, "f32", 4, true}}) {
    CHECK(name_of(row.dtype) == row.name);
    CHECK(dtype_named(row.name) == row.dtype);
    CHECK(bytes_of(row.dtype) == row.bytes);
    CHECK(is_float(row.dtype) == row.is_float);
  }
  CHECK_THROWS_WITH_AS(dtype_named("f64"),
                       "error: there is no element type 'f64'; note: use one of i1, i32, f16, bf16, f32", UserError);
}

TEST_CASE("axes of one name are one axis") {
  std::string name = "Que";
  name += "ry";
  CHECK(Axis::named(name) == query);
  CHECK_FALSE(query == key);
  CHECK(query.name() == "Query");
  CHECK_FALSE(Axis());
  CHECK(Axis().name().empty());
}

TEST_CASE("types print as in the text form") {
  CHECK(to_string(Type::scalar(DType::i32)) == "i32");
  CHECK(to_string(Type::tile(DType::f32, {{query, 0}, {key, 0}})) == "f32[Query, Key]");
  CHECK(to_string(Type::tile(DType::f32, {{query, 128}, {key, 80}})) == "f32[Query:128, Key:80]");
  CHECK(to_string(Type{.kind = TypeKind::index, .dims = {{key, 0}}}) == "tile Key");
  Type ring{.kind = TypeKind::shared, .dtype = DType::bf16, .dims = {{key, 128}, {depth, 64}}, .stages = 2};
  CHECK(to_string(ring) == "shared<bf16[Key:128, Depth:64] x2>");
  ring.kind = TypeKind::view;
  CHECK(to_string(ring) == "view<bf16[Key:128, Depth:64]>");
  CHECK(to_string(Type{.kind = TypeKind::barrier, .stages = 3, .arrivals = 2}) == "barrier<2 x3>");
  Type tile = Type::tile(DType::f32, {{query, 64}});
  tile.layout = std::make_shared<const Layout>(Layout({}, {{32, query, 1}}, {{2, query, 32}, {2, {}, 0}}));
  CHECK(to_string(tile) == "f32[Query:64] {reg | lane 32*Query:1 | warp 2*Query:32 2}");
}

TEST_CASE("types compare layouts by value") {
  Type a = Type::tile(DType::f32, {{query, 32}});
  Type b = a;
  CHECK(a == b);
  a.layout = std::make_shared<const Layout>(Layout({}, {{32, query, 1}}, {}));
  CHECK_FALSE(a == b);
  b.layout = std::make_shared<const Layout>(Layout({}, {{32, query, 1}}, {}));
  CHECK(a == b);
  b.layout = std::make_shared<const Layout>(Layout({{32, query, 1}}, {}, {}));
  CHECK_FALSE(a == b);
}

TEST_CASE("broadcasting is by name, left axes first") {
  std::vector<Dim> a = {{query, 4}}, b = {{key, 8}, {query, 4}};
  CHECK(broadcast_dims(a, b) == std::vector<Dim>{{query, 4}, {key, 8}});
  CHECK(broadcast_dims(b, a) == b);
  CHECK(broadcast_dims({}, b) == b);
  CHECK_THROWS_WITH_AS(
      broadcast_dims(a, {{query, 5}}),
      "internal error in tessera (please report it): axis Query is 4 elements on one side and 5 on the other",
      InternalError);
}

TEST_CASE("extents are looked up by axis") {
  Type t = Type::tile(DType::bf16, {{query, 4}, {key, 8}});
  CHECK(t.extent(key) == 8);
  CHECK(t.has(query));
  CHECK_FALSE(t.has(depth));
  CHECK(t.find(depth) == nullptr);
  CHECK(t.elements() == 32);
  CHECK(Type::scalar(DType::f32).elements() == 1);
  CHECK_THROWS_WITH_AS(t.extent(depth),
                       "internal error in tessera (please report it): bf16[Query:4, Key:8] has no axis Depth",
                       InternalError);
}

TEST_CASE("the table of operations is what the code reads") {
  CHECK(info(OpCode::constant).name == "constant");
  CHECK(info(OpCode::mma_wait).name == "mma_wait");
  CHECK(info(OpCode::select).operands == 3);
  CHECK(info(OpCode::over).stages == 1u);
  CHECK(is_elementwise(OpCode::lt));
  CHECK_FALSE(is_elementwise(OpCode::reduce_sum));
  CHECK(has_effect(Op{.code = OpCode::store}));
  CHECK(has_effect(Op{.code = OpCode::arrive}));
  CHECK_FALSE(has_effect(Op{.code = OpCode::load}));
  Op loop{.code = OpCode::loop, .regions = {Block{.args = {}, .ops = {Op{.code = OpCode::yield}}}}};
  CHECK_FALSE(has_effect(loop));
  loop.regions[0].ops.insert(loop.regions[0].ops.begin(), Op{.code = OpCode::store});
  CHECK(has_effect(loop));
}
