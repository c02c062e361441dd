#include <algorithm>

#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/passes/simplify_internal.h>

namespace tessera::passes::detail {

using ir::Op;
using ir::OpCode;
using ir::Type;
using ir::Value;

namespace {

// One i32 op whose constant operand, if any, is on the right.
class IntegerRules {
 public:
  IntegerRules(Emitter& out, const Op& op, const Type& type)
      : out_(out), code_(op.code), type_(type), a_(op.operands[0]), b_(op.operands[1]), number_(out.number(b_)) {}

  std::optional<Value> apply() {
    switch (code_) {
      case OpCode::add: return add();
      case OpCode::sub: return sub();
      case OpCode::mul: return mul();
      case OpCode::div: return div();
      case OpCode::mod: return mod();
      case OpCode::min:
      case OpCode::max:
        if (a_ == b_) return out_.fit(a_, type_);
        return combine(code_);
      default: return std::nullopt;
    }
  }

 private:
  const Op* is(Value v, OpCode code) const {
    const Op* op = out_.definition(v);
    return op && op->code == code ? op : nullptr;
  }
  Value number(std::int64_t n) { return out_.constant(ir::wrap(n), out_.type(b_)); }
  std::int64_t right() const { return static_cast<std::int64_t>(*number_); }

  // (x op c1) op c2 is x op (c1 op c2).
  std::optional<Value> combine(OpCode code) {
    const Op* inner = is(a_, code);
    std::optional<double> first = inner ? out_.number(inner->operands[1]) : std::nullopt;
    if (!number_ || !first) return std::nullopt;
    double operands[] = {*first, *number_};
    std::optional<double> both = ir::fold(code, DType::i32, DType::i32, operands);
    return out_.emit(code, {inner->operands[0], number(static_cast<std::int64_t>(*both))}, type_);
  }

  // Of scalars only: with tiles, adding the constant to the smaller side first is cheaper.
  const Op* shifted(Value v) const {
    const Op* op = type_.is_scalar() ? is(v, OpCode::add) : nullptr;
    return op && out_.number(op->operands[1]) ? op : nullptr;
  }

  std::optional<Value> add() {
    if (number_ == 0.0) return out_.fit(a_, type_);
    if (auto value = combine(OpCode::add)) return value;
    if (const Op* inner = is(b_, OpCode::neg)) return out_.emit(OpCode::sub, {a_, inner->operands[0]}, type_);
    if (const Op* inner = is(a_, OpCode::sub); inner && inner->operands[1] == b_)
      return out_.fit(inner->operands[0], type_);
    if (const Op* inner = is(b_, OpCode::sub); inner && inner->operands[1] == a_)
      return out_.fit(inner->operands[0], type_);
    if (number_) return std::nullopt;
    if (const Op* left = shifted(a_)) return outward(OpCode::add, left->operands[0], b_, left->operands[1]);
    if (const Op* right = shifted(b_)) return outward(OpCode::add, a_, right->operands[0], right->operands[1]);
    return std::nullopt;
  }

  std::optional<Value> sub() {
    if (number_ == 0.0) return out_.fit(a_, type_);
    if (number_) return out_.emit(OpCode::add, {a_, number(-right())}, type_);
    if (a_ == b_) return out_.constant(0, type_);
    if (out_.number(a_) == 0.0) return out_.emit(OpCode::neg, {*out_.fit(b_, type_)}, type_);
    if (const Op* inner = is(a_, OpCode::add)) {
      if (inner->operands[0] == b_) return out_.fit(inner->operands[1], type_);
      if (inner->operands[1] == b_) return out_.fit(inner->operands[0], type_);
    }
    if (const Op* inner = is(b_, OpCode::sub); inner && inner->operands[0] == a_)
      return out_.fit(inner->operands[1], type_);
    if (const Op* inner = is(b_, OpCode::neg)) return out_.emit(OpCode::add, {a_, inner->operands[0]}, type_);
    if (const Op* left = shifted(a_)) return outward(OpCode::sub, left->operands[0], b_, left->operands[1]);
    if (const Op* right = shifted(b_)) {
      Value rest = out_.emit(OpCode::sub, {a_, right->operands[0]}, type_);
      std::int64_t shift = static_cast<std::int64_t>(*out_.number(right->operands[1]));
      return out_.emit(OpCode::add, {rest, out_.constant(ir::wrap(-shift), type_)}, type_);
    }
    return std::nullopt;
  }

  std::optional<Value> outward(OpCode code, Value a, Value b, Value constant) {
    return out_.emit(OpCode::add, {out_.emit(code, {a, b}, type_), constant}, type_);
  }

  std::optional<Value> mul() {
    if (number_ == 0.0) return out_.constant(0, type_);
    if (number_ == 1.0) return out_.fit(a_, type_);
    return combine(OpCode::mul);
  }

  std::optional<Value> div() {
    if (number_ == 1.0) return out_.fit(a_, type_);
    if (number_ == 0.0 || out_.number(a_) == 0.0) return out_.constant(0, type_);
    const Op* inner = is(a_, OpCode::div);
    std::optional<double> first = inner ? out_.number(inner->operands[1]) : std::nullopt;
    if (!number_ || !first || *first <= 0 || *number_ <= 0 || *first * *number_ > 2147483647.0) return std::nullopt;
    return out_.emit(OpCode::div, {inner->operands[0], number(static_cast<std::int64_t>(*first) * right())}, type_);
  }

  std::optional<Value> mod() {
    if (number_ == 1.0 || number_ == 0.0 || a_ == b_ || out_.number(a_) == 0.0) return out_.constant(0, type_);
    const Op* inner = is(a_, OpCode::mod);
    return inner && inner->operands[1] == b_ ? out_.fit(a_, type_) : std::nullopt;
  }

  Emitter& out_;
  OpCode code_;
  const Type& type_;
  Value a_, b_;
  std::optional<double> number_;  // of b_
};

}  // namespace

std::optional<Value> simplify_integer(Emitter& out, const Op& op, const Type& type) {
  return IntegerRules(out, op, type).apply();
}

}  // namespace tessera::passes::detail
