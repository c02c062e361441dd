// A kernel: a block-level program that computes one tile of every grid axis.
//
//   auto forward = kernel(grid<Query, Head, Batch>, []<DType T>(ForwardArgs<traced, T> a, Mask mask) { ... });
//   Traced t = forward.trace<bf16>(causal);
//
// The first parameter of the lambda is the argument struct; whatever follows (masks, scores, options of the user's own)
// is given to trace. Tracing runs the lambda once: C++ control flow in it decides then, and C++ numbers are constants.
#pragma once

#include <string>
#include <utility>

#include <tessera/dsl/lang/arguments.h>

namespace tessera {

template <class... A>
struct GridAxes {};
// The axes that programs are launched over. Those that tensors list are tiled, the others (Head, Batch) step by one.
template <AxisType... A>
inline constexpr GridAxes<A...> grid{};

namespace detail {

template <class Call>
struct FirstArgument;
template <class R, class F, class Args, class... Rest>
struct FirstArgument<R (F::*)(Args, Rest...) const> {
  using type = std::remove_cvref_t<Args>;
};

template <class F, DType... T>
auto call_operator() {
  if constexpr (sizeof...(T) == 0) {
    return &F::operator();
  } else {
    return &F::template operator()<T...>;
  }
}
template <class F, DType... T>
using arguments_of = typename FirstArgument<decltype(call_operator<F, T...>())>::type;

template <class F>
concept PlainBody = requires { typename FirstArgument<decltype(&F::operator())>::type; };
template <class F, DType... T>
concept TypedBody = requires { typename FirstArgument<decltype(&F::template operator()<T...>)>::type; };
// A lambda that can be traced for T...
template <class F, DType... T>
constexpr bool has_body() {
  if constexpr (sizeof...(T) == 0) {
    return PlainBody<F>;
  } else {
    return TypedBody<F, T...>;
  }
}
// Whether that lambda takes these after its arguments.
template <class F, class Args, DType... T>
struct KernelBody {
  template <class... Extra>
  static constexpr bool takes() {
    if constexpr (sizeof...(T) == 0) {
      return std::is_invocable_v<const F&, Args&, Extra...>;
    } else {
      return requires(const F& body, Args& args, Extra&&... extra) {
        body.template operator()<T...>(args, std::forward<Extra>(extra)...);
      };
    }
  }
};

// Opens the kernel's trace, and closes it: checks the outputs, drops optional parameters that were not used.
class KernelTrace {
 public:
  KernelTrace(std::string name, std::vector<ir::Axis> grid, std::vector<ParameterNote> parameters, SourceLoc loc);
  Traced finish();

 private:
  void check_outputs() const;
  void drop_unused_parameters();

  Traced program_;
  std::vector<ParameterNote> parameters_;
  std::unique_ptr<Trace> trace_;
  SourceLoc loc_;
};

}  // namespace detail

namespace check {
template <class F, bool Plain>
struct TracedFor {
  static_assert(!Plain || detail::never<F>,
                "this kernel's lambda is a template: name the element types, as in trace<bf16>(...), and the argument "
                "struct, as in []<DType T>(Args<traced, T> a)");
  static_assert(
      Plain || detail::never<F>,
      "this kernel's lambda does not take these element types: trace() without any, or make it a template, as "
      "in []<DType T>(Args<traced, T> a)");
  static constexpr bool ok = true;
};
template <class F, class... Extra>
struct TracedWith {
  static_assert(detail::never<F>,
                "trace(...) is given what the kernel's lambda takes after its arguments: masks, scores and options, in "
                "that order");
  static constexpr bool ok = true;
};
}  // namespace check

template <class F, class... G>
class KernelDef {
 public:
  KernelDef(F body, SourceLoc loc) : body_(std::move(body)), loc_(loc) {}

  // Its IR and its entry point bear the name: letters, digits and underscores.
  KernelDef named(std::string name, SourceLoc loc = SourceLoc::here()) const {
    detail::check_name("a kernel", name, loc);
    KernelDef copy = *this;
    copy.name_ = std::move(name);
    return copy;
  }

  // Runs the lambda for these element types. `extra` are its parameters after the first.
  template <DType... T, class... Extra>
  Traced trace(Extra&&... extra) const {
    if constexpr (!detail::has_body<F, T...>()) {
      static_assert(check::TracedFor<F, sizeof...(T) == 0>::ok);
      return {};
    } else {
      using Args = detail::arguments_of<F, T...>;
      if constexpr (!detail::KernelBody<F, Args, T...>::template takes<Extra...>()) {
        static_assert(check::TracedWith<F, Extra...>::ok);
        return {};
      } else {
        return run<Args, T...>(std::forward<Extra>(extra)...);
      }
    }
  }

 private:
  template <class Args, DType... T, class... Extra>
  Traced run(Extra&&... extra) const {
    Args args{};
    detail::KernelTrace trace(name_, {detail::axis<G>()...}, detail::declare_parameters(args), loc_);
    if constexpr (sizeof...(T) == 0) {
      body_(args, std::forward<Extra>(extra)...);
    } else {
      body_.template operator()<T...>(args, std::forward<Extra>(extra)...);
    }
    return trace.finish();
  }

  F body_;
  std::string name_ = "kernel";
  SourceLoc loc_;
};

template <class... G, class F>
KernelDef<F, G...> kernel(GridAxes<G...>, F body, SourceLoc loc = SourceLoc::here()) {
  return {std::move(body), loc};
}

// The same with a name, which its IR and its entry point bear.
template <class... G, class F>
KernelDef<F, G...> kernel(const char* name, GridAxes<G...> axes, F body, SourceLoc loc = SourceLoc::here()) {
  return kernel(axes, std::move(body), loc).named(name, loc);
}

}  // namespace tessera
