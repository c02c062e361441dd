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

void check_kernel_name(const std::string& name, SourceLoc loc);

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

template <class F, class... G>
class KernelDef {
 public:
  KernelDef(F body, SourceLoc loc) : body_(std::move(body)), loc_(loc) {}

  // Its IR and its entry point bear the name: letters, digits and underscores.
  KernelDef named(std::string name, SourceLoc loc = SourceLoc::here()) const {
    detail::check_kernel_name(name, loc);
    KernelDef copy = *this;
    copy.name_ = std::move(name);
    return copy;
  }

  // Runs the lambda for these element types. `extra` are its parameters after the first.
  template <DType... T, class... Extra>
  Traced trace(Extra&&... extra) const {
    using Args = detail::arguments_of<F, T...>;
    Args args{};
    detail::KernelTrace trace(name_, {detail::axis<G>()...}, detail::declare_parameters(args), loc_);
    if constexpr (sizeof...(T) == 0) {
      body_(args, std::forward<Extra>(extra)...);
    } else {
      body_.template operator()<T...>(args, std::forward<Extra>(extra)...);
    }
    return trace.finish();
  }

 private:
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
