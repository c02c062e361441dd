#include <tessera/library/device_launch.h>

#include <algorithm>

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
    case Kind::key_lengths:
    case Kind::named_table: return true;
    case Kind::scale:
    case Kind::argument:
    case Kind::captured:
    case Kind::named_scalar: return false;
  }
  return false;
}

bool is_read_in_units(Kind kind) { return kind == Kind::q || kind == Kind::k || kind == Kind::v || kind == Kind::o; }

}  // namespace

DeviceLaunch::DeviceLaunch(std::shared_ptr<const Planned> planned, std::shared_ptr<const PlanInput> input,
                           std::shared_ptr<const Built> built, const runtime::Device& device, TableStore& tables,
                           const AttentionCall& call, double scale, SourceLoc loc)
    : key_(call),
      planned_(std::move(planned)),
      input_(std::move(input)),
      built_(std::move(built)),
      device_(device),
      function_(built_->program.on(device)),
      scalars_(call.params),
      last_q_(call.q.data) {
  const runtime::ScopedContext current(device);  // tensor maps are encoded in it
  const View lengths = place_key_lengths(call);
  list_moving();
  for (const Moving& moving : addresses_) {
    check_on_device(moving.source->name, view_of(moving, call), device, loc);
  }
  auto place_table = [&](const std::shared_ptr<const mask::TableData>& table) { return place(table, tables); };
  auto arguments = call_arguments(*planned_, call, scale, lengths, place_table);
  ir::Binding binding = ir::bind(planned_->tiled, std::move(arguments));
  image_ = std::make_unique<LaunchImage>(built_->artifact, planned_->tiled, binding, device.zeros());
}

void DeviceLaunch::list_moving() {
  for (std::size_t i = 0; i < planned_->sources.size(); ++i) {
    const ParameterSource& source = planned_->sources[i];
    const Moving moving{static_cast<int>(i), source.kind, &source};
    if (source.kind == Kind::named_scalar) values_.push_back(moving);
    if (has_address(source.kind) && !(source.kind == Kind::key_lengths && key_lengths_)) addresses_.push_back(moving);
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
    case Kind::o: return call.o;
    case Kind::lse: return call.lse;
    default: return tensor_of(*moving.source, call);
  }
}

bool DeviceLaunch::serves(const AttentionCall& call) const {
  if (!key_.matches(call)) return false;
  if (!same_scalars(call.params, scalars_) && !planned_->serves_scalars(call.params)) return false;
  bool moved = false;
  for (const Moving& moving : addresses_) {
    const View& view = view_of(moving, call);
    if (image_->holds(moving.param, view.data)) continue;
    if (!is_addressable(view, is_read_in_units(moving.kind))) return false;
    moved = true;
  }
  if (moved && find_overlap(call)) return false;
  return std::all_of(values_.begin(), values_.end(), [&](const Moving& moving) {
    return is_param_value(planned_->tiled.params[static_cast<std::size_t>(moving.param)].dtype,
                          scalar_of(*moving.source, call));
  });
}

bool DeviceLaunch::moves(const AttentionCall& call) const {
  return std::any_of(addresses_.begin(), addresses_.end(),
                     [&](const Moving& moving) { return !image_->holds(moving.param, view_of(moving, call).data); });
}

void DeviceLaunch::move_addresses(const AttentionCall& call, SourceLoc loc) {
  for (const Moving& moving : addresses_) {
    const View& view = view_of(moving, call);
    if (image_->holds(moving.param, view.data)) continue;
    if (moving.kind != Kind::q) check_on_device(moving.source->name, view, device_, loc);  // q gave the device
    image_->set_pointer(moving.param, view.data);
  }
  last_q_ = call.q.data;
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
  for (const Moving& moving : values_) image_->set_scalar(moving.param, scalar_of(*moving.source, call));
  image_->launch(function_, stream);
}

}  // namespace tessera::library
