#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/dsl/ir/typing.h>

namespace tessera {

namespace {
// Shapes are checked only when they are bound: until then a product may be of any size.
std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}
}  // namespace

View View::contiguous(void* data, DType dtype, std::vector<std::int64_t> shape, Memory memory) {
  View view{data, dtype, std::move(shape), {}, memory};
  view.strides.resize(view.shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride = saturated_product(stride, view.shape[i]);
  }
  return view;
}

std::int64_t View::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product = saturated_product(product, extent);
  return product;
}

}  // namespace tessera

namespace tessera::ir {
namespace {

std::string names_of(const std::vector<Param>& params) {
  std::string text;
  for (const Param& param : params) text += (text.empty() ? "" : ", ") + param.name;
  return text;
}

std::string counted(std::size_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

bool is_tensor(const Param& param) { return param.kind == ParamKind::input || param.kind == ParamKind::output; }

[[noreturn]] void refuse(const std::string& cause, const std::string& remedy) { throw UserError({}, cause, remedy); }

void check_scalar(const Param& param, const Argument& argument) {
  const double* value = std::get_if<double>(&argument);
  if (!value) refuse(fmt::format("'{}' is a scalar, got a tensor", param.name), "pass a number");
  if (param.dtype == DType::i32 && !(std::floor(*value) == *value && *value >= -0x1p31 && *value < 0x1p31)) {
    refuse(fmt::format("'{}' is an i32 scalar, got {}", param.name, *value), "pass a whole number that fits 32 bits");
  }
}

// What holds for every view, whatever it is an argument for.
void check_memory(const Param& param, const View& view) {
  if (view.dtype != param.dtype) {
    refuse(fmt::format("'{}' is {} in this kernel, got {}", param.name, name_of(param.dtype), name_of(view.dtype)),
           fmt::format("convert it to {}, or build the kernel for {}", name_of(param.dtype), name_of(view.dtype)));
  }
  if (view.strides.size() != view.shape.size()) {
    refuse(fmt::format("'{}' has {} but {}", param.name, counted(view.shape.size(), "dimension"),
                       counted(view.strides.size(), "stride")),
           "give one stride a dimension, in elements");
  }
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] < 0 || view.shape[i] > std::numeric_limits<std::int32_t>::max()) {
      refuse(fmt::format("'{}' has extent {} in dimension {}", param.name, view.shape[i], i),
             "extents lie between 0 and 2147483647: positions are 32-bit");
    }
  }
  if (!view.data && view.elements() > 0) {
    refuse(fmt::format("'{}' is a null pointer, but has {} elements", param.name, view.elements()),
           "pass the address of its first element");
  }
}

void check_table(const Param& param, const View& view) {
  if (static_cast<int>(view.shape.size()) != param.rank) {
    refuse(fmt::format("table '{}' has {}, got {}", param.name,
                       counted(static_cast<std::size_t>(param.rank), "dimension"), view.shape.size()),
           "pass an array of the rank that the kernel indexes");
  }
  const View packed = View::contiguous(view.data, view.dtype, view.shape);
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.elements() > 0 && view.shape[i] > 1 && view.strides[i] != packed.strides[i]) {
      refuse(fmt::format("table '{}' has stride {} in dimension {}, contiguous would be {}", param.name,
                         view.strides[i], i, packed.strides[i]),
             "pass a contiguous copy");
    }
  }
}

// Checks the rank and puts 1s in front of a shape that lacks leading dims.
View completed(const Param& param, View view, const std::vector<Axis>& outer) {
  const std::size_t listed = param.axes.size(), rank = outer.size() + listed;
  if (view.shape.size() < listed || view.shape.size() > rank) {
    std::vector<Axis> all = outer;
    all.insert(all.end(), param.axes.begin(), param.axes.end());
    const std::string wanted = listed == rank ? fmt::format("{}", rank) : fmt::format("{} to {}", listed, rank);
    refuse(fmt::format("'{}' has {}, this kernel takes {}: [{}]", param.name, counted(view.shape.size(), "dimension"),
                       wanted, names_of(all)),
           "reshape it; only leading dimensions may be left out");
  }
  const std::size_t missing = rank - view.shape.size();
  view.shape.insert(view.shape.begin(), missing, 1);
  view.strides.insert(view.strides.begin(), missing, 0);
  return view;
}

void check_output(const Param& param, const View& view, const std::vector<Axis>& outer) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.strides[i] != 0 || view.shape[i] <= 1 || view.elements() == 0) continue;
    const Axis axis = i < outer.size() ? outer[i] : param.axes[i - outer.size()];
    refuse(fmt::format("output '{}' has stride 0 along {}, where it has extent {}", param.name, axis.name(),
                       view.shape[i]),
           "every element of an output needs memory of its own");
  }
}

// Works out axis lengths and groups from views that are complete.
class Resolver {
 public:
  Resolver(const Kernel& kernel, Binding& binding) : kernel_(kernel), binding_(binding), outer_(outer_axes(kernel)) {}

  void run() {
    for (std::size_t p = 0; p < kernel_.params.size(); ++p) {
      if (is_tensor(kernel_.params[p])) listed_axes(p);
    }
    for (std::size_t i = 0; i < outer_.size(); ++i) outer_length(i);
    for (const Dim& dim : kernel_.whole) whole_length(dim);
    for (Axis axis : kernel_.grid) {
      if (!known(axis)) binding_.lengths.push_back({axis, 1});
    }
  }

 private:
  const View& view(std::size_t p) const { return std::get<View>(binding_.arguments[p]); }

  const AxisLength* known(Axis axis) const {
    const auto found = std::find_if(binding_.lengths.begin(), binding_.lengths.end(),
                                    [axis](const AxisLength& l) { return l.axis == axis; });
    return found == binding_.lengths.end() ? nullptr : &*found;
  }

  void listed_axes(std::size_t p) {
    const Param& param = kernel_.params[p];
    for (std::size_t i = 0; i < param.axes.size(); ++i) {
      const std::int64_t length = view(p).shape[outer_.size() + i];
      const AxisLength* other = known(param.axes[i]);
      if (!other) {
        binding_.lengths.push_back({param.axes[i], length});
        setter_.push_back(p);
      } else if (other->length != length) {
        const std::size_t first = setter_[static_cast<std::size_t>(other - binding_.lengths.data())];
        refuse(fmt::format("axis {} is {} in '{}' but {} in '{}'", param.axes[i].name(), other->length,
                           kernel_.params[first].name, length, param.name),
               "tensors must agree on the length of an axis they share");
      }
    }
  }

  // The largest extent any tensor has; inputs must divide it, outputs have all of it.
  void outer_length(std::size_t i) {
    std::int64_t length = -1;
    std::size_t largest = 0;
    for (std::size_t p = 0; p < kernel_.params.size(); ++p) {
      if (!is_tensor(kernel_.params[p]) || view(p).shape[i] <= length) continue;
      length = view(p).shape[i];
      largest = p;
    }
    if (length < 0) return;
    for (std::size_t p = 0; p < kernel_.params.size(); ++p) {
      if (is_tensor(kernel_.params[p])) group(p, i, length, kernel_.params[largest].name);
    }
    binding_.lengths.push_back({outer_[i], length});
    setter_.push_back(largest);
  }

  void group(std::size_t p, std::size_t i, std::int64_t length, const std::string& largest) {
    const Param& param = kernel_.params[p];
    const std::int64_t extent = view(p).shape[i];
    if (param.kind == ParamKind::output && extent != length) {
      refuse(fmt::format("output '{}' has extent {} along {}, '{}' has {}", param.name, extent, outer_[i].name(),
                         largest, length),
             fmt::format("give the output extent {} there", length));
    }
    if (extent == 0 ? length != 0 : length % extent != 0) {
      refuse(fmt::format("'{}' has extent {} along {}, which does not divide the {} of '{}'", param.name, extent,
                         outer_[i].name(), length, largest),
             fmt::format("make {} a multiple of {}'s extent: each index there is shared by a group of equal size",
                         length, param.name));
    }
    binding_.groups[p].push_back(extent == 0 ? 1 : length / extent);
  }

  void whole_length(const Dim& dim) {
    const AxisLength* length = known(dim.axis);
    if (!length || length->length == dim.extent) return;
    const std::size_t setter = setter_[static_cast<std::size_t>(length - binding_.lengths.data())];
    refuse(fmt::format("axis {} is {} in '{}', this kernel was built for {}", dim.axis.name(), length->length,
                       kernel_.params[setter].name, dim.extent),
           fmt::format("build the kernel for {} {}", dim.axis.name(), length->length));
  }

  const Kernel& kernel_;
  Binding& binding_;
  std::vector<Axis> outer_;
  std::vector<std::size_t> setter_;  // the parameter each of binding_.lengths was read from
};

}  // namespace

std::vector<Param> call_params(const Kernel& kernel) {
  std::vector<Param> params = kernel.params;
  for (const Function& function : kernel.functions) {
    params.insert(params.end(), function.params.begin(), function.params.end());
  }
  return params;
}

std::vector<Axis> outer_axes(const Kernel& kernel) {
  std::vector<Axis> outer;
  for (std::size_t i = kernel.grid.size(); i-- > 0;) {
    const Axis axis = kernel.grid[i];
    const bool listed = std::any_of(kernel.params.begin(), kernel.params.end(), [axis](const Param& param) {
      return std::find(param.axes.begin(), param.axes.end(), axis) != param.axes.end();
    });
    if (!listed) outer.push_back(axis);
  }
  return outer;
}

std::int64_t Binding::length(Axis axis) const {
  for (const AxisLength& l : lengths) {
    if (l.axis == axis) return l.length;
  }
  throw InternalError(fmt::format("axis {} has no length: no tensor lists it", axis ? axis.name() : "(none)"));
}

std::int64_t Binding::tiles(const Kernel& kernel, std::size_t grid_axis) const {
  ensure(grid_axis < kernel.grid_tiles.size(), "the grid of an untiled kernel was counted");
  return kernel.grid_count(grid_axis, length(kernel.grid[grid_axis]));
}

Binding bind(const Kernel& kernel, std::vector<Argument> arguments) {
  const std::vector<Param> params = call_params(kernel);
  if (arguments.size() != params.size() && arguments.size() != kernel.params.size()) {
    refuse(
        fmt::format("kernel '{}' takes {}, got {}", kernel.name, counted(params.size(), "argument"), arguments.size()),
        fmt::format("pass, in this order: {}", names_of(params)));
  }
  const std::vector<Axis> outer = outer_axes(kernel);
  Binding binding{std::move(arguments), {}, std::vector<std::vector<std::int64_t>>(params.size())};
  for (std::size_t p = 0; p < binding.arguments.size(); ++p) {
    const Param& param = params[p];
    Argument& argument = binding.arguments[p];
    if (param.kind == ParamKind::scalar) {
      check_scalar(param, argument);
      continue;
    }
    View* view = std::get_if<View>(&argument);
    if (!view) {
      refuse(fmt::format("'{}' is a {}, got a number", param.name, is_tensor(param) ? "tensor" : "table"),
             "pass a view of an array");
    }
    check_memory(param, *view);
    if (param.kind == ParamKind::table) {
      check_table(param, *view);
      continue;
    }
    *view = completed(param, *view, outer);
    if (param.kind == ParamKind::output) check_output(param, *view, outer);
  }
  Resolver(kernel, binding).run();
  return binding;
}

}  // namespace tessera::ir
