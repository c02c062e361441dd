#include <fmt/format.h>

#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/parse_code.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/print_names.h>

namespace tessera::ir {

namespace {

using detail::CodeParser;
using detail::Layouts;
using detail::Token;
using detail::TokenKind;
using detail::Tokens;

// "@1" must come second: entries are referred to by number.
void numbered(Tokens& in, std::size_t wanted) {
  Token token = in.peek();
  int n = in.index(TokenKind::at, "a number like @0");
  if (n != static_cast<int>(wanted)) in.fail_at(token, fmt::format("expected @{}, found @{}", wanted, n));
}

// After `function` and its number.
Function parse_function_body(Tokens& in) {
  Function function;
  Layouts none;
  function.name = detail::without_suffix(in.word("the name of a function"));
  CodeParser code(in, function.graph, none);
  in.expect("(");
  while (!in.accept(")")) {
    if (!function.graph.entry.args.empty()) in.expect(",");
    Token name = in.expect(TokenKind::word, "the name of an argument");
    Type type = in.accept(":") ? detail::parse_type(in, none) : Type::scalar(DType::i32);
    function.graph.entry.args.push_back(code.define(name, std::move(type)));
  }
  in.expect("{");
  while (in.accept("param")) {
    std::string written;
    function.params.push_back(detail::parse_param(in, written));
    code.add_param(written);
  }
  code.block(function.graph.entry);
  return function;
}

Stage parse_stage(Tokens& in) {
  for (Stage stage : {Stage::traced, Stage::tiled, Stage::placed}) {
    if (in.accept(to_string(stage))) return stage;
  }
  in.fail("traced, tiled or placed");
}

void parse_grid(Tokens& in, Kernel& kernel) {
  in.expect("grid");
  in.expect("(");
  while (!in.accept(")")) {
    if (!kernel.grid.empty()) in.expect(",");
    Dim dim = detail::parse_dim(in);
    kernel.grid.push_back(dim.axis);
    if (kernel.stage != Stage::traced) kernel.grid_tiles.push_back(dim);
    if (!in.is(TokenKind::at)) continue;
    kernel.grid_orders.resize(kernel.grid.size(), -1);
    kernel.grid_orders.back() = in.index(TokenKind::at, "an order like @0");
  }
  if (!kernel.grid_orders.empty()) kernel.grid_orders.resize(kernel.grid.size(), -1);
  if (in.accept("sections")) kernel.order.section = in.integer();
  kernel.order.descending = in.accept("descending");
  if (in.accept("threads")) kernel.threads = in.integer();
  if (in.accept("blocks")) kernel.blocks = in.integer();
}

Role parse_role(Tokens& in) {
  Role role;
  role.name = in.word("the name of a role");
  role.warpgroups = in.times();
  if (in.accept("registers")) role.registers = in.integer();
  return role;
}

// After the order's number.
AxisOrder parse_order(Tokens& in) {
  const Dim dim = detail::parse_dim(in);
  AxisOrder cut{dim.axis, {}, dim.extent};
  in.expect("[");
  do {
    OrderDigit& digit = cut.order.digits.emplace_back();
    digit.weight = in.integer();
    in.expect(":");
    digit.tile = in.integer();
    if (in.is(TokenKind::number)) digit.origin = -in.integer();
  } while (in.accept(","));
  in.expect("]");
  return cut;
}

// The line is an entry of the kernel's list of roles, not the op that runs one: a name follows the number.
bool at_role_entry(const Tokens& in) { return in.is("role") && in.peek(2).kind == TokenKind::word; }

Kernel parse_kernel(Tokens& in) {
  Kernel kernel;
  in.expect("kernel");
  kernel.name = in.word("the name of the kernel");
  kernel.stage = parse_stage(in);
  parse_grid(in, kernel);
  in.expect("{");
  Layouts layouts;
  CodeParser code(in, kernel, layouts);
  for (bool header = true; header;) {
    if (in.accept("param")) {
      std::string written;
      kernel.params.push_back(detail::parse_param(in, written));
      code.add_param(written);
    } else if (in.accept("whole")) {
      kernel.whole.push_back(detail::parse_dim(in));
    } else if (in.accept("order")) {
      numbered(in, kernel.orders.size());
      kernel.orders.push_back(parse_order(in));
    } else if (at_role_entry(in)) {
      in.take();
      numbered(in, kernel.roles.size());
      kernel.roles.push_back(parse_role(in));
    } else if (in.accept("layout")) {
      Token token = in.peek();
      int n = in.index(TokenKind::hash, "a number like #0");
      if (n != static_cast<int>(layouts.size()))
        in.fail_at(token, fmt::format("expected #{}, found #{}", layouts.size(), n));
      layouts.push_back(std::make_shared<const Layout>(detail::parse_layout(in)));
    } else if (in.accept("function")) {
      numbered(in, kernel.functions.size());
      kernel.functions.push_back(parse_function_body(in));
    } else {
      header = false;
    }
  }
  code.block(kernel.entry);
  return kernel;
}

}  // namespace

Kernel parse(std::string_view text, const char* file) {
  Tokens in(text, file);
  Kernel kernel = parse_kernel(in);
  if (!in.is(TokenKind::end)) in.fail("the end of the text");
  return kernel;
}

Function parse_function(std::string_view text, const char* file) {
  Tokens in(text, file);
  in.expect("function");
  Function function = parse_function_body(in);
  if (!in.is(TokenKind::end)) in.fail("the end of the text");
  return function;
}

}  // namespace tessera::ir
