#include <tessera/library/device_launch.h>

#include <algorithm>
#include <optional>

#include <tessera/library/check_call.h>
#include <tessera/library/devices.h>
#include <tessera/library/view_rules.h>
#include <tessera/runtime/stream.h>

namespace tessera::library {

namespace {

using Kind = ParameterSource::Kind;

bool has_address(Kind kind) {
  switch (kind) {
    case Kind::q:
    case Kind::k:
    case Kind::v:
    case Kind::o:
    case Kind::lse:
    case Kind::earlier_o:
    case Kind::earlier_lse:
    case Kind::key_lengths:
    case Kind::named_table: return true;
    case Kind::scale:
    case Kind::argument:
    case Kind::captured:
    case Kind::named_scalar: return false;
  }
  return false;
}

bool is_read_in_units(Kind kind) {
  return kind == Kind::q || kind == Kind::k || kind == Kind::v || kind == Kind::o || kind == Kind::earlier_o;
}

bool is_lse(Kind kind) { return kind == Kind::lse || kind == Kind::earlier_lse; }

}  // namespace

DeviceLaunch::DeviceLaunch(std::shared_ptr<const Planned> planned, std::shared_ptr<const PlanInput> input,
                           const std::vector<std::shared_ptr<const Built>>& built, const runtime::Device& device,
                           TableStore& tables, const AttentionCall& call, double scale, SourceLoc loc)
    : key_(call),
      planned_(std::move(planned)),
      input_(std::move(input)),
      device_(device),
      scalars_(call.params),
      last_q_(call.q.data) {
  const runtime::ScopedContext current(device);  // tensor maps are encoded in it
  const View lengths = place_key_lengths(call);
  const auto place_table = [&](const std::shared_ptr<const mask::TableData>& table) { return place(table, tables); };
  AttentionCall bound = call;
  const bool own_lse = planned_->kernels.size() > 1 && call.lse.data == nullptr;
  if (own_lse) {
    bound.lse = lse_view(call, call.o.data);  // bound for its shape: every launch has an address of its own
    between_bytes_ = bound.lse.elements() * bytes_of(DType::f32);
  }
  for (std::size_t i = 0; i < planned_->kernels.size(); ++i) {
    const PlannedKernel& kernel = planned_->kernels[i];
    Step& step = steps_.emplace_back(Step{&kernel, built[i], &built[i]->program.on(device)});
    list_moving(step, own_lse);
    for (const Moving& moving : step.addresses)
      check_on_device(moving.source->name, view_of(moving, call), device, loc);
    const ir::Binding binding = ir::bind(kernel.tiled, call_arguments(kernel, bound, scale, lengths, place_table));
    step.image = std::make_unique<LaunchImage>(step.built->artifact, kernel.tiled, binding, device.zeros());
  }
}

void DeviceLaunch::list_moving(Step& step, bool own_lse) const {
  for (std::size_t i = 0; i < step.kernel->sources.size(); ++i) {
    const ParameterSource& source = step.kernel->sources[i];
    const Moving moving{static_cast<int>(i), source.kind, &source};
    if (source.kind == Kind::named_scalar) step.values.push_back(moving);
    if (is_lse(source.kind) && own_lse) {
      step.between.push_back(moving.param);
    } else if (has_address(source.kind) && !(source.kind == Kind::key_lengths && key_lengths_)) {
      step.addresses.push_back(moving);
    }
  }
}

View DeviceLaunch::place(const std::shared_ptr<const mask::TableData>& table, TableStore& tables) {
  buffers_.push_back(tables.upload(table, device_));
  return View::contiguous(buffers_.back()->data(), table->dtype(), table->shape(), Memory::device);
}

View DeviceLaunch::place_key_lengths(const AttentionCall& call) {
  if (call.key_lengths.data == nullptr || call.key_lengths.memory == Memory::device) return call.key_lengths;
  std::int64_t bytes = call.key_lengths.elements() * bytes_of(DType::i32);
  key_lengths_ = std::make_unique<runtime::DeviceBuffer>(device_, bytes);
  runtime::copy_to_device(device_, key_lengths_->address(), call.key_lengths.data, bytes);
  return View::contiguous(key_lengths_->data(), DType::i32, call.key_lengths.shape, Memory::device);
}

// Without a look at the source, whose name is seldom needed.
const View& DeviceLaunch::view_of(const Moving& moving, const AttentionCall& call) {
  switch (moving.kind) {
    case Kind::q: return call.q;
    case Kind::k: return call.k;
    case Kind::v: return call.v;
    case Kind::o:
    case Kind::earlier_o: return call.o;
    case Kind::lse:
    case Kind::earlier_lse: return call.lse;
    default: return tensor_of(*moving.source, call);
  }
}

bool DeviceLaunch::serves(const AttentionCall& call) const {
  if (!key_.matches(call)) return false;
  if (!same_scalars(call.params, scalars_) && !planned_->serves_scalars(call.params)) return false;
  bool moved = false;
  for (const Step& step : steps_) {
    for (const Moving& moving : step.addresses) {
      const View& view = view_of(moving, call);
      if (step.image->holds(moving.param, view.data)) continue;
      if (!is_addressable(view, is_read_in_units(moving.kind))) return false;
      moved = true;
    }
    for (const Moving& moving : step.values) {
      const DType dtype = step.kernel->tiled.params[static_cast<std::size_t>(moving.param)].dtype;
      if (!is_param_value(dtype, scalar_of(*moving.source, call))) return false;
    }
  }
  return !moved || !find_overlap(call);
}

bool DeviceLaunch::moves(const AttentionCall& call) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    return std::any_of(step.addresses.begin(), step.addresses.end(), [&](const Moving& moving) {
      return !step.image->holds(moving.param, view_of(moving, call).data);
    });
  });
}

void DeviceLaunch::move_addresses(const AttentionCall& call, SourceLoc loc) {
  for (Step& step : steps_) {
    for (const Moving& moving : step.addresses) {
      const View& view = view_of(moving, call);
      if (step.image->holds(moving.param, view.data)) continue;
      if (moving.kind != Kind::q) check_on_device(moving.source->name, view, device_, loc);  // q gave the device
      step.image->set_pointer(moving.param, view.data);
    }
  }
  last_q_ = call.q.data;
}

void DeviceLaunch::enqueue(runtime::cu::Stream stream) {
  std::optional<runtime::DeviceBuffer> between;  // given back behind the kernels; a captured launch takes it along
  if (between_bytes_ > 0) between.emplace(device_, between_bytes_, stream);
  for (Step& step : steps_) {
    for (int param : step.between) step.image->set_pointer(param, between ? between->data() : nullptr);
    step.image->launch(*step.function, stream);
  }
}

void DeviceLaunch::launch(const AttentionCall& call, SourceLoc loc) {
  const auto stream = static_cast<runtime::cu::Stream>(call.stream);
  const bool asks = owns_memory() && !pinned_;
  if (const bool moving = moves(call); moving || asks) {
    const runtime::ScopedContext current(device_);  // tensor maps are encoded in it, the null stream belongs to it
    if (moving) move_addresses(call, loc);
    if (asks) pinned_ = runtime::may_be_capturing(stream);
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) scalars_[i].value = call.params[i].value;
  for (Step& step : steps_)
    for (const Moving& moving : step.values) step.image->set_scalar(moving.param, scalar_of(*moving.source, call));
  enqueue(stream);
}

}  // namespace tessera::library
