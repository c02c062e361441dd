#include <tessera/dsl/ir/parse_code.h>

#include <algorithm>

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

std::string user_name(const Token& token, const Type& type, const Op* producer) {
  std::string name = without_suffix(std::string(token.text));
  if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  bool constant = producer && producer->code == OpCode::constant;
  return constant && name == constant_name(producer->number, type) ? std::string() : name;
}

}  // namespace

Value CodeParser::define(const Token& token, Type type, const Op* producer) {
  std::string written(token.text);
  std::string name = user_name(token, type, producer);
  Value v = graph_.add_value(std::move(type), std::move(name));
  if (!names_.emplace(written, v).second) in_.fail_at(token, fmt::format("value %{} is defined twice", written));
  visible_.push_back(std::move(written));
  return v;
}

Value CodeParser::use() {
  Token token = in_.expect(TokenKind::value, "a value");
  auto it = names_.find(std::string(token.text));
  if (it == names_.end()) in_.fail_at(token, fmt::format("value %{} is not defined here", token.text));
  return it->second;
}

void CodeParser::uses(Op& op) {
  if (!in_.same_line() || !in_.is(TokenKind::value)) return;
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
      if (in_.accept("(")) coordinates(op);
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
    default:
      if (in_.same_line() && in_.is(TokenKind::word)) op.axis = axis();
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

void CodeParser::region(Op& op) {
  std::vector<Token> names;
  carried(op, names);
  in_.expect("{");
  std::size_t outside = visible_.size(), first = op.operands.size() - names.size();
  Block& region = op.regions.emplace_back();
  if (op.code == OpCode::loop || op.code == OpCode::over) {
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
}

void CodeParser::results(Op& op, const std::vector<Token>& names) {
  if (op.code == OpCode::mma_wait || !op.regions.empty()) {
    if (names.size() > op.operands.size()) in_.fail_at(names[0], "more results than carried values");
    std::size_t first = op.operands.size() - names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      op.results.push_back(define(names[i], graph_.type(op.operands[first + i]), &op));
    }
    return;
  }
  if (names.empty()) return;
  if (names.size() > 1) in_.fail_at(names[1], fmt::format("'{}' has one result", info(op.code).name));
  in_.expect(":");
  op.results.push_back(define(names[0], parse_type(in_, layouts_), &op));
}

Op CodeParser::op() {
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
  bool has_region =
      op.code == OpCode::loop || op.code == OpCode::over || op.code == OpCode::when || op.code == OpCode::role;
  if (has_region) region(op);
  results(op, names);
  return op;
}

void CodeParser::block(Block& into) {
  while (!in_.accept("}")) into.ops.push_back(op());
}

}  // namespace tessera::ir::detail
