#include <tessera/backend/passes/split_sums.h>

#include <map>
#include <unordered_map>

#include <tessera/backend/passes/block_uses.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

constexpr int kParts = 8;  // columns of the accumulator that two registers and four lanes hold

// One carried sum of a loop: carried' = add(carried or mul(carried, factor), reduce_sum).
struct Sum {
  const Op *add = nullptr, *scale = nullptr, *reduce = nullptr;
};

class SplitSums {
 public:
  SplitSums(const Kernel& from, const LayoutRule& rule)
      : from_(from), to_(like(from)), rule_(rule), rewriter_(from_, to_, [this](Rewriter&, const Op& op, Builder& b) {
          return op.code == OpCode::loop && rewrite(op, b);
        }) {}

  Kernel run() {
    rewriter_.run();
    return std::move(to_);
  }

 private:
  // The sum that the i-th carried value is, if it is one.
  Sum find(const Op& loop, std::size_t i) const {
    const Block& body = loop.regions[0];
    const Value carried = body.args[i + 1];
    Sum sum{.add = definition_in(body, body.ops.back().operands[i])};
    if (!sum.add || sum.add->code != OpCode::add || uses(body, sum.add->results[0]) != 1) return {};
    for (int side : {0, 1}) {
      const Op* reduce = definition_in(body, sum.add->operands[side]);
      const Value other = sum.add->operands[1 - side];
      if (!reduce || reduce->code != OpCode::reduce_sum || uses(body, reduce->results[0]) != 1) continue;
      sum.reduce = reduce;
      if (other != carried) sum.scale = definition_in(body, other);
      const bool scaled = sum.scale && sum.scale->code == OpCode::mul &&
                          (sum.scale->operands[0] == carried) != (sum.scale->operands[1] == carried) &&
                          uses(body, other) == 1;
      const bool same =
          from_.type(carried).dims == from_.type(reduce->results[0]).dims;  // not a row's sum for each column
      if (same && (other == carried || scaled) && uses(body, carried) == 1 && splits(*reduce)) return sum;
    }
    return {};
  }

  // Sums of registers and lanes; the accumulator's columns come in eights.
  bool splits(const Op& reduce) const {
    const Type& type = from_.type(reduce.operands[0]);
    return type.dtype == DType::f32 && type.dims.size() == 2 && type.has(rule_.row().axis) &&
           !(reduce.axis == rule_.row().axis) && type.extent(reduce.axis) % kParts == 0 &&
           type.extent(reduce.axis) > kParts;
  }

  Type parts(const Op& reduce) const {
    Type type = from_.type(reduce.results[0]);
    type.dims.push_back({reduce.axis, kParts});
    return rule_.place(type, reduce.loc);
  }

  bool rewrite(const Op& loop, Builder& b) {
    std::map<std::size_t, Sum> sums;
    for (std::size_t i = 0; i < loop.results.size(); ++i)
      if (const Sum sum = find(loop, i); sum.reduce) sums[i] = sum;
    if (sums.empty()) return false;
    const Block& body = loop.regions[0];
    std::vector<Value> init;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      const Value start = loop.operands[i + 2];
      init.push_back(sums.contains(i) ? enter(start, *sums[i].reduce, b) : rewriter_[start]);
      names.push_back(from_.name_of(loop.results[i]));
    }
    const auto emit_body = [&](Builder& in, std::span<const Value> args) {
      for (std::size_t i = 0; i < body.args.size(); ++i) rewriter_.map(body.args[i], args[i]);
      for (std::size_t i = 0; i + 1 < body.ops.size(); ++i) step(body.ops[i], sums, in);
      return rewriter_[body.ops.back().operands];
    };
    const std::vector<Value> results =
        b.loop(rewriter_[loop.operands[0]], rewriter_[loop.operands[1]], init, names, emit_body);
    for (std::size_t i = 0; i < results.size(); ++i) {
      rewriter_.map(loop.results[i], results[i]);
      if (!sums.contains(i)) continue;
      Op whole = *sums[i].reduce;
      Op& reduce = b.append(OpCode::reduce_sum, {results[i]}, {from_.type(loop.results[i])});
      reduce.axis = whole.axis;
      to_.values[reduce.results[0].id].name = from_.name_of(loop.results[i]);
      rewriter_.map(loop.results[i], reduce.results[0]);
      split_[loop.results[i].id] = results[i];
    }
    return true;
  }

  // The sum with which the loop starts, in parts.
  Value enter(Value start, const Op& reduce, Builder& b) {
    const Type type = parts(reduce);
    if (const auto split = split_.find(start.id); split != split_.end() && to_.type(split->second) == type)
      return split->second;
    const Value eighth = b.constant(1.0 / kParts, from_.type(start));
    return b.append_value(OpCode::broadcast,
                          {b.append_value(OpCode::mul, {rewriter_[start], eighth}, from_.type(start))}, type);
  }

  void step(const Op& op, const std::map<std::size_t, Sum>& sums, Builder& b) {
    b.set_loc(op.loc);
    for (const auto& [i, sum] : sums) {
      if (&op != sum.reduce && &op != sum.scale && &op != sum.add) continue;
      const OpCode code = &op == sum.reduce ? OpCode::partial_sum : op.code;
      Op& part = b.append(code, rewriter_[op.operands], {parts(*sum.reduce)});
      if (&op == sum.reduce) part.axis = op.axis;
      return rewriter_.map(op.results[0], part.results[0]);
    }
    rewriter_.op(op, b);
  }

  const Kernel& from_;
  Kernel to_;
  const LayoutRule& rule_;
  std::unordered_map<std::uint32_t, Value> split_;  // results of loops, as parts
  Rewriter rewriter_;
};

}  // namespace

Kernel split_sums(const Kernel& kernel, const LayoutRule& rule) {
  return rule.has_products() ? SplitSums(kernel, rule).run() : kernel;
}

}  // namespace tessera::backend
