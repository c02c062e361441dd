#include "dsl/ir/interpret_kernels.h"

#include <limits>

namespace tessera::ir::test {
namespace {

const Axis kQuery = Axis::named("Query"), kKey = Axis::named("Key"), kDepth = Axis::named("Depth"),
           kValue = Axis::named("Value");
constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453, kInf = std::numeric_limits<double>::infinity();
const std::vector<std::string> kState = {"row_max", "row_sum", "acc"};

void add_params(Kernel& kernel, DType dtype) {
  kernel.grid = {kQuery, Axis::named("Head"), Axis::named("Batch")};
  kernel.params = {
      {"q", ParamKind::input, dtype, {kQuery, kDepth}, 2}, {"k", ParamKind::input, dtype, {kKey, kDepth}, 2},
      {"v", ParamKind::input, dtype, {kKey, kValue}, 2},   {"o", ParamKind::output, dtype, {kQuery, kValue}, 2},
      {"lse", ParamKind::output, DType::f32, {kQuery}, 1}, {"scale", ParamKind::scalar, DType::f32, {}, 0}};
}

// The running softmax: state after scores x, whose product with v the caller makes. Dims are as the axes' extents are.
struct Softmax {
  Value maximum, rescale, weights, sum;
};
Softmax softmax(Builder& b, Value x, std::span<const Value> state) {
  Softmax s;
  s.maximum = b.max(state[0], b.reduce(OpCode::reduce_max, x, kKey));
  s.rescale = b.unary(OpCode::exp2, b.sub(state[0], s.maximum));
  s.weights = b.unary(OpCode::exp2, b.sub(x, s.maximum));
  s.sum = b.add(b.mul(state[1], s.rescale), b.reduce(OpCode::reduce_sum, s.weights, kKey));
  return s;
}

Value number(Builder& b, double x) { return b.constant(x, Type::scalar(DType::f32)); }

Value scaled(Builder& b, Value scores) { return b.mul(scores, b.mul(b.scalar(5, DType::f32), number(b, kLog2e))); }

void finish(Builder& b, std::span<const Value> state, DType dtype, std::span<const Value> at_o,
            std::span<const Value> at_lse) {
  const Value live = b.binary(OpCode::gt, state[1], number(b, 0));
  const Value mean = b.select(live, b.binary(OpCode::div, state[2], state[1]), number(b, 0));
  b.store(3, b.cast(mean, dtype), at_o);
  b.store(4, b.mul(b.add(state[0], b.unary(OpCode::log2, state[1])), number(b, kLn2)), at_lse);
}

}  // namespace

int add_mask(Kernel& kernel, const Predicate& predicate) {
  Function function;
  function.name = "mask";
  for (const char* name : {"q", "k", "head", "batch", "query_length", "key_length"}) {
    function.graph.entry.args.push_back(function.graph.add_value(Type::scalar(DType::i32), name));
  }
  const std::vector<Value> args = function.graph.entry.args;
  Builder b(function.graph, function.graph.entry);
  const Value result = predicate(b, args);
  b.yield({&result, 1});
  kernel.functions.push_back(std::move(function));
  return static_cast<int>(kernel.functions.size()) - 1;
}

Kernel traced_attention(const AttentionOptions& options) {
  Kernel kernel;
  kernel.name = "forward";
  add_params(kernel, options.dtype);
  if (options.bounded) kernel.params.push_back({"keys", ParamKind::scalar, DType::i32, {}, 0});
  const int mask = options.mask ? add_mask(kernel, options.mask) : -1;

  Builder b(kernel, kernel.entry);
  const Value q = b.load(0, Type::tile(options.dtype, {{kQuery}, {kDepth}}), {});
  const std::vector<Value> init = {b.constant(-1e30, Type::tile(DType::f32, {{kQuery}})),
                                   b.constant(0, Type::tile(DType::f32, {{kQuery}})),
                                   b.constant(0, Type::tile(DType::f32, {{kQuery}, {kValue}}))};
  const Value bound = options.bounded ? b.scalar(6, DType::i32) : Value{};
  const auto body = [&](Builder& in, std::span<const Value> args) -> std::vector<Value> {
    const Value tile = args[0];
    const Value k = in.load(1, Type::tile(options.dtype, {{kKey}, {kDepth}}), {&tile, 1});
    const Value v = in.load(2, Type::tile(options.dtype, {{kKey}, {kValue}}), {&tile, 1});
    const Value allowed = in.allowed(mask, {kQuery}, {kKey}, tile);
    const Value x = in.select(allowed, scaled(in, in.dot(q, k)), number(in, -kInf));
    const Softmax s = softmax(in, x, args.subspan(1));
    const Value acc = in.add(in.mul(args[3], s.rescale), in.dot(in.cast(s.weights, options.dtype), v));
    return {s.maximum, s.sum, acc};
  };
  const std::vector<Value> end = b.over(kKey, mask, bound, init, kState, body);
  finish(b, end, options.dtype, {}, {});
  return kernel;
}

namespace {

constexpr int kRows = 64, kKeys = 64, kColumns = 64, kTileBytes = kKeys * kColumns * 2;

class PlacedAttention {
 public:
  explicit PlacedAttention(Fault fault) : fault_(fault), b_(kernel_, kernel_.entry) {}

  Kernel build() {
    kernel_.name = "forward";
    kernel_.stage = Stage::placed;
    add_params(kernel_, DType::bf16);
    kernel_.grid_tiles = {{kQuery, 2 * kRows}, {kernel_.grid[1], 1}, {kernel_.grid[2], 1}};
    kernel_.roles = {{"producer", 1, 24}, {"consumer", 2, 240}};
    kernel_.threads = 384;
    alloc_all();
    zero_ = b_.constant(0);
    tiles_ = b_.div(b_.add(b_.length(kKey), kKeys - 1), kKeys);
    row_ = b_.mul(b_.program_id(kQuery), 2 * kRows);
    role(0, [this](Builder& b) { produce(b); });
    role(1, [this](Builder& b) { consume(b); });
    return std::move(kernel_);
  }

 private:
  Value alloc(const char* name, Type type) {
    const Value value = b_.append_value(OpCode::alloc, {}, std::move(type));
    kernel_.values[value.id].name = name;
    return value;
  }
  Value ring(const char* name, Axis row, int rows, Axis column, int stages) {
    return alloc(
        name,
        {.kind = TypeKind::shared, .dtype = DType::bf16, .dims = {{row, rows}, {column, kColumns}}, .stages = stages});
  }
  Value barrier(const char* name, int arrivals, int stages) {
    return alloc(name,
                 {.kind = TypeKind::barrier, .dtype = DType::i32, .dims = {}, .stages = stages, .arrivals = arrivals});
  }
  void alloc_all() {
    qs_ = ring("qs", kQuery, 2 * kRows, kDepth, 1);
    ks_ = ring("ks", kKey, kKeys, kDepth, 2);
    vs_ = ring("vs", kKey, kKeys, kValue, 2);
    q_full_ = barrier("q_full", 1, 1);
    k_full_ = barrier("k_full", 1, 2);
    k_empty_ = barrier("k_empty", 2, 2);
    v_full_ = barrier("v_full", 1, 2);
    v_empty_ = barrier("v_empty", 2, 2);
  }

  void role(int index, const std::function<void(Builder&)>& body) {
    Op op{.code = OpCode::role, .index = index};
    op.regions.emplace_back();
    Builder inner = b_.inside(op.regions[0]);
    body(inner);
    b_.push(std::move(op));
  }

  static Value slot(Builder& b, Value ring, Value ticket) {
    Type view = b.type(ring);
    view.kind = TypeKind::view;
    view.stages = 1;
    return b.append_value(OpCode::slot, {ring, ticket}, view);
  }
  static void wait(Builder& b, Value barrier, Value ticket, int back = 0) {
    b.append(OpCode::wait, {barrier, ticket}).index = back;
  }
  static void expect(Builder& b, Value barrier, Value ticket, int bytes) {
    b.append(OpCode::expect, {barrier, ticket}).number = bytes;
  }
  void copy(Builder& b, int param, Value ring, Value full, Value ticket, Value start) {
    b.append(OpCode::copy, {slot(b, ring, ticket), full, ticket, start, zero_}).index = param;
  }
  Value named(Builder& b, OpCode code, std::vector<Value> operands, Type type, const char* name) {
    const Value value = b.append_value(code, std::move(operands), std::move(type));
    kernel_.values[value.id].name = name;
    return value;
  }
  Value product(Builder& b, Axis axis, std::vector<Value> operands, Type type, const char* name) {
    const Value value = named(b, OpCode::mma, std::move(operands), std::move(type), name);
    b.block().ops.back().axis = axis;
    return value;
  }
  static Value finished(Builder& b, Value product) {
    const Type type = b.type(product);
    Op& op = b.append(OpCode::mma_wait, {product}, {type});
    op.index = 0;
    return op.results[0];
  }

  void produce(Builder& b) {
    expect(b, q_full_, zero_, 2 * kTileBytes);
    copy(b, 0, qs_, q_full_, zero_, row_);
    const auto body = [this](Builder& in, std::span<const Value> args) -> std::vector<Value> {
      const Value n = args[1], start = in.mul(args[0], kKeys);
      if (fault_ == Fault::refill_early) {
        const Value late = in.binary(OpCode::ge, n, in.constant(2));
        in.when(late, {}, {}, [&](Builder& when, std::span<const Value>) -> std::vector<Value> {
          wait(when, k_empty_, when.add(n, -1), 1);
          return {};
        });
      } else if (fault_ != Fault::no_wait_for_empty) {
        wait(in, k_empty_, n, 1);
      }
      const int wrong = fault_ == Fault::short_expect ? -128 : fault_ == Fault::long_expect ? 128 : 0;
      expect(in, k_full_, n, kTileBytes + wrong);
      copy(in, 1, ks_, k_full_, n, start);
      wait(in, v_empty_, n, 1);
      expect(in, v_full_, n, kTileBytes);
      copy(in, 2, vs_, v_full_, n, start);
      return {in.add(n, 1)};
    };
    const std::vector<std::string> names = {"n"};
    b.loop(zero_, tiles_, {&zero_, 1}, names, body);
  }

  // Scores of one key tile, past the end of the keys -inf.
  Value scores(Builder& b, Value qv, Value i, Value n) {
    if (fault_ != Fault::no_wait_for_full) wait(b, k_full_, n);
    const Value ticket = fault_ == Fault::wrong_ticket ? b.add(n, 2) : n;
    b.append(OpCode::mma_fence, {});
    const Type type = Type::tile(DType::f32, {{kQuery, kRows}, {kKey, kKeys}});
    const Value s0 = product(b, kDepth, {qv, slot(b, ks_, ticket)}, type, "s0");
    b.append(OpCode::mma_commit, {});
    if (fault_ == Fault::arrive_too_early) b.append(OpCode::arrive, {k_empty_, n});
    const Value s = fault_ == Fault::no_mma_wait ? s0 : finished(b, s0);
    if (fault_ != Fault::no_arrive && fault_ != Fault::arrive_too_early) b.append(OpCode::arrive, {k_empty_, n});
    const Value position = b.add(b.iota({kKey, kKeys}), b.mul(i, kKeys));
    return b.select(b.binary(OpCode::lt, position, b.length(kKey)), scaled(b, s), number(b, -kInf));
  }

  void consume(Builder& b) {
    const Value group = b.append_value(OpCode::group_id, {}, Type::scalar(DType::i32));
    const Value first = b.mul(group, kRows), row = b.add(row_, first);
    wait(b, q_full_, zero_);
    Type view = b.type(qs_);
    view.kind = TypeKind::view;
    view.dims[0].extent = kRows;
    const Value qv = b.append_value(OpCode::rows, {slot(b, qs_, zero_), first}, view);
    b.block().ops.back().axis = kQuery;
    const std::vector<Value> init = {b.constant(-1e30, Type::tile(DType::f32, {{kQuery, kRows}})),
                                     b.constant(0, Type::tile(DType::f32, {{kQuery, kRows}})),
                                     b.constant(0, Type::tile(DType::f32, {{kQuery, kRows}, {kValue, kColumns}}))};
    const auto body = [&](Builder& in, std::span<const Value> args) -> std::vector<Value> {
      const Value n = args[0];
      const Softmax s = softmax(in, scores(in, qv, n, n), args.subspan(1));
      const Value acc = in.mul(args[3], s.rescale), p = in.cast(s.weights, DType::bf16);
      kernel_.values[p.id].name = "p";
      wait(in, v_full_, n);
      if (fault_ != Fault::no_fence) in.append(OpCode::mma_fence, {});
      const Value o0 = product(in, kKey, {p, slot(in, vs_, n), acc}, in.type(acc), "o0");
      in.append(OpCode::mma_commit, {});
      const Value o = finished(in, o0);
      in.append(OpCode::arrive, {v_empty_, n});
      return {s.maximum, s.sum, o};
    };
    const std::vector<Value> end = b.loop(zero_, tiles_, init, kState, body);
    finish(b, end, DType::bf16, std::vector<Value>{row, zero_}, std::vector<Value>{row});
  }

  Fault fault_;
  Kernel kernel_;
  Builder b_;
  Value qs_, ks_, vs_, q_full_, k_full_, k_empty_, v_full_, v_empty_, zero_, tiles_, row_;
};

}  // namespace

Kernel placed_attention(Fault fault) { return PlacedAttention(fault).build(); }

}  // namespace tessera::ir::test
