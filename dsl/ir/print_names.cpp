#include <tessera/dsl/ir/print_names.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tessera::ir::detail {

bool is_literal(const Graph& graph, const Op& op) {
  return op.code == OpCode::constant && op.results.size() == 1 && op.results[0].id < graph.values.size() &&
         graph.type(op.results[0]).is_scalar();
}

DType implied_dtype(const Graph& graph, const Op& op, std::size_t i) {
  auto dtype_of = [&](const std::vector<Value>& values) {
    bool known = !values.empty() && values[0].id < graph.values.size();
    return known ? graph.type(values[0]).dtype : DType::i32;
  };
  switch (info(op.code).kind) {
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::ternary: return op.code == OpCode::cast ? DType::i32 : dtype_of(op.results);
    case OpKind::compare: return i == 1 ? dtype_of(op.operands) : DType::i32;
    default: return op.code == OpCode::broadcast ? dtype_of(op.results) : DType::i32;
  }
}

std::string identifier(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (!out.empty() && std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(out.begin(), '_');
  return out;
}

std::string without_suffix(const std::string& name) { return name.substr(0, name.find('.')); }

std::string Distinct::operator()(const std::string& wanted) {
  int n = asked_[wanted]++;
  return n == 0 ? wanted : fmt::format("{}.{}", wanted, n);
}

ValueNames::ValueNames(const Graph& graph) : graph_(graph), names_(graph.values.size()) {
  for (Value arg : graph.entry.args) name(arg);
  block(graph.entry);
}

void ValueNames::name(Value v) {
  if (v.id >= names_.size() || !names_[v.id].empty()) return;
  std::string wanted = identifier(graph_.name_of(v));
  names_[v.id] = "%" + (wanted.empty() ? std::to_string(next_++) : distinct_(wanted));
}

void ValueNames::block(const Block& block) {
  for (const Op& op : block.ops) {
    if (is_literal(graph_, op)) {
      literals_.emplace(op.results[0].id, &op);
      continue;
    }
    for (const Block& region : op.regions) {
      for (Value arg : region.args) {
        if (arg.id < names_.size() && !graph_.name_of(arg).empty()) name(arg);
      }
    }
    for (Value v : op.results) name(v);
    for (const Block& region : op.regions) {
      for (Value arg : region.args) name(arg);
      this->block(region);
    }
  }
}

std::string ValueNames::operator[](Value v) const {
  return v.id < names_.size() && !names_[v.id].empty() ? names_[v.id] : "%?";
}

const Op* ValueNames::literal(Value v) const {
  auto it = literals_.find(v.id);
  return it == literals_.end() ? nullptr : it->second;
}

std::string argument_name(const Function& function, std::size_t i) {
  static constexpr const char* kNames[] = {"q", "k", "head", "batch", "query_length", "key_length"};
  const std::string& given = function.graph.name_of(function.graph.entry.args[i]);
  if (!given.empty()) return given;
  return i < std::size(kNames) ? kNames[i] : "x";
}

}  // namespace tessera::ir::detail
