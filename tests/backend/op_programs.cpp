#include "backend/op_programs.h"

#include <cmath>
#include <limits>

#include <tessera/dsl/ir/builder.h>

namespace tessera::test {

using namespace ir;

namespace {

const Axis row = Axis::named("Row"), column = Axis::named("Column");

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// No subnormals: the GPU flushes them, the interpreter keeps them, and nobody computes with them.
std::vector<double> edge_values(DType t) {
  switch (t) {
    case DType::f32:
      return {0,     -0.0,       1,        -1,        0.5,      -0.5,    1.5,    2.5,   -2.5, 3,      -7,
              1e-3,  -1e-3,      100.25,   -100.75,   65504,    65520,   -65536, 1e6,   -1e6, 3e9,    -3e9,
              1e-30, 2147483648, 16777217, 3.3999e38, -3.39e38, 1.2e-38, kInf,   -kInf, kNan, 0.24999};
    case DType::f16:
    case DType::bf16:
      return {0,      -0.0,  1,    -1,  0.5,  -0.5,  1.5,  2.5,   -2.5,  3,    -7,   0.125, -0.125, 100,  -101,  1000,
              -65504, 65504, 2048, 0.2, 7e-5, -7e-5, 12.3, -12.3, 300.5, 0.99, 1.01, 33,    -33,    kInf, -kInf, kNan};
    case DType::i32:
      return {0,    1,     -1,     2,      -2,     3,       -3,         5,          7,           -7,           8,
              -8,   10,    13,     -13,    64,     -64,     100,        127,        -128,        1000,         -1000,
              4096, 65535, -65536, 100000, -99999, 1 << 30, -(1 << 30), 2147483647, -2147483647, -2147483648.0};
    case DType::i1:
      return {0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1};
  }
  return {};
}

// Operand `k` at [i, j] is the edge value i, j, i + j.
TestTensor edges(DType t, int k) {
  const std::vector<double> values = edge_values(t);
  const auto n = static_cast<std::int64_t>(values.size());
  TestTensor tensor(t == DType::i1 ? DType::i32 : t, {n, kEdgeColumns});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < kEdgeColumns; ++j)
      tensor.set({i, j}, values[static_cast<std::size_t>((k == 0 ? i : k == 1 ? j : i + j) % n)]);
  return tensor;
}

// A kernel with `operands` tensors of the dtypes given, and `body` between loads and store.
template <class Body>
Kernel program(const std::string& name, const std::vector<DType>& operands, DType result, const Body& body) {
  Kernel k;
  k.name = name;
  k.grid = {row};
  const std::vector<Dim> dims{{row, 0}, {column, 0}};
  const auto stored = [](DType t) { return t == DType::i1 ? DType::i32 : t; };
  for (std::size_t i = 0; i < operands.size(); ++i)
    k.params.push_back({std::string(1, "abc"[i]), ParamKind::input, stored(operands[i]), {row, column}, 2});
  k.params.push_back({"y", ParamKind::output, stored(result), {row, column}, 2});
  Builder b(k, k.entry);
  std::vector<Value> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Value v = b.load(static_cast<int>(i), Type::tile(stored(operands[i]), dims), {});
    values.push_back(operands[i] == DType::i1 ? b.binary(OpCode::ne, v, b.constant(0)) : v);
  }
  const Value y = body(b, values);
  b.store(static_cast<int>(operands.size()), result == DType::i1 ? b.cast(y, DType::i32) : y, {});
  return k;
}

std::vector<DType> dtypes_of(OpCode code) {
  switch (code) {
    case OpCode::logical_not:
    case OpCode::logical_and:
    case OpCode::logical_or: return {DType::i1};
    case OpCode::mod: return {DType::i32};
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::min:
    case OpCode::max:
    case OpCode::lt:
    case OpCode::le:
    case OpCode::gt:
    case OpCode::ge:
    case OpCode::eq:
    case OpCode::ne:
    case OpCode::select: return {DType::f32, DType::i32, DType::bf16, DType::f16};
    case OpCode::fma: return {};  // no op of traced kernels: simplify and the passes make it
    default: return {DType::f32, DType::bf16};
  }
}

std::string kernel_name(OpCode code, DType from, DType to) {
  std::string name = std::string(info(code).name) + "_" + std::string(name_of(from));
  return from == to ? name : name + "_" + std::string(name_of(to));
}

void add_program(std::vector<OpProgram>& all, OpCode code, const std::vector<DType>& operands, DType result) {
  const DType from = operands.back();
  OpProgram p{code, from, result, {}, {}};
  p.traced = program(kernel_name(code, from, result), operands, result, [&](Builder& b, const std::vector<Value>& v) {
    if (code == OpCode::cast) return b.cast(v[0], result);
    if (code == OpCode::select) return b.select(v[0], v[1], v[2]);
    return v.size() == 1 ? b.unary(code, v[0]) : b.binary(code, v[0], v[1]);
  });
  for (std::size_t i = 0; i < operands.size(); ++i) p.inputs.push_back(edges(operands[i], static_cast<int>(i)));
  all.push_back(std::move(p));
}

// Units of f32's last place that the instruction may be off; 0: exact.
double ulps_of(OpCode code, double expected) {
  switch (code) {
    case OpCode::div: return 3;
    case OpCode::exp: return 4 + 2 * std::abs(std::log(std::abs(expected) + 1e-38));  // the argument times log2(e)
    case OpCode::exp2: return 4;
    case OpCode::log:
    case OpCode::log2: return 8;
    case OpCode::tanh: return 8;
    case OpCode::sqrt:
    case OpCode::rsqrt: return 4;
    default: return 0;
  }
}

}  // namespace

std::string OpProgram::name() const { return kernel_name(code, from, to); }

std::vector<OpProgram> op_programs() {
  std::vector<OpProgram> all;
  const DType casts[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i1};
  for (OpCode code : {
#define TESSERA_OP(name, operands, kind, stages) OpCode::name,
#include <tessera/dsl/ir/ops.def>
#undef TESSERA_OP
       }) {
    if (!is_elementwise(code) || code == OpCode::cast || code == OpCode::scale) continue;  // scale: placed only
    for (DType t : dtypes_of(code)) {
      std::vector<DType> in(static_cast<std::size_t>(info(code).operands), t);
      if (code == OpCode::select) in[0] = DType::i1;
      add_program(all, code, in, info(code).kind == OpKind::compare ? DType::i1 : t);
    }
  }
  for (DType from : casts)
    for (DType to : casts)
      if (from != to && to != DType::i1) add_program(all, OpCode::cast, {from}, to);
  return all;
}

std::vector<OpProgram> division_programs() {
  std::vector<OpProgram> all;
  for (OpCode code : {OpCode::div, OpCode::mod})
    for (int divisor : {1, -1, 2, -2, 3, -3, 7, 64, -64, 100, 0, std::numeric_limits<int>::min()}) {
      OpProgram p{code, DType::i32, DType::i32, {}, {}};
      const std::string by =
          divisor < 0 ? "minus" + std::to_string(-static_cast<std::int64_t>(divisor)) : std::to_string(divisor);
      p.traced = program(kernel_name(code, DType::i32, DType::i32) + "_by_" + by, {DType::i32}, DType::i32,
                         [&](Builder& b, const std::vector<Value>& v) {
                           return b.binary(code, v[0], b.constant(divisor, Type::scalar(DType::i32)));
                         });
      p.inputs.push_back(edges(DType::i32, 0));
      all.push_back(std::move(p));
    }
  return all;
}

bool agrees(const OpProgram& program, double expected, double y) {
  if (std::isnan(expected) || std::isnan(y)) return std::isnan(expected) && std::isnan(y);
  if (expected == y) return true;
  if (program.to == DType::i32 || program.to == DType::i1 || std::isinf(expected)) return false;
  constexpr double smallest = std::numeric_limits<float>::min();
  if (std::abs(expected) < smallest) return std::abs(y) <= smallest;
  const double ulps = ulps_of(program.code, expected);
  if (ulps == 0) return false;
  double allowed = ulps * std::ldexp(std::abs(expected), -23);
  if (program.code == OpCode::log || program.code == OpCode::log2) allowed += 3e-7;  // where it passes through 0
  if (program.to == DType::bf16) allowed += std::ldexp(std::abs(expected), -7);      // rounds to the other neighbour
  return std::abs(expected - y) <= allowed;
}

}  // namespace tessera::test
