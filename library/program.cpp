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
#include <tessera/library/check_call.h>
#include <tessera/library/devices.h>
#include <tessera/library/environment.h>
#include <tessera/library/program_launch.h>
#include <tessera/library/program_options.h>
#include <tessera/runtime/stream.h>

namespace tessera {

using namespace library;

namespace {

constexpr std::size_t kKept = 256;  // programs that are called with ever new lengths must not grow for ever

// A length that every table of the mask covers, for a plan that no call asked for.
std::int64_t covered_length(const mask::Pointwise* mask) {
  std::int64_t length = 1024;
  if (!mask) return length;
  for (const mask::Capture& capture : mask->captures) {
    if (!capture.table) continue;
    for (std::int64_t extent : capture.table->shape()) length = std::min(length, extent);
  }
  return length;
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
  ProgramTiles tiles;
  const backend::Target* target = nullptr;
  std::vector<std::shared_ptr<const Planned>> plans;
  std::vector<std::unique_ptr<ProgramLaunch>> launches;  // most recently used first
  std::map<std::string, std::shared_ptr<const Built>> built;
  TableStore tables;
  std::set<TableStore::Buffer> keep;  // as long as a captured launch may be replayed
  std::shared_ptr<const Planned> last;

  BuildRequest request(const Planned& planned) const {
    return request_to_build(planned.only(), *target, options.schedule);
  }

  const std::shared_ptr<const Built>& build(const Planned& planned) {
    auto& place = built[planned.only().text];
    if (!place) place = library::build(request(planned)).built;
    return place;
  }

  const Planned& needed() const {
    if (!last)
      throw UserError({}, "the program was not called yet, and is planned for the lengths of a call", "call it first");
    return *last;
  }

  // What a GPU would be given, whether or not there was a call.
  std::shared_ptr<const Planned> any_planned() const {
    if (last) return last;
    const std::int64_t length = covered_length(program.mask);
    return make_planned(program,
                        input_of({.arguments = {},
                                  .lengths = {{ir::Axis::named("Query"), length}, {ir::Axis::named("Key"), length}},
                                  .groups = {}}));
  }

  void check(const backend::Target& on) const {
    const std::shared_ptr<const Planned> planned = any_planned();
    const PlannedKernel& kernel = planned->only();
    backend::place(kernel.tiled, on, request_to_build(kernel, on, options.schedule).schedule);
  }

  std::string explain() const {
    std::string text = fmt::format("program    {}\n", program.traced.kernel.name);
    text += fmt::format("tiles      {}\n", to_text(tiles));
    if (last && program.mask) {
      const mask::Counts counts = last->plan.counts();
      text += fmt::format("mask       {} of {} tiles visited ({} full, {} partial)\n", counts.visited, counts.total,
                          counts.full, counts.partial);
    }
    try {
      check(*target);
      text += fmt::format("target     {} runs it\n", target->name);
    } catch (const UserError& error) {
      text += fmt::format("target     {} does not run it: {}\n", target->name, error.what());
    }
    return text;
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
    input.tile = {tiles.tile("Query"), tiles.tile("Key")};
    if (!program.mask) return input;
    input.shapes = {.batch = length("Batch"),
                    .heads = length("Head"),
                    .query_length = length("Query"),
                    .key_length = length("Key"),
                    .key_lengths = program.bounded};
    return input;
  }

  // The plan for a call, whose arguments are checked on the way.
  const std::shared_ptr<const Planned>& plan(const std::vector<ir::Argument>& arguments, SourceLoc loc) {
    PlanInput input = input_of(ir::bind(program.traced.kernel, arguments));
    check_outputs(program.traced.kernel, arguments, loc);
    if (program.mask) mask::check_lengths(*program.mask, input.shapes.query_length, input.shapes.key_length, loc);
    auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan->serves(input); });
    if (found != plans.end()) return last = *found;
    if (plans.size() == kKept) plans.erase(plans.begin());
    return last = plans.emplace_back(make_planned(program, std::move(input)));
  }

  ir::Binding bind(const Planned& planned, const std::vector<ir::Argument>& given, const PlaceTable& place) const {
    std::vector<ir::Argument> arguments;
    for (const ParameterSource& source : planned.only().sources) {
      if (source.kind == ParameterSource::Kind::argument) {
        arguments.push_back(given[static_cast<std::size_t>(source.index)]);
      } else if (source.kind == ParameterSource::Kind::captured) {
        arguments.emplace_back(place(source.table));
      } else {
        arguments.emplace_back(source.value);
      }
    }
    return ir::bind(planned.only().tiled, std::move(arguments));
  }

  // The launch that was settled for an earlier call of this form, brought to the front, or null. The driver is asked
  // where the call's data is only if it moved.
  ProgramLaunch* settled(const std::vector<ir::Argument>& given, const View& first, SourceLoc loc) {
    const runtime::Device* device = nullptr;
    auto found = std::find_if(launches.begin(), launches.end(), [&](const auto& launch) {
      if (!launch->serves(given)) return false;
      if (launch->reads(first)) return true;
      if (!device) device = &device_of("the first argument", first, loc);
      return launch->device() == *device;
    });
    if (found == launches.end()) return nullptr;
    std::rotate(launches.begin(), found, found + 1);
    return launches.front().get();
  }

  ProgramLaunch& settle(const std::vector<ir::Argument>& given, const View& first, SourceLoc loc) {
    const std::shared_ptr<const Planned> planned = plan(given, loc);
    check_one_memory(planned->only().tiled, given, Memory::device, loc);
    const runtime::Device& device = device_of("the first argument", first, loc);
    check_target(*target, options.target, device, loc);
    const runtime::ScopedContext current(device);  // tensor maps are encoded in it
    runtime::OutsideCapture outside;
    auto place = [&](const std::shared_ptr<const mask::TableData>& table) {
      auto buffer = *keep.insert(tables.upload(table, device)).first;
      return View::contiguous(buffer->data(), table->dtype(), table->shape(), Memory::device);
    };
    auto launch =
        std::make_unique<ProgramLaunch>(planned, build(*planned), device, bind(*planned, given, place), given);
    if (launches.size() == kKept) launches.pop_back();
    launches.insert(launches.begin(), std::move(launch));
    return *launches.front();
  }

  void run_on_device(const std::vector<ir::Argument>& given, const View& first, void* stream, SourceLoc loc) {
    ProgramLaunch* launch = settled(given, first, loc);
    if (!launch) launch = &settle(given, first, loc);
    last = launch->planned();
    const runtime::ScopedContext current(launch->device());  // those of what moved too
    launch->launch(given, stream);
  }

  void run_on_host(const std::vector<ir::Argument>& given, SourceLoc loc) {
    const Planned& planned = *plan(given, loc);
    check_one_memory(planned.only().tiled, given, Memory::host, loc);
    ir::interpret(planned.only().tiled, bind(planned, given, host_view), {.threads = environment().threads});
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
  at_line(loc, [&] {
    impl_->tiles = check_tiles(program.kernel, options, loc);
    impl_->program = plannable(std::move(program), impl_->tiles.tiling);
    impl_->program.plan_maker = options.plan_maker;
    impl_->target = &choose_target(options.target, default_device(), loc);
  });
  impl_->options = std::move(options);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

const ir::Kernel& Program::traced() const { return impl_->program.traced.kernel; }

void Program::call(std::vector<ir::Argument> arguments, void* stream, SourceLoc loc) {
  std::lock_guard lock(impl_->mutex);
  at_line(loc, [&] {
    const View* first = first_view(arguments);
    if (first && first->memory == Memory::device) return impl_->run_on_device(arguments, *first, stream, loc);
    impl_->run_on_host(arguments, loc);
  });
}

void Program::check(const std::string& target, SourceLoc loc) const {
  std::lock_guard lock(impl_->mutex);
  at_line(loc, [&] { impl_->check(target.empty() ? *impl_->target : backend::target_named(target)); });
}

std::string Program::explain(SourceLoc loc) const {
  std::lock_guard lock(impl_->mutex);
  return at_line(loc, [&] { return impl_->explain(); });
}

std::string Program::ir(ir::Stage stage, SourceLoc loc) const {
  std::lock_guard lock(impl_->mutex);
  return at_line(loc, [&] {
    if (stage == ir::Stage::traced) return ir::print(traced());
    const Planned& planned = impl_->needed();
    if (stage == ir::Stage::tiled) return planned.only().text;
    return ir::print(backend::place(planned.only().tiled, *impl_->target, impl_->request(planned).schedule));
  });
}

std::string Program::ptx(SourceLoc loc) const {
  std::lock_guard lock(impl_->mutex);
  return at_line(loc, [&] { return impl_->build(impl_->needed())->artifact.ptx; });
}

}  // namespace tessera
