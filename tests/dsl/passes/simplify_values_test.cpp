// Simplify as a whole: random scalar programs keep their values, bit for bit; functions of a kernel; time.
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/passes/simplify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kIntegers[] = {0, 1, -1, 2, 3, 7, -7, 64, 100000, 2147483647, -2147483648.0};
const double kFloats[] = {0, -0.0, 1, -1, 0.5, 2, 3.25, -7.75, 1e30, -1e30, 1e-40, kInf, -kInf, NAN};

// Appends ops through Builder::append, past the builder's own folding.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    Graph& g = function_.graph;
    function_.name = "f";
    auto argument = [&](DType t) {
      Value v = g.add_value(Type::scalar(t));
      g.entry.args.push_back(v);
      pool(t).push_back(v);
    };
    for (int i = 0; i < Function::kPositions; ++i) argument(DType::i32);
    for (int i = 0; i < 3; ++i) argument(DType::f32);
    argument(DType::i1);
  }

  Function make(int ops) {
    for (double x : kIntegers) constant(DType::i32, x);
    for (double x : kFloats) constant(DType::f32, x);
    constant(DType::i1, 0);
    constant(DType::i1, 1);
    for (int i = 0; i < ops; ++i) step();
    DType t = std::array{DType::i32, DType::f32, DType::i1}[random_() % 3];
    builder().yield(std::vector{pool(t).back()});
    return function_;
  }

 private:
  Builder builder() { return Builder(function_.graph, function_.graph.entry); }
  std::vector<Value>& pool(DType t) { return t == DType::i32 ? integers_ : t == DType::f32 ? floats_ : booleans_; }

  // Recent values more often than old ones, so that chains grow.
  Value pick(DType t) {
    std::vector<Value>& values = pool(t);
    std::size_t n = values.size(), back = random_() % 2 ? random_() % std::min<std::size_t>(n, 4) : random_() % n;
    return values[n - 1 - back];
  }

  void constant(DType t, double number) {
    Builder b = builder();
    Op& op = b.append(OpCode::constant, {}, {Type::scalar(t)});
    op.number = number;
    pool(t).push_back(op.results[0]);
  }

  void add(OpCode code, std::vector<Value> operands, DType result) {
    Builder b = builder();
    pool(result).push_back(b.append_value(code, std::move(operands), Type::scalar(result)));
  }

  template <std::size_t N>
  OpCode one_of(const OpCode (&codes)[N]) {
    return codes[random_() % N];
  }

  void step() {
    const OpCode arithmetic[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::div, OpCode::min, OpCode::max};
    const OpCode compare[] = {OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge, OpCode::eq, OpCode::ne};
    const OpCode float_unary[] = {OpCode::neg, OpCode::abs, OpCode::floor, OpCode::sqrt};
    DType number = random_() % 2 ? DType::i32 : DType::f32;
    switch (random_() % 9) {
      case 0:
      case 1:
      case 2: return add(one_of(arithmetic), {pick(number), pick(number)}, number);
      case 3: return add(OpCode::mod, {pick(DType::i32), pick(DType::i32)}, DType::i32);
      case 4: return add(one_of(compare), {pick(number), pick(number)}, DType::i1);
      case 5:
        return add(random_() % 2 ? OpCode::logical_and : OpCode::logical_or, {pick(DType::i1), pick(DType::i1)},
                   DType::i1);
      case 6: return add(OpCode::select, {pick(DType::i1), pick(number), pick(number)}, number);
      case 7:
        if (random_() % 3 == 0) return add(OpCode::logical_not, {pick(DType::i1)}, DType::i1);
        if (random_() % 2) return add(random_() % 2 ? OpCode::neg : OpCode::abs, {pick(DType::i32)}, DType::i32);
        return add(one_of(float_unary), {pick(DType::f32)}, DType::f32);
      default:
        if (random_() % 3 == 0) return add(OpCode::eq, {pick(DType::i1), pick(DType::i1)}, DType::i1);
        return random_() % 2 ? add(OpCode::cast, {pick(DType::i32)}, DType::f32)
                             : add(OpCode::cast, {pick(DType::i1)}, number);
    }
  }

  std::mt19937 random_;
  Function function_;
  std::vector<Value> integers_, floats_, booleans_;
};

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST_CASE("random programs keep their values") {
  std::size_t before_ops = 0, after_ops = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Function f = Generator(seed).make(4 + static_cast<int>(seed % 40));
    REQUIRE(verify(f) == "");
    Function s = passes::simplify(f);
    REQUIRE(verify(s) == "");
    before_ops += f.graph.entry.ops.size();
    after_ops += s.graph.entry.ops.size();
    std::mt19937 random(seed);
    for (int point = 0; point < 8; ++point) {
      std::vector<double> arguments;
      for (int i = 0; i < Function::kPositions; ++i) arguments.push_back(kIntegers[random() % std::size(kIntegers)]);
      for (int i = 0; i < 3; ++i) arguments.push_back(kFloats[random() % std::size(kFloats)]);
      arguments.push_back(random() % 2);
      double before = evaluate(f, arguments, {}), after = evaluate(s, arguments, {});
      if (same_bits(before, after)) continue;
      CAPTURE(seed);
      CAPTURE(before);
      CAPTURE(after);
      FAIL(print(f), print(s));
    }
  }
  CHECK(after_ops * 2 < before_ops);
}

TEST_CASE("simplifying twice changes nothing more") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Function s = passes::simplify(Generator(seed).make(30));
    REQUIRE(print(passes::simplify(s)) == print(s));
    REQUIRE(print(parse_function(print(s))) == print(s));
  }
}

TEST_CASE("functions of a traced kernel are simplified, unused ones and parameters stay") {
  Kernel k = parse(test::traced(
      "function @1 unused(q, k, head, batch, query_length, key_length) {\n%0 = lt %q, %q : i1\nyield %0\n}"));
  Kernel s = passes::simplify(k);
  REQUIRE(s.functions.size() == 2);
  CHECK(print(s.functions[1]) == "function unused(q, k, head, batch, query_length, key_length) {\n  yield false\n}\n");
  CHECK(s.params.size() == k.params.size());
  Kernel placed = parse(test::placed(""));
  CHECK_THROWS_AS(passes::simplify(placed), InternalError);
}

TEST_CASE("a few hundred ops take milliseconds") {
  std::string code = "%0 = iota Query : i32[Query:64]\n%x0 = cast %0 : f32[Query:64]\n";
  for (int i = 0; i < 400; ++i) {
    code += "%x" + std::to_string(i + 1) + " = " + (i % 2 ? "exp" : "tanh") + " %x" + std::to_string(i) +
            " : f32[Query:64]\n";
  }
  Kernel k = parse(test::tiled(code + "store o(0), %x400\n"));
  auto start = std::chrono::steady_clock::now();
  Kernel s = passes::simplify(k);
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CHECK(s.entry.ops.size() == k.entry.ops.size());
  CHECK(ms < 1000);  // 2 ms on an idle core; the bound is for sanitizers and busy machines
}
