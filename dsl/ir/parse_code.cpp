#include <tessera/dsl/ir/parse_code.h>

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <tessera/dsl/ir/print_names.h>

namespace tessera::ir::detail {

namespace {

const std::unordered_map<std::string_view, OpCode>& codes() {
  static const std::unordered_map<std::string_view, OpCode> table = {
#define TESSERA_OP(name, operands, kind, stages) {#name, OpCode::name},
#include <tessera/dsl/ir/ops.def>
#undef TESSERA_OP
  };
  return table;
}

std::string user_name(const std::string& written) {
  std::string name = without_suffix(written);
  bool number = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number ? std::string() : name;
}

// The value that the n-th number of an op goes by until its constant is made.
constexpr std::uint32_t kFirstLiteral = UINT32_MAX - 1;
Value placeholder(std::size_t n) { return {kFirstLiteral - static_cast<std::uint32_t>(n)}; }

}  // namespace

Value CodeParser::define(const Token& token, Type type) {
  std::string written(token.text);
  Value v = graph_.add_value(std::move(type), user_name(written));
  if (!names_.emplace(written, v).second) in_.fail_at(token, fmt::format("value %{} is defined twice", written));
  visible_.push_back(std::move(written));
  return v;
}

bool CodeParser::at_operand() const {
  for (TokenKind kind : {TokenKind::value, TokenKind::number, TokenKind::literal}) {
    if (in_.is(kind)) return true;
  }
  return in_.is("true") || in_.is("false");
}

Value CodeParser::literal() {
  Token token = in_.take();
  Literal literal{0, std::nullopt};
  if (token.kind == TokenKind::word) {
    literal.number = token.text == "true";
    literal.dtype = DType::i1;
  } else {
    literal.number = in_.number_in(token);
  }
  if (token.kind == TokenKind::literal)
    literal.dtype = parse_dtype(in_, token, token.text.substr(token.text.find(':') + 1));
  literals_.push_back(literal);
  return placeholder(literals_.size() - 1);
}

Value CodeParser::constant(double number, DType dtype, SourceLoc loc, Block& into) {
  auto same = [&](const Constant& c) {
    return c.dtype == dtype && std::bit_cast<std::uint64_t>(c.number) == std::bit_cast<std::uint64_t>(number);
  };
  auto known = std::find_if(constants_.begin(), constants_.end(), same);
  if (known != constants_.end()) return known->value;
  Value v = graph_.add_value(Type::scalar(dtype));
  into.ops.push_back({.code = OpCode::constant, .results = {v}, .number = number, .loc = loc});
  constants_.push_back({dtype, number, v});
  return v;
}

void CodeParser::settle(Op& op, Block& into) {
  if (literals_.empty()) return;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    std::uint32_t n = kFirstLiteral - op.operands[i].id;
    if (n >= literals_.size()) continue;
    const Literal& literal = literals_[n];
    DType dtype = literal.dtype ? *literal.dtype : implied_dtype(graph_, op, i);
    op.operands[i] = constant(literal.number, dtype, op.loc, into);
  }
  literals_.clear();
}

Value CodeParser::use() {
  if (at_operand() && !in_.is(TokenKind::value)) return literal();
  Token token = in_.expect(TokenKind::value, "a value");
  auto it = names_.find(std::string(token.text));
  if (it == names_.end()) in_.fail_at(token, fmt::format("value %{} is not defined here", token.text));
  return it->second;
}

void CodeParser::uses(Op& op) {
  if (!in_.same_line() || !at_operand()) return;
  do {
    op.operands.push_back(use());
  } while (in_.accept(","));
}

int CodeParser::param() {
  Token token = in_.expect(TokenKind::word, "the name of a parameter");
  auto it = std::find(params_.begin(), params_.end(), token.text);
  if (it == params_.end()) in_.fail_at(token, fmt::format("there is no parameter '{}'", token.text));
  return static_cast<int>(it - params_.begin());
}

void CodeParser::optional_index(Op& op) {
  if (in_.same_line() && in_.is(TokenKind::at)) op.index = in_.index(TokenKind::at, "a number like @0");
}

void CodeParser::coordinates(Op& op) {
  uses(op);
  if (in_.accept(";")) {
    in_.expect("bound");
    op.axis = axis();
    op.operands.push_back(use());
  }
  in_.expect(")");
}

void CodeParser::head(Op& op) {
  switch (op.code) {
    case OpCode::constant: op.number = in_.number(); return;
    case OpCode::scalar: op.index = param(); return;
    case OpCode::position:
      op.axis = axis();
      if (in_.accept("digits")) {
        op.index = in_.integer();
        in_.expect("to");
        op.number = in_.integer();
      }
      if (in_.accept("(")) coordinates(op);
      return;
    case OpCode::exists:
      op.axis = axis();
      in_.expect("(");
      coordinates(op);
      return;
    case OpCode::tile_at:
      op.axis = axis();
      op.index = in_.index(TokenKind::at, "an order like @0");
      in_.expect("(");
      coordinates(op);
      return;
    case OpCode::iota:
    case OpCode::program_id:
    case OpCode::length: op.axis = axis(); return;
    case OpCode::load:
      op.index = param();
      if (in_.accept("(")) coordinates(op);
      return;
    case OpCode::store:
      op.index = param();
      in_.expect("(");
      coordinates(op);
      in_.expect(",");
      op.operands.insert(op.operands.begin(), use());
      return;
    case OpCode::gather:
      op.index = param();
      in_.expect("(");
      coordinates(op);
      return;
    case OpCode::copy:
      op.index = param();
      in_.expect("(");
      uses(op);
      in_.expect(";");
      uses(op);
      in_.expect(";");
      coordinates(op);
      return;
    case OpCode::send:
      op.index = param();
      in_.expect("(");
      uses(op);
      in_.expect(";");
      coordinates(op);
      return;
    case OpCode::expect: op.number = in_.number(); break;
    case OpCode::wait:
      if (in_.is(TokenKind::number)) op.index = in_.integer();
      break;
    case OpCode::mma_wait: op.index = in_.integer(); break;
    case OpCode::allowed:
    case OpCode::apply: optional_index(op); break;
    case OpCode::role: op.index = in_.index(TokenKind::at, "a role like @0"); return;
    case OpCode::loop:
      op.operands.push_back(use());
      in_.expect("to");
      op.operands.push_back(use());
      return;
    case OpCode::over:
      op.axis = axis();
      if (in_.accept("mask")) op.index = in_.index(TokenKind::at, "a mask like @0");
      if (in_.accept("bound")) op.operands.push_back(use());
      return;
    case OpCode::when: op.operands.push_back(use()); return;
    case OpCode::programs: return;
    default:
      if (in_.same_line() && in_.is(TokenKind::word) && !at_operand()) op.axis = axis();
      break;
  }
  uses(op);
}

// "(%row_max = %1, %acc = %2)": names of region arguments and their initial values.
void CodeParser::carried(Op& op, std::vector<Token>& names) {
  if (!in_.accept("(")) return;
  do {
    names.push_back(in_.expect(TokenKind::value, "the name of a carried value"));
    in_.expect("=");
    op.operands.push_back(use());
  } while (in_.accept(","));
  in_.expect(")");
}

void CodeParser::region(Op& op, const std::vector<Token>& names) {
  in_.expect("{");
  std::size_t outside = visible_.size(), constants = constants_.size(), first = op.operands.size() - names.size();
  Block& region = op.regions.emplace_back();
  if (op.code == OpCode::loop || op.code == OpCode::over || op.code == OpCode::programs) {
    in_.expect("^");
    in_.expect("(");
    Token name = in_.expect(TokenKind::value, "the name of the loop's index");
    Type type = in_.accept(":") ? parse_type(in_, layouts_) : Type::scalar(DType::i32);
    in_.expect(")");
    region.args.push_back(define(name, std::move(type)));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    region.args.push_back(define(names[i], graph_.type(op.operands[first + i])));
  }
  block(region);
  for (; visible_.size() > outside; visible_.pop_back()) names_.erase(visible_.back());
  constants_.resize(constants);
}

void CodeParser::results(Op& op, const std::vector<Token>& names) {
  if (op.code == OpCode::mma_wait || !op.regions.empty()) {
    if (names.size() > op.operands.size()) in_.fail_at(names[0], "more results than carried values");
    std::size_t first = op.operands.size() - names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      op.results.push_back(define(names[i], graph_.type(op.operands[first + i])));
    }
    return;
  }
  if (names.empty()) return;
  if (names.size() > 1) in_.fail_at(names[1], fmt::format("'{}' has one result", info(op.code).name));
  in_.expect(":");
  op.results.push_back(define(names[0], parse_type(in_, layouts_)));
}

Op CodeParser::op(Block& into) {
  std::vector<Token> names;
  SourceLoc loc = in_.loc();
  if (in_.is(TokenKind::value)) {
    do {
      names.push_back(in_.expect(TokenKind::value, "a value"));
    } while (in_.accept(","));
    in_.expect("=");
  }
  Token name = in_.expect(TokenKind::word, "an operation");
  auto code = codes().find(name.text);
  if (code == codes().end()) in_.fail_at(name, fmt::format("there is no operation '{}'", name.text));
  Op op{.code = code->second, .loc = loc};
  head(op);
  if (has_region(op.code)) {
    std::vector<Token> arguments;
    carried(op, arguments);
    settle(op, into);
    region(op, arguments);
  }
  results(op, names);
  settle(op, into);
  if (is_literal(graph_, op)) constants_.push_back({graph_.type(op.results[0]).dtype, op.number, op.results[0]});
  return op;
}

void CodeParser::block(Block& into) {
  while (!in_.accept("}")) {
    Op next = op(into);
    into.ops.push_back(std::move(next));
  }
}

}  // namespace tessera::ir::detail
