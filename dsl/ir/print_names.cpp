#include <tessera/dsl/ir/print_names.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tessera::ir::detail {

std::string constant_name(double number, const Type& type) {
  if (!type.is_scalar()) return {};
  if (type.dtype == DType::i1) return number != 0 ? "true" : "false";
  return type.dtype == DType::i32 ? fmt::format("c{}", static_cast<std::int64_t>(number)) : std::string();
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
  for (Value arg : graph.entry.args) name(arg, nullptr);
  block(graph.entry);
}

void ValueNames::name(Value v, const Op* producer) {
  if (v.id >= names_.size() || !names_[v.id].empty()) return;
  std::string wanted = identifier(graph_.name_of(v));
  if (wanted.empty() && producer && producer->code == OpCode::constant) {
    wanted = constant_name(producer->number, graph_.type(v));
  }
  names_[v.id] = "%" + (wanted.empty() ? std::to_string(next_++) : distinct_(wanted));
}

void ValueNames::block(const Block& block) {
  for (const Op& op : block.ops) {
    for (const Block& region : op.regions) {
      for (Value arg : region.args) {
        if (arg.id < names_.size() && !graph_.name_of(arg).empty()) name(arg, nullptr);
      }
    }
    for (Value v : op.results) name(v, &op);
    for (const Block& region : op.regions) {
      for (Value arg : region.args) name(arg, nullptr);
      this->block(region);
    }
  }
}

std::string ValueNames::operator[](Value v) const {
  return v.id < names_.size() && !names_[v.id].empty() ? names_[v.id] : "%?";
}

std::string argument_name(const Function& function, std::size_t i) {
  static constexpr const char* kNames[] = {"q", "k", "head", "batch", "query_length", "key_length"};
  const std::string& given = function.graph.name_of(function.graph.entry.args[i]);
  if (!given.empty()) return given;
  return i < std::size(kNames) ? kNames[i] : "x";
}

}  // namespace tessera::ir::detail
