#include <fmt/format.h>

#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/parse_code.h>
#include <tessera/dsl/ir/print_names.h>

namespace tessera::ir::detail {

Dim parse_dim(Tokens& in) {
  Dim dim{Axis::named(in.word("the name of an axis")), 0};
  if (in.accept(":")) dim.extent = in.integer();
  return dim;
}

DType parse_dtype(const Tokens& in, const Token& token, std::string_view name) {
  try {
    return dtype_named(name);
  } catch (const UserError&) {
    in.fail_at(token, fmt::format("expected a type, found '{}'", name),
               "use one of i1, i32, f16, bf16, f32, tile, shared, view, barrier");
  }
}

namespace {

DType parse_dtype(Tokens& in) {
  Token token = in.expect(TokenKind::word, "a type");
  return parse_dtype(in, token, token.text);
}

Type parse_elements(Tokens& in) {
  Type type = Type::scalar(parse_dtype(in));
  if (!in.accept("[")) return type;
  do {
    type.dims.push_back(parse_dim(in));
  } while (in.accept(","));
  in.expect("]");
  return type;
}

std::vector<Digit> parse_digits(Tokens& in) {
  std::vector<Digit> digits;
  while (in.is(TokenKind::number)) {
    Digit digit{.size = in.integer()};
    if (in.accept("*")) {
      digit.axis = Axis::named(in.word("the name of an axis"));
      in.expect(":");
      digit.step = in.integer();
    }
    digits.push_back(digit);
  }
  return digits;
}

}  // namespace

Type parse_type(Tokens& in, const Layouts& layouts) {
  if (in.accept("tile")) {
    return {.kind = TypeKind::index, .dtype = DType::i32, .dims = {{Axis::named(in.word("the name of an axis")), 0}}};
  }
  if (in.accept("barrier")) {
    Type type{.kind = TypeKind::barrier};
    in.expect("<");
    type.arrivals = in.integer();
    type.stages = in.times();
    in.expect(">");
    return type;
  }
  bool ring = in.accept("shared");
  if (ring || in.accept("view")) {
    in.expect("<");
    Type type = parse_elements(in);
    type.kind = ring ? TypeKind::shared : TypeKind::view;
    if (ring) type.stages = in.times();
    in.expect(">");
    return type;
  }
  Type type = parse_elements(in);
  if (in.is(TokenKind::hash)) {
    Token token = in.peek();
    int n = in.index(TokenKind::hash, "a layout");
    if (n >= static_cast<int>(layouts.size())) {
      in.fail_at(token, fmt::format("layout #{} is not listed, there are {}", n, layouts.size()));
    }
    type.layout = layouts[n];
  }
  return type;
}

Layout parse_layout(Tokens& in) {
  in.expect("{");
  in.expect("reg");
  std::vector<Digit> registers = parse_digits(in);
  in.expect("|");
  in.expect("lane");
  std::vector<Digit> lanes = parse_digits(in);
  in.expect("|");
  in.expect("warp");
  std::vector<Digit> warps = parse_digits(in);
  in.expect("}");
  return Layout(std::move(registers), std::move(lanes), std::move(warps));
}

Param parse_param(Tokens& in, std::string& written) {
  written = in.word("the name of a parameter");
  Param param;
  param.name = without_suffix(written);
  in.expect(":");
  if (in.accept("scalar")) {
    param.kind = ParamKind::scalar;
    param.dtype = parse_dtype(in);
  } else if (in.accept("table")) {
    param.kind = ParamKind::table;
    param.dtype = parse_dtype(in);
    in.expect("rank");
    param.rank = in.integer();
    param.indices = in.accept("indices");
  } else {
    if (!in.is("in") && !in.is("out")) in.fail("in, out, scalar or table");
    param.kind = in.take().text == "in" ? ParamKind::input : ParamKind::output;
    Type type = parse_elements(in);
    param.dtype = type.dtype;
    for (const Dim& d : type.dims) param.axes.push_back(d.axis);
    param.rank = static_cast<int>(param.axes.size());
  }
  return param;
}

}  // namespace tessera::ir::detail
