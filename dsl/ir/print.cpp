#include <tessera/dsl/ir/print.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/print_names.h>

namespace tessera::ir {

namespace {

std::string dim_text(const Dim& d) { return d.extent ? fmt::format("{}:{}", d.axis.name(), d.extent) : d.axis.name(); }

// Layouts are long and few: they are listed once at the top, and types refer to them by number.
class LayoutTable {
 public:
  void collect(const Graph& graph, const Block& block) {
    for (const Op& op : block.ops) {
      for (const Block& region : op.regions) {
        for (Value v : region.args) add(graph, v);
      }
      for (Value v : op.results) add(graph, v);
      for (const Block& region : op.regions) collect(graph, region);
    }
  }
  std::string text(const Type& type) const {
    if (!type.layout) return to_string(type);
    Type bare = type;
    bare.layout = nullptr;
    auto it = std::find(layouts_.begin(), layouts_.end(), *type.layout);
    return fmt::format("{} #{}", to_string(bare), it - layouts_.begin());
  }
  const std::vector<Layout>& layouts() const { return layouts_; }

 private:
  void add(const Graph& graph, Value v) {
    if (v.id >= graph.values.size()) return;
    const Type& t = graph.type(v);
    if (t.layout && std::find(layouts_.begin(), layouts_.end(), *t.layout) == layouts_.end()) {
      layouts_.push_back(*t.layout);
    }
  }
  std::vector<Layout> layouts_;
};

// The text of one graph's ops.
class CodePrinter {
 public:
  CodePrinter(const Graph& graph, const std::vector<Param>& params, const LayoutTable& layouts, PrintOptions options)
      : graph_(graph), layouts_(layouts), options_(options), names_(graph) {
    detail::Distinct distinct;
    for (const Param& p : params) params_.push_back(distinct(detail::identifier(p.name)));
  }

  std::string block(const Block& block, int indent) const {
    std::string text;
    for (const Op& op : block.ops) {
      if (!detail::is_literal(graph_, op)) text += line(op, indent);
    }
    return text;
  }
  std::string name(Value v) const { return names_[v]; }
  const std::string& param_name(std::size_t i) const { return params_[i]; }

 private:
  // By name, or as a number, whose dtype is written unless it is the implied one.
  std::string operand(const Op& op, std::size_t i) const {
    Value v = op.operands[i];
    const Op* literal = names_.literal(v);
    if (!literal) return names_[v];
    DType dtype = graph_.type(v).dtype;
    if (dtype == DType::i1 && (literal->number == 0 || literal->number == 1)) return literal->number ? "true" : "false";
    return dtype == detail::implied_dtype(graph_, op, i) ? fmt::format("{}", literal->number)
                                                         : fmt::format("{}:{}", literal->number, name_of(dtype));
  }
  // Operands [from, to), as far as there are so many.
  std::string list(const Op& op, std::size_t from = 0, std::size_t to = SIZE_MAX) const {
    std::string text;
    for (std::size_t i = from; i < std::min(to, op.operands.size()); ++i)
      text += (text.empty() ? "" : ", ") + operand(op, i);
    return text;
  }
  std::string results(const Op& op) const {
    std::string text;
    for (Value v : op.results) text += (text.empty() ? "" : ", ") + names_[v];
    return text;
  }
  std::string param(const Op& op) const {
    return op.index >= 0 && op.index < static_cast<int>(params_.size()) ? params_[op.index]
                                                                        : fmt::format("@{}", op.index);
  }
  std::string function(const Op& op) const { return op.index < 0 ? std::string() : fmt::format(" @{}", op.index); }

  // "%s0, %s1 ; bound Key %n": coordinates from operand `from` on.
  std::string coordinates(const Op& op, std::size_t from) const {
    std::size_t n = op.operands.size();
    if (!op.axis || n <= from) return list(op, from);
    return fmt::format("{} ; bound {} {}", list(op, from, n - 1), op.axis.name(), operand(op, n - 1));
  }

  std::string head(const Op& op) const {
    std::string_view name = info(op.code).name;
    bool none = op.operands.empty();
    switch (op.code) {
      case OpCode::constant: return fmt::format("constant {}", op.number);
      case OpCode::scalar: return fmt::format("scalar {}", param(op));
      case OpCode::position: {
        const std::string digits = op.index < 0 ? "" : fmt::format(" digits {} to {}", op.index, op.number);
        return fmt::format("position {}{}{}", op.axis.name(), digits, none ? std::string() : "(" + list(op) + ")");
      }
      case OpCode::exists: return fmt::format("exists {}({})", op.axis.name(), list(op));
      case OpCode::tile_at: return fmt::format("tile_at {} @{}({})", op.axis.name(), op.index, list(op));
      case OpCode::allowed:
      case OpCode::apply: return fmt::format("{}{} {}", name, function(op), list(op));
      case OpCode::load:
        return fmt::format("load {}{}", param(op), none ? std::string() : "(" + coordinates(op, 0) + ")");
      case OpCode::store: return fmt::format("store {}({}), {}", param(op), coordinates(op, 1), list(op, 0, 1));
      case OpCode::gather: return fmt::format("gather {}({})", param(op), list(op));
      case OpCode::copy:
        return fmt::format("copy {}({} ; {} ; {})", param(op), list(op, 0, 1), list(op, 1, 3), coordinates(op, 3));
      case OpCode::send: return fmt::format("send {}({} ; {})", param(op), list(op, 0, 1), coordinates(op, 1));
      case OpCode::expect: return fmt::format("expect {} {}", op.number, list(op));
      case OpCode::wait: return fmt::format("wait {}{}", op.index > 0 ? fmt::format("{} ", op.index) : "", list(op));
      case OpCode::mma_wait: return fmt::format("mma_wait {}{}", op.index, none ? "" : " " + list(op));
      case OpCode::loop: return fmt::format("loop {} to {}", list(op, 0, 1), list(op, 1, 2));
      case OpCode::over: return over_head(op);
      case OpCode::when: return fmt::format("when {}", list(op, 0, 1));
      case OpCode::role: return fmt::format("role @{}", op.index);
      case OpCode::programs: return "programs";
      default: break;
    }
    std::string text(name);
    if (op.axis) text += " " + op.axis.name();
    return none ? text : text + " " + list(op);
  }

  std::string over_head(const Op& op) const {
    std::string text = fmt::format("over {}", op.axis.name());
    if (op.index >= 0) text += fmt::format(" mask @{}", op.index);
    if (op.operands.size() > op.results.size()) text += " bound " + operand(op, 0);
    return text;
  }

  // " (%row_max = %1, %acc = %2)": what a region carries, and where it starts.
  std::string carried(const Op& op, const Block& region) const {
    std::size_t n = std::min({op.results.size(), op.operands.size(), region.args.size()});
    if (n == 0) return {};
    std::string text;
    std::size_t own = region.args.size() - n, first = op.operands.size() - n;
    for (std::size_t i = 0; i < n; ++i) {
      text += fmt::format("{}{} = {}", i ? ", " : " (", names_[region.args[own + i]], operand(op, first + i));
    }
    return text + ")";
  }

  std::string own_argument(const Op& op, const Block& region) const {
    if (region.args.size() <= op.results.size()) return {};
    Value arg = region.args[0];
    bool handle = op.code == OpCode::over && arg.id < graph_.values.size();
    return fmt::format("^({}{})", names_[arg], handle ? ": " + to_string(graph_.type(arg)) : std::string());
  }

  std::string line(const Op& op, int indent) const {
    std::string pad(indent, ' ');
    std::string text = pad;
    if (!op.results.empty()) text += results(op) + " = ";
    text += head(op);
    bool typed = op.results.size() == 1 && op.regions.empty() && op.code != OpCode::mma_wait;
    if (typed && op.results[0].id < graph_.values.size()) text += " : " + layouts_.text(graph_.type(op.results[0]));
    if (!op.regions.empty()) text += carried(op, op.regions[0]) + " {";
    if (options_.locations && op.loc) text += "  // " + to_string(op.loc);
    text += "\n";
    for (const Block& region : op.regions) {
      std::string own = own_argument(op, region);
      if (!own.empty()) text += pad + "  " + own + "\n";
      text += block(region, indent + 2) + pad + "}\n";
    }
    return text;
  }

  const Graph& graph_;
  const LayoutTable& layouts_;
  PrintOptions options_;
  detail::ValueNames names_;
  std::vector<std::string> params_;
};

std::string param_line(const Param& p, const std::string& name, int indent) {
  std::string text = fmt::format("{:{}}param {}: ", "", indent, name);
  switch (p.kind) {
    case ParamKind::scalar: return text + fmt::format("scalar {}\n", name_of(p.dtype));
    case ParamKind::table:
      return text + fmt::format("table {} rank {}{}\n", name_of(p.dtype), p.rank, p.indices ? " indices" : "");
    case ParamKind::input: text += "in "; break;
    case ParamKind::output: text += "out "; break;
  }
  Type type{.dtype = p.dtype};
  for (Axis axis : p.axes) type.dims.push_back({axis, 0});
  return text + to_string(type) + "\n";
}

std::string function_text(const Function& function, const std::string& title, int indent, PrintOptions options) {
  Function named = function;
  for (std::size_t i = 0; i < named.graph.entry.args.size(); ++i) {
    named.graph.values[named.graph.entry.args[i].id].name = detail::argument_name(function, i);
  }
  LayoutTable layouts;
  CodePrinter printer(named.graph, named.params, layouts, options);
  std::string pad(indent, ' ');
  std::string text = pad + title + detail::identifier(function.name) + "(";
  for (std::size_t i = 0; i < named.graph.entry.args.size(); ++i) {
    Value arg = named.graph.entry.args[i];
    const Type& type = named.graph.type(arg);
    text += (i ? ", " : "") + printer.name(arg).substr(1);
    if (i >= Function::kPositions || type != Type::scalar(DType::i32)) text += ": " + to_string(type);
  }
  text += ") {\n";
  for (std::size_t i = 0; i < named.params.size(); ++i) {
    text += param_line(named.params[i], printer.param_name(i), indent + 2);
  }
  return text + printer.block(named.graph.entry, indent + 2) + pad + "}\n";
}

std::string kernel_title(const Kernel& kernel) {
  std::string text = fmt::format("kernel {} {} grid(", detail::identifier(kernel.name), to_string(kernel.stage));
  for (std::size_t i = 0; i < kernel.grid.size(); ++i) {
    Dim dim{kernel.grid[i], i < kernel.grid_tiles.size() ? kernel.grid_tiles[i].extent : 0};
    text += (i ? ", " : "") + dim_text(dim);
    if (i < kernel.grid_orders.size() && kernel.grid_orders[i] >= 0) text += fmt::format(" @{}", kernel.grid_orders[i]);
  }
  text += ")";
  if (kernel.order.section) text += fmt::format(" sections {}", kernel.order.section);
  if (kernel.order.descending) text += " descending";
  if (kernel.threads) text += fmt::format(" threads {}", kernel.threads);
  if (kernel.blocks != 1) text += fmt::format(" blocks {}", kernel.blocks);
  return text + " {\n";
}

}  // namespace

std::string print(const Kernel& kernel, PrintOptions options) {
  LayoutTable layouts;
  layouts.collect(kernel, kernel.entry);
  CodePrinter printer(kernel, kernel.params, layouts, options);
  std::string text = kernel_title(kernel);
  for (std::size_t i = 0; i < kernel.params.size(); ++i) text += param_line(kernel.params[i], printer.param_name(i), 2);
  for (const Dim& d : kernel.whole) text += fmt::format("  whole {}\n", dim_text(d));
  for (std::size_t i = 0; i < kernel.orders.size(); ++i) {
    const AxisOrder& cut = kernel.orders[i];
    text += fmt::format("  order @{} {} {}\n", i, dim_text({cut.axis, cut.rows}), to_string(cut.order));
  }
  for (std::size_t i = 0; i < kernel.roles.size(); ++i) {
    const Role& role = kernel.roles[i];
    text += fmt::format("  role @{} {} x{}", i, detail::identifier(role.name), role.warpgroups);
    text += role.registers ? fmt::format(" registers {}\n", role.registers) : "\n";
  }
  for (std::size_t i = 0; i < layouts.layouts().size(); ++i) {
    text += fmt::format("  layout #{} {}\n", i, to_string(layouts.layouts()[i]));
  }
  for (std::size_t i = 0; i < kernel.functions.size(); ++i) {
    text += function_text(kernel.functions[i], fmt::format("function @{} ", i), 2, options);
  }
  return text + printer.block(kernel.entry, 2) + "}\n";
}

std::string print(const Function& function) { return function_text(function, "function ", 0, {}); }

}  // namespace tessera::ir
