#include <tessera/library/attention_impl.h>

#include <algorithm>
#include <future>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/library/check_call.h>
#include <tessera/library/choose_tile.h>
#include <tessera/library/costs.h>
#include <tessera/library/devices.h>
#include <tessera/library/environment.h>
#include <tessera/runtime/stream.h>

namespace tessera {

using namespace library;

namespace {

void check_tile(const char* name, int tile, int multiple, int limit, SourceLoc loc) {
  if (tile == 0 || (tile > 0 && tile % multiple == 0 && tile <= limit)) return;
  throw UserError(loc, fmt::format("{} is {}", name, tile),
                  fmt::format("give a multiple of {} up to {}, or 0 for the default", multiple, limit));
}

template <class T>
void move_to_front(std::vector<T>& items, typename std::vector<T>::iterator item) {
  std::rotate(items.begin(), item, item + 1);
}

// What no captured graph reads need not be kept: programs that see ever new shapes must not grow for ever.
constexpr std::size_t kKept = 256;

template <class T, class MayGo>
void forget_oldest(std::vector<T>& items, MayGo may_go) {
  if (static_cast<std::size_t>(std::count_if(items.begin(), items.end(), may_go)) < kKept) return;
  auto oldest = std::find_if(items.rbegin(), items.rend(), may_go);
  if (oldest != items.rend()) items.erase(std::next(oldest).base());
}

KernelNeeds needs_of(const Built& built, const backend::Schedule& schedule, const runtime::Device* device) {
  KernelNeeds needs{.schedule = schedule, .registers = {}, .spill_bytes = {}};
  if (const auto usage = built.usage(device)) {
    needs.registers = usage->registers;
    needs.spill_bytes = usage->spill_bytes();
  }
  needs.shared_bytes = built.artifact.shared_bytes;
  needs.threads = built.artifact.threads;
  needs.blocks = built.artifact.blocks;
  return needs;
}

}  // namespace

Attention::Impl::Impl(AttentionOptions given, SourceLoc loc) : options_(resolve(std::move(given), loc)) {
  check_tile("query_tile", options_.query_tile, 64, 192, loc);
  check_tile("key_tile", options_.key_tile, 16, 256, loc);
  target_ = &choose_target(options_.target, default_device(), loc);
  costs_ = kernel_costs(options_.head_dim, options_.value_dim, *target_);
  const TuneChoice choice{{options_.query_tile, options_.key_tile}, options_.schedule};
  tuned_.emplace(options_, choice, default_device());
  traced(false, false);  // what is wrong with the mask or the scores is said now
}

std::vector<const mask::Pointwise*> Attention::Impl::functions() const {
  std::vector<const mask::Pointwise*> all{&options_.mask.predicate()};
  for (const Score& score : options_.scores) all.push_back(&score.map());
  return all;
}

std::shared_ptr<const TracedProgram> Attention::Impl::traced(bool lse, bool bounded) {
  return traced_.get({lse, bounded},
                     [&] { return std::make_shared<const TracedProgram>(trace_attention(options_, lse, bounded)); });
}

Tuned::Answer Attention::Impl::tuned(const AttentionShapes& shapes) {
  return tuned_->at(shapes, [&]() -> const TracedProgram& { return *traced(shapes.lse, shapes.key_lengths); });
}

backend::TileShape Attention::Impl::tile(const AttentionShapes& shapes) {
  const backend::TileShape wanted = tuned(shapes).choice.tile;
  if (wanted.query != 0 && wanted.key != 0) return wanted;
  // Tuning names whole tiles: what is left open is what the options leave open, whatever the shapes.
  return tiles_.get({shapes.lse, shapes.key_lengths},
                    [&] { return choose_tile(wanted, *traced(shapes.lse, shapes.key_lengths), *target_); });
}

std::shared_ptr<const PlanInput> Attention::Impl::input_of(const AttentionShapes& shapes, const AttentionCall* call) {
  auto input = std::make_shared<PlanInput>();
  input->shapes = shapes;
  input->tile = tile(shapes);
  if (call) input->scalars = call->params;
  if (call && shapes.key_lengths && call->key_lengths.memory == Memory::host) {
    auto lengths = static_cast<const std::int32_t*>(call->key_lengths.data);
    input->key_lengths.assign(lengths, lengths + shapes.batch);
  }
  return input;
}

void Attention::Impl::check_tables(const AttentionShapes& shapes, const AttentionCall* call, SourceLoc loc) const {
  for (const mask::Pointwise* function : functions()) {
    mask::check_lengths(*function, shapes.query_length, shapes.key_length, loc);
    library::check_tables(function->function, table_shapes(*function, call), shapes, loc);
  }
}

std::shared_ptr<const Planned> Attention::Impl::find_or_make_plan(const std::shared_ptr<const PlanInput>& input) {
  std::promise<std::shared_ptr<const Planned>> promise;
  const auto is_ours = [&](const PlanEntry& entry) { return entry.input == input; };
  {
    std::unique_lock lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const PlanEntry& entry) {
      return entry.plan ? entry.plan->serves(*input) : *entry.input == *input;
    });
    if (found != plans_.end()) {
      move_to_front(plans_, found);
      const auto made = plans_.front().made;
      lock.unlock();
      return made.get();
    }
    forget_oldest(plans_, [](const PlanEntry& entry) { return entry.plan != nullptr; });
    plans_.insert(plans_.begin(), {input, nullptr, promise.get_future().share()});
  }
  try {
    const AttentionShapes& shapes = input->shapes;
    // Whoever names a tile or its warpgroups, or has tuned one, gets runs of consecutive tokens in that tile.
    const TuneChoice choice = tuned(shapes).choice;
    const bool open = choice.tile == backend::TileShape{} && choice.schedule.warpgroups == 0;
    auto plan = make_planned(*traced(shapes.lse, shapes.key_lengths), *input, open ? &costs_ : nullptr);
    std::lock_guard lock(mutex_);
    std::find_if(plans_.begin(), plans_.end(), is_ours)->plan = plan;
    promise.set_value(plan);
    return plan;
  } catch (...) {
    std::lock_guard lock(mutex_);
    std::erase_if(plans_, is_ours);
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const Planned> Attention::Impl::planned(const std::shared_ptr<const PlanInput>& input,
                                                        const runtime::Device* device) {
  auto plan = find_or_make_plan(input);
  std::lock_guard lock(mutex_);
  last_ = {plan, input, input->scalars, device};
  return plan;
}

Attention::Impl::Last Attention::Impl::last() const {
  std::lock_guard lock(mutex_);
  if (!last_.plan) throw UserError({}, "nothing was prepared or called yet", "call prepare(shapes) first");
  return last_;
}

int Attention::Impl::compiles() const {
  std::lock_guard lock(mutex_);
  return compiles_;
}

BuildRequest Attention::Impl::build_request(const Planned& planned, const PlannedKernel& kernel) {
  return request_to_build(kernel, *target_, tuned(planned.input.shapes).choice.schedule);
}

std::vector<std::shared_ptr<const Attention::Impl::Kernel>> Attention::Impl::build(const Planned& planned) {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const PlannedKernel& kernel : planned.kernels) {
    const BuildRequest request = build_request(planned, kernel);
    kernels.push_back(kernels_.get(kernel.text + to_string(request.schedule), [&] {
      BuildResult result = library::build(request);
      if (result.origin != Origin::memory) {
        std::lock_guard lock(mutex_);
        ++compiles_;
      }
      const CompileTimes ms{planned.trace_ms, planned.plan_ms, result.passes_ms, result.llvm_ms, result.assemble_ms};
      return std::make_shared<const Kernel>(
          Kernel{result.built, backend::resolve(request.schedule, *request.tiled, *request.target), ms, result.origin});
    }));
  }
  return kernels;
}

void Attention::Impl::prepare(const AttentionShapes& given, SourceLoc loc) {
  AttentionShapes shapes = check_shapes(given, loc);
  check_tables(shapes, nullptr, loc);
  const runtime::Device* device = default_device();
  auto plan = planned(input_of(shapes, nullptr), device);
  if (!device) return;
  runtime::OutsideCapture outside;
  for (const auto& kernel : build(*plan)) kernel->built->program.on(*device);
  std::set<TableStore::Buffer> uploaded;
  for (const PlannedKernel& kernel : plan->kernels) {
    for (const ParameterSource& source : kernel.sources) {
      if (source.kind == ParameterSource::Kind::captured) uploaded.insert(tables_.upload(source.table, *device));
    }
  }
  std::lock_guard lock(mutex_);
  keep_.merge(uploaded);
}

void Attention::Impl::call(const AttentionCall& call, SourceLoc loc) {
  if (call.q.memory == Memory::device) {
    run_on_device(call, loc);
  } else {
    run_on_host(call, loc);
  }
}

void Attention::Impl::run_on_host(const AttentionCall& call, SourceLoc loc) {
  AttentionShapes shapes = check_call(options_, call, loc);
  check_names(functions(), call, loc);
  check_tables(shapes, &call, loc);
  auto plan = planned(input_of(shapes, &call), nullptr);
  AttentionCall bound = call;
  std::vector<float> between;  // the LSE of a chain whose call has none
  if (plan->kernels.size() > 1 && call.lse.data == nullptr) {
    bound.lse = lse_view(call, nullptr);
    between.resize(static_cast<std::size_t>(bound.lse.elements()));
    bound.lse.data = between.data();
  }
  for (const PlannedKernel& kernel : plan->kernels) {
    auto arguments = call_arguments(kernel, bound, *options_.scale, call.key_lengths, host_view);
    const ir::Binding binding = ir::bind(kernel.tiled, std::move(arguments));
    ir::interpret(kernel.tiled, binding, {.threads = environment().threads});
  }
}

DeviceLaunch* Attention::Impl::settled(const AttentionCall& call, SourceLoc loc, const runtime::Device*& device) {
  auto use = [&](auto found) {
    move_to_front(launches_, found);
    device = &launches_.front()->device();
    return launches_.front().get();
  };
  auto found = std::find_if(launches_.begin(), launches_.end(),
                            [&](const auto& launch) { return launch->last_read(call.q.data) && launch->serves(call); });
  if (found != launches_.end()) return use(found);
  device = &device_of("q", call.q, loc);
  found = std::find_if(launches_.begin(), launches_.end(),
                       [&](const auto& launch) { return launch->device() == *device && launch->serves(call); });
  return found != launches_.end() ? use(found) : nullptr;
}

void Attention::Impl::run_on_device(const AttentionCall& call, SourceLoc loc) {
  std::unique_lock lock(mutex_);
  const runtime::Device* device = nullptr;
  DeviceLaunch* launch = settled(call, loc, device);
  if (!launch) launch = &settle(call, *device, loc, lock);
  launch->launch(call, loc);
  if (last_.plan != launch->planned()) last_.plan = launch->planned();
  if (last_.input != launch->input()) last_.input = launch->input();
  last_.scalars = call.params;
  last_.device = device;
}

DeviceLaunch& Attention::Impl::settle(const AttentionCall& call, const runtime::Device& device, SourceLoc loc,
                                      std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  AttentionShapes shapes = check_call(options_, call, loc);
  check_names(functions(), call, loc);
  check_tables(shapes, &call, loc);
  check_target(*target_, options_.target, device, loc);
  auto input = input_of(shapes, &call);
  auto plan = planned(input, &device);
  runtime::OutsideCapture outside;
  auto launch = std::make_unique<DeviceLaunch>(plan, input, built(*plan), device, tables_, call, *options_.scale, loc);
  lock.lock();
  const runtime::Device* where = nullptr;
  if (DeviceLaunch* other = settled(call, loc, where)) return *other;  // another thread's, settled meanwhile
  // Memory of a launch that is still running may go: the driver frees it when the work before is done.
  forget_oldest(launches_, [](const auto& old) { return !old->is_pinned(); });
  launches_.insert(launches_.begin(), std::move(launch));
  return *launches_.front();
}

std::vector<std::shared_ptr<const Built>> Attention::Impl::built(const Planned& planned) {
  std::vector<std::shared_ptr<const Built>> all;
  for (const auto& kernel : build(planned)) all.push_back(kernel->built);
  return all;
}

std::vector<std::shared_ptr<const Built>> Attention::Impl::built_last() { return built(*last().plan); }

std::vector<std::string> Attention::Impl::llvm_texts() {
  const auto plan = last().plan;
  std::vector<std::string> texts;
  for (const PlannedKernel& kernel : plan->kernels)
    texts.push_back(compile_again(build_request(*plan, kernel)).llvm_ir);
  return texts;
}

std::vector<ir::Kernel> Attention::Impl::kernels(ir::Stage stage) {
  const auto plan = last().plan;
  std::vector<ir::Kernel> all;
  if (stage == ir::Stage::traced) {
    all.push_back(traced(plan->input.shapes.lse, plan->input.shapes.key_lengths)->traced.kernel);
    return all;
  }
  for (const PlannedKernel& kernel : plan->kernels) {
    all.push_back(stage == ir::Stage::tiled
                      ? kernel.tiled
                      : backend::place(kernel.tiled, *target_, build_request(*plan, kernel).schedule));
  }
  return all;
}

Explanation Attention::Impl::explanation() {
  const Last at = last();
  const Planned& plan = *at.plan;
  const AttentionShapes& shapes = plan.input.shapes;
  Explanation e;
  e.device = at.device ? at.device->info().text() : "CPU (interpreter)";
  e.target = target_->name;
  e.assembler = assembler().identity();
  e.dtype = options_.dtype;
  e.head_dim = options_.head_dim;
  e.value_dim = options_.value_dim;
  e.batch = shapes.batch;
  e.heads = shapes.heads;
  e.kv_heads = shapes.kv_heads;
  e.query_length = shapes.query_length;
  e.key_length = shapes.key_length;
  PlanInput input = *at.input;
  input.scalars = at.scalars;
  e.plan = plan.plan;
  if (!plan.list) {
    const mask::Pointwise& predicate = options_.mask.predicate();
    e.plan = mask::is_plain(plan.plan) ? mask::replan(plan.plan, predicate, request_of(input))
                                       : mask::choose_plan(predicate, request_of(input), costs_);
  }
  e.predicted_ms = predicted_ms(e.plan, request_of(input), options_.head_dim, options_.value_dim, *target_);
  for (const auto& kernel : build(plan)) {
    e.kernels.push_back(needs_of(*kernel->built, kernel->schedule, at.device));
    e.ms.trace = kernel->ms.trace, e.ms.plan = kernel->ms.plan;
    e.ms.passes += kernel->ms.passes, e.ms.llvm += kernel->ms.llvm, e.ms.assemble += kernel->ms.assemble;
    if (e.cache != name_of(Origin::compiled)) e.cache = name_of(kernel->origin);
  }
  e.compiles = compiles();
  if (!at.device && !default_device()) e.notes.push_back("no GPU: " + why_no_device());
  if (const std::string& why = assembler().why_driver(); !why.empty())
    e.notes.push_back("the driver assembles: " + why);
  if (const std::string note = tuned(shapes).note; !note.empty()) e.notes.push_back(note);
  if (const std::string warning = kernel_cache().warning(); !warning.empty()) e.notes.push_back(warning);
  return e;
}

}  // namespace tessera
