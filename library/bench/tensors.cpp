#include <tessera/library/bench/tensors.h>

#include <algorithm>
#include <random>

#include <tessera/dsl/ir/interpret_number.h>

namespace tessera::bench {

namespace {

void fill_normal(runtime::DeviceBuffer& buffer, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> block(1 << 16);
  for (std::uint16_t& x : block) {
    const float value = normal(random);
    x = dtype == DType::f16 ? ir::interp::encode_f16(value) : ir::interp::encode_bf16(value);
  }
  const auto size = static_cast<std::int64_t>(block.size() * sizeof block[0]);
  for (std::int64_t at = 0; at < buffer.bytes(); at += size) {
    runtime::copy_to_device(buffer.device(), buffer.address() + static_cast<std::uint64_t>(at), block.data(),
                            std::min(size, buffer.bytes() - at));
  }
}

}  // namespace

std::string_view name_of(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::heads_first: return "heads_first";
    case MemoryOrder::tokens_first: return "tokens_first";
    case MemoryOrder::padded_rows: return "padded_rows";
  }
  return {};
}

View view_in(MemoryOrder order, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length, int dim) {
  View view = View::contiguous(nullptr, dtype, {batch, heads, length, dim}, Memory::device);
  const std::int64_t row = order == MemoryOrder::padded_rows ? dim + 16 / bytes_of(dtype) : dim;
  if (order == MemoryOrder::tokens_first)
    view.strides = {length * heads * row, row, heads * row, 1};
  else
    view.strides = {heads * length * row, length * row, row, 1};
  return view;
}

std::int64_t span_of(const View& view) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < view.shape.size(); ++d) last += (view.shape[d] - 1) * view.strides[d];
  return last + 1;
}

Tensors::Tensors(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes,
                 void* stream, MemoryOrder order)
    : device_(device), dtype_(options.dtype), order_(order), batch_(shapes.batch) {
  const std::int64_t kv_heads = shapes.kv_heads ? shapes.kv_heads : shapes.heads;
  const int value_dim = options.value_dim ? options.value_dim : options.head_dim;
  call_.q = input(shapes.heads, shapes.query_length, options.head_dim, 1);
  call_.k = input(kv_heads, shapes.key_length, options.head_dim, 2);
  call_.v = input(kv_heads, shapes.key_length, value_dim, 3);
  call_.o = output(view_in(order_, dtype_, batch_, shapes.heads, shapes.query_length, value_dim));
  if (shapes.lse)
    call_.lse = output(View::contiguous(nullptr, DType::f32, {batch_, shapes.heads, shapes.query_length}));
  if (shapes.key_lengths) {
    const auto bytes = batch_ * static_cast<std::int64_t>(sizeof(std::int32_t));
    key_lengths_.assign(static_cast<std::size_t>(batch_), static_cast<std::int32_t>(shapes.key_length));
    call_.key_lengths = output(View::contiguous(nullptr, DType::i32, {batch_}));
    runtime::copy_to_device(device_, buffers_.back().address(), key_lengths_.data(), bytes);
  }
  call_.stream = stream;
}

View Tensors::output(View view) {
  buffers_.emplace_back(device_, span_of(view) * bytes_of(view.dtype));
  view.data = buffers_.back().data();
  view.memory = Memory::device;
  return view;
}

View Tensors::input(std::int64_t heads, std::int64_t length, int dim, unsigned seed) {
  const View view = output(view_in(order_, dtype_, batch_, heads, length, dim));
  fill_normal(buffers_.back(), dtype_, seed);
  return view;
}

}  // namespace tessera::bench
