#include <tessera/library/device_launch.h>

#include <algorithm>

#include <tessera/library/devices.h>

namespace tessera::library {

namespace {

using Kind = ParameterSource::Kind;

void append(const View& view, CallKey& key) {
  key.push_back(static_cast<std::int64_t>(view.shape.size()));
  key.insert(key.end(), view.shape.begin(), view.shape.end());
  key.insert(key.end(), view.strides.begin(), view.strides.end());
}

bool changes_address(Kind kind) {
  switch (kind) {
    case Kind::q:
    case Kind::k:
    case Kind::v:
    case Kind::o:
    case Kind::lse:
    case Kind::named_table: return true;
    case Kind::scale:
    case Kind::key_lengths:
    case Kind::argument:
    case Kind::captured:
    case Kind::named_scalar: return false;
  }
  return false;
}

}  // namespace

void make_key(const AttentionCall& call, CallKey& key) {
  key.clear();
  for (const View* view : {&call.q, &call.k, &call.v, &call.o, &call.lse, &call.key_lengths}) append(*view, key);
  key.push_back(static_cast<std::int64_t>(call.key_lengths.memory));
  for (const NamedTable& table : call.tables) append(table.data, key);
}

void append_contents(const AttentionCall& call, CallKey& key) {
  if (call.key_lengths.data == nullptr || call.key_lengths.memory != Memory::host) return;
  auto lengths = static_cast<const std::int32_t*>(call.key_lengths.data);
  key.insert(key.end(), lengths, lengths + call.key_lengths.elements());
}

DeviceLaunch::DeviceLaunch(CallKey key, std::shared_ptr<const Planned> planned, std::shared_ptr<const PlanInput> input,
                           std::shared_ptr<const Built> built, const runtime::Device& device, TableStore& tables,
                           const AttentionCall& call, double scale, SourceLoc loc)
    : key_(std::move(key)),
      planned_(std::move(planned)),
      input_(std::move(input)),
      built_(std::move(built)),
      device_(device),
      function_(built_->program.on(device)),
      scalars_(call.params) {
  const runtime::ScopedContext current(device);  // tensor maps are encoded in it
  for (const ParameterSource& source : planned_->sources) {
    if (changes_address(source.kind)) check_on_device(source.name, tensor_of(source, call), device, loc);
  }
  auto place_table = [&](const std::shared_ptr<const mask::TableData>& table) { return place(table, tables); };
  auto arguments = call_arguments(*planned_, call, scale, place_key_lengths(call), place_table);
  ir::Binding binding = ir::bind(planned_->tiled, std::move(arguments));
  image_ = std::make_unique<LaunchImage>(built_->artifact, planned_->tiled, binding, device.zeros());
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

bool DeviceLaunch::serves(const CallKey& key, const runtime::Device& device, const AttentionCall& call) const {
  if (key != key_ || !(device == device_)) return false;
  if (!planned_->list) return true;
  return std::equal(
      call.params.begin(), call.params.end(), scalars_.begin(), scalars_.end(),
      [](const mask::NamedScalar& a, const mask::NamedScalar& b) { return a.name == b.name && a.value == b.value; });
}

void DeviceLaunch::launch(const AttentionCall& call) {
  if (image_->programs() == 0) return;
  const runtime::ScopedContext current(device_);
  for (std::size_t i = 0; i < planned_->sources.size(); ++i) {
    const ParameterSource& source = planned_->sources[i];
    auto param = static_cast<int>(i);
    if (changes_address(source.kind)) {
      image_->set_pointer(param, tensor_of(source, call).data);
    } else if (source.kind == Kind::key_lengths && !key_lengths_) {
      image_->set_pointer(param, call.key_lengths.data);
    } else if (source.kind == Kind::named_scalar) {
      image_->set_scalar(param, scalar_of(source, call));
    }
  }
  runtime::LaunchShape shape;
  shape.grid[0] = image_->programs();
  shape.block[0] = built_->artifact.threads;
  shape.shared_bytes = built_->artifact.shared_bytes;
  function_.launch(shape, image_->parameters(), static_cast<runtime::cu::Stream>(call.stream));
}

}  // namespace tessera::library
