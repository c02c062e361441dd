// Arguments of a kernel: one struct template that exists in two stages. Args<traced> holds what the program reads and
// writes, Args<bound> the memory and numbers of a call; both are walked in the same order, so the parameter list and
// the call cannot drift apart.
//
//   template <class Stage, DType T> struct Args { TESSERA_STRUCT(Args,
//     (In<Stage, T, Query, Depth>, q),                  load(a.q)
//     (Out<Stage, f32, Query>, lse),                    store(a.lse, ...)
//     (Scalar<Stage, f32>, scale),                      an f32 value
//     (Lookup<Stage, i32, 1>, key_lengths),             a.key_lengths[index<Batch>()]
//     (Optional<Out<Stage, f32, Query>>, lse)); };      no parameter of kernels that don't use it
//
//   Args<bound, bf16>{.q = view, .scale = 0.125}        views are tessera::View
#pragma once

#include <utility>

#include <tessera/dsl/ir/arguments.h>
#include <tessera/dsl/lang/struct.h>

namespace tessera {

namespace detail {

struct Parameter {
  int index = -1;
};

// A tensor at a call: any memory with any strides.
struct BoundView {
  View view;
  bool given = false;
  BoundView() = default;
  BoundView(View v) : view(std::move(v)), given(true) {}
};

// A kernel parameter's kind, dtype, axes and rank, for both stages of an argument.
template <ir::ParamKind Kind, DType T, int Rank, class... A>
struct ArgumentOf {
  static_assert(distinct<Axes<A...>>, "the axes of an argument are different from each other");
  using axes_list = Axes<A...>;
  static constexpr DType element = T;
  static constexpr bool optional = false;
  static constexpr bool is_output = Kind == ir::ParamKind::output;
  static ir::Param parameter(const char* name) {
    return {.name = name, .kind = Kind, .dtype = T, .axes = detail::axes(axes_list{}), .rank = Rank};
  }
};

}  // namespace detail

// A tensor that is read. Its axes are listed outermost first, as they lie in memory; grid axes that it does not list
// (Batch, Head) come before them.
template <class Stage, DType T, AxisType... A>
struct In;
template <DType T, AxisType... A>
struct In<traced, T, A...> : detail::ArgumentOf<ir::ParamKind::input, T, sizeof...(A), A...>, detail::Parameter {};
template <DType T, AxisType... A>
struct In<bound, T, A...> : detail::ArgumentOf<ir::ParamKind::input, T, sizeof...(A), A...>, detail::BoundView {
  using detail::BoundView::BoundView;
};

// A tensor that is written.
template <class Stage, DType T, AxisType... A>
struct Out;
template <DType T, AxisType... A>
struct Out<traced, T, A...> : detail::ArgumentOf<ir::ParamKind::output, T, sizeof...(A), A...>, detail::Parameter {};
template <DType T, AxisType... A>
struct Out<bound, T, A...> : detail::ArgumentOf<ir::ParamKind::output, T, sizeof...(A), A...>, detail::BoundView {
  using detail::BoundView::BoundView;
};

// A number given at launch.
template <class Stage, DType T>
struct Scalar;
template <DType T>
struct Scalar<traced, T>
    : detail::ArgumentOf<ir::ParamKind::scalar, T, 0>, detail::Parameter, NoBranch<Scalar<traced, T>> {
  static_assert(T == f32 || T == i32, "a Scalar is f32 or i32");
  using axes = Axes<>;
  static constexpr DType dtype = T;
  using bound_value = void;
  detail::Handle lower(SourceLoc loc) const { return detail::scalar(index, T, loc); }
};
template <DType T>
struct Scalar<bound, T> : detail::ArgumentOf<ir::ParamKind::scalar, T, 0> {
  double value = 0;
  bool given = false;
  Scalar() = default;
  Scalar(double v) : value(v), given(true) {}
};

namespace detail {

// One element a position: the table is read at the indices, elementwise.
template <DType T, class First, class... Rest>
struct Read : NoBranch<Read<T, First, Rest...>> {
  static_assert(First::dtype == i32 && ((Rest::dtype == i32) && ...),
                "a Lookup is read at i32 positions: cast<i32>(x)");
  static_assert((same_axes<typename First::axes, typename Rest::axes> && ...),
                "the indices of a Lookup have the same axes");
  using axes = typename First::axes;
  static constexpr DType dtype = T;
  int param;
  hana::tuple<First, Rest...> indices;

  Read(int p, First first, Rest... rest) : param(p), indices(first, rest...) {}
  Handle lower(SourceLoc loc) const {
    std::vector<Handle> at;
    hana::for_each(indices, [&](const auto& i) { at.push_back(i.lower(loc)); });
    return gather(param, T, at, loc);
  }
};

}  // namespace detail

// A table that is given at the call: contiguous, read at computed positions, each clamped into range.
template <class Stage, DType T, int Rank = 1>
struct Lookup;
template <DType T, int Rank>
struct Lookup<traced, T, Rank> : detail::ArgumentOf<ir::ParamKind::table, T, Rank>, detail::Parameter {
  template <class I>
    requires detail::Operand<I>
  auto operator[](I&& i) const {
    static_assert(Rank == 1,
                  "a table of several dimensions is read by table(i, j): in C++20 table[i, j] means table[j]");
    return (*this)(std::forward<I>(i));
  }
  template <class... I>
    requires(detail::Operand<I> && ...)
  auto operator()(I&&... i) const {
    static_assert(sizeof...(I) == Rank, "a Lookup is read at as many positions as it has dimensions");
    static_assert((check::UsedOnce<I>::ok && ...));
    return detail::Read<T, detail::operand_type<i32, detail::Plain<I>>...>(index, detail::operand<i32>(i)...);
  }
};
template <DType T, int Rank>
struct Lookup<bound, T, Rank> : detail::ArgumentOf<ir::ParamKind::table, T, Rank>, detail::BoundView {
  using detail::BoundView::BoundView;
};

// An argument that a program may leave unused: then its kernel has no such parameter, and the call gives none.
template <class Argument>
struct Optional : Argument {
  using Argument::Argument;
  static constexpr bool optional = true;
};

namespace check {
template <class Args>
struct ArgumentStruct {
  static_assert(detail::hana::Struct<Args>::value,
                "the arguments of a kernel are a struct template declared by TESSERA_STRUCT: template <class Stage> "
                "struct Args { TESSERA_STRUCT(Args, (In<Stage, f32, Query>, x), ...); }");
  static constexpr bool ok = true;
};
}  // namespace check

namespace detail {

struct ParameterNote {
  ir::Param param;
  bool optional;
};

// Numbers the fields of Args<traced> and describes them.
template <class Args>
std::vector<ParameterNote> declare_parameters(Args& args) {
  static_assert(check::ArgumentStruct<Args>::ok);
  std::vector<ParameterNote> notes;
  for_each_field(args, [&](const char* name, auto& field) {
    using Field = Plain<decltype(field)>;
    static_assert(
        requires { Field::parameter(name); },
        "the fields of kernel arguments are In, Out, Scalar, Lookup or Optional of one");
    field.index = static_cast<int>(notes.size());
    notes.push_back({Field::parameter(name), Field::optional});
  });
  return notes;
}

struct NamedArgument {
  ir::Param param;  // as the struct describes it
  ir::Argument value;
  bool given;
};
std::vector<ir::Argument> match_arguments(const ir::Kernel& traced, std::vector<NamedArgument> given, SourceLoc loc);

}  // namespace detail

// The arguments of a call in the order of the traced kernel's parameters. UserError for one that is missing, given to a
// kernel without it, or of another type than the kernel's.
template <class Bound>
std::vector<ir::Argument> arguments(const Bound& bound, const ir::Kernel& traced, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::ArgumentStruct<Bound>::ok);
  std::vector<detail::NamedArgument> given;
  detail::for_each_field(bound, [&](const char* name, const auto& field) {
    const ir::Param param = detail::Plain<decltype(field)>::parameter(name);
    if constexpr (requires { field.view; }) {
      given.push_back({param, field.view, field.given});
    } else {
      given.push_back({param, field.value, field.given});
    }
  });
  return detail::match_arguments(traced, std::move(given), loc);
}

}  // namespace tessera
