#include <tessera/library/program.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/library/at_line.h>
#include <tessera/library/build.h>
#include <tessera/library/call_arguments.h>
#include <tessera/library/devices.h>
#include <tessera/library/environment.h>
#include <tessera/library/launch.h>
#include <tessera/runtime/stream.h>

namespace tessera {

using namespace library;

namespace {

constexpr std::size_t kPlansKept = 256;  // programs that are called with ever new lengths must not grow for ever

passes::Tiling tiling_of(const ProgramOptions& options) {
  passes::Tiling tiling;
  for (const AxisTile& tile : options.tiles) tiling.tiles.push_back({ir::Axis::named(tile.axis), tile.extent});
  for (const AxisTile& whole : options.whole) tiling.whole.push_back({ir::Axis::named(whole.axis), whole.extent});
  return tiling;
}

int tile_of(const ProgramOptions& options, const char* axis, int fallback) {
  for (const AxisTile& tile : options.tiles) {
    if (tile.axis == axis) return tile.extent;
  }
  return fallback;
}

// The view that says where a call's data is: the first of them. Null for a call without any.
const View* first_view(const std::vector<ir::Argument>& arguments) {
  for (const ir::Argument& argument : arguments) {
    if (const View* view = std::get_if<View>(&argument)) return view;
  }
  return nullptr;
}

void check_one_memory(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments, Memory memory,
                      SourceLoc loc) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const View* view = std::get_if<View>(&arguments[i]);
    if (!view || view->memory == memory) continue;
    throw UserError(loc,
                    fmt::format("'{}' is not in the memory that the other arguments of '{}' are in",
                                kernel.params[i].name, kernel.name),
                    "put all arguments of a call in one memory");
  }
}

}  // namespace

struct Program::Impl {
  std::mutex mutex;
  TracedProgram program;
  ProgramOptions options;
  const backend::Target* target;
  std::vector<std::shared_ptr<const Planned>> plans;
  std::map<std::string, std::shared_ptr<const Built>> built;
  TableStore tables;
  std::set<TableStore::Buffer> keep;  // as long as a captured launch may be replayed
  std::shared_ptr<const Planned> last;

  BuildRequest request(const Planned& planned) const { return request_to_build(planned, *target, options.schedule); }

  const Built& build(const Planned& planned) {
    auto& place = built[planned.text];
    if (!place) place = library::build(request(planned)).built;
    return *place;
  }

  const Planned& needed() const {
    if (!last)
      throw UserError({}, "the program was not called yet, and is planned for the lengths of a call", "call it first");
    return *last;
  }

  // The lengths that a plan is made for. Axes that the program does not have count as one.
  PlanInput input_of(const ir::Binding& binding) const {
    auto length = [&](const char* name) -> std::int64_t {
      for (const ir::AxisLength& axis : binding.lengths) {
        if (axis.axis == ir::Axis::named(name)) return axis.length;
      }
      return 1;
    };
    PlanInput input;
    input.tile = {tile_of(options, "Query", 128), tile_of(options, "Key", 128)};
    if (!program.mask) return input;
    input.shapes = {.batch = length("Batch"),
                    .heads = length("Head"),
                    .query_length = length("Query"),
                    .key_length = length("Key"),
                    .key_lengths = program.bounded};
    return input;
  }

  const Planned& plan(const std::vector<ir::Argument>& arguments) {
    PlanInput input = input_of(ir::bind(program.traced.kernel, arguments));
    auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan->serves(input); });
    if (found != plans.end()) return *(last = *found);
    if (plans.size() == kPlansKept) plans.erase(plans.begin());
    return *(last = plans.emplace_back(make_planned(program, std::move(input))));
  }

  ir::Binding bind(const Planned& planned, const std::vector<ir::Argument>& given, const PlaceTable& place) const {
    std::vector<ir::Argument> arguments;
    for (const ParameterSource& source : planned.sources) {
      if (source.kind == ParameterSource::Kind::argument) {
        arguments.push_back(given[static_cast<std::size_t>(source.index)]);
      } else if (source.kind == ParameterSource::Kind::captured) {
        arguments.emplace_back(place(source.table));
      } else {
        arguments.emplace_back(source.value);
      }
    }
    return ir::bind(planned.tiled, std::move(arguments));
  }

  void run_on_device(const Planned& planned, const std::vector<ir::Argument>& given, const View& first, void* stream,
                     SourceLoc loc) {
    const runtime::Device& device = device_of("the first argument", first, loc);
    check_target(*target, options.target, device, loc);
    const runtime::ScopedContext current(device);  // tensor maps are encoded in it
    runtime::OutsideCapture outside;
    auto place = [&](const std::shared_ptr<const mask::TableData>& table) {
      auto buffer = *keep.insert(tables.upload(table, device)).first;
      return View::contiguous(buffer->data(), table->dtype(), table->shape(), Memory::device);
    };
    const Built& kernel = build(planned);
    LaunchImage image(kernel.artifact, planned.tiled, bind(planned, given, place), device.zeros());
    image.launch(kernel.program.on(device), static_cast<runtime::cu::Stream>(stream));
  }
};

Program::Program(Traced program, ProgramOptions options, SourceLoc loc) : impl_(std::make_unique<Impl>()) {
  for (const mask::Pointwise& function : program.functions) {
    if (function.data_at_call()) {
      throw UserError(loc,
                      "a mask or score of kernel '" + program.kernel.name + "' reads a table that is given at the call",
                      "give the kernel a Lookup argument instead, or capture the table's data");
    }
  }
  impl_->program = plannable(std::move(program), tiling_of(options));
  impl_->target = &choose_target(options.target, default_device(), loc);
  impl_->options = std::move(options);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

const ir::Kernel& Program::traced() const { return impl_->program.traced.kernel; }

void Program::call(std::vector<ir::Argument> arguments, void* stream, SourceLoc loc) {
  std::lock_guard lock(impl_->mutex);
  at_line(loc, [&] {
    const Planned& planned = impl_->plan(arguments);
    const View* first = first_view(arguments);
    Memory memory = first ? first->memory : Memory::host;
    check_one_memory(planned.tiled, arguments, memory, loc);
    if (memory == Memory::device) return impl_->run_on_device(planned, arguments, *first, stream, loc);
    ir::interpret(planned.tiled, impl_->bind(planned, arguments, host_view), {.threads = environment().threads});
  });
}

std::string Program::ir(ir::Stage stage) const {
  std::lock_guard lock(impl_->mutex);
  return at_line({}, [&] {
    if (stage == ir::Stage::traced) return ir::print(traced());
    const Planned& planned = impl_->needed();
    if (stage == ir::Stage::tiled) return planned.text;
    return ir::print(backend::place(planned.tiled, *impl_->target, impl_->request(planned).schedule));
  });
}

std::string Program::ptx() const {
  std::lock_guard lock(impl_->mutex);
  return at_line({}, [&] { return impl_->build(impl_->needed()).artifact.ptx; });
}

}  // namespace tessera
