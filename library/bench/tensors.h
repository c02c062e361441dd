// The tensors of one attention call on a device, with normal numbers in them: products of zeros take less power, and so
// less time.
#pragma once

#include <cstdint>
#include <string_view>

#include <tessera/library/attention_options.h>
#include <tessera/runtime/memory.h>

namespace tessera::bench {

// How q, k, v and o lie in memory, all alike. Padding is 16 bytes a row, the least that a view may have.
enum class MemoryOrder : std::uint8_t {
  heads_first,   // (batch, heads, tokens, dim), contiguous
  tokens_first,  // (batch, tokens, heads, dim)
  padded_rows,   // heads first, with padding behind every row
};
std::string_view name_of(MemoryOrder order);

// A view of [batch, heads, length, dim] on no memory yet, and how many elements it spans.
View view_in(MemoryOrder order, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length, int dim);
std::int64_t span_of(const View& view);

class Tensors {
 public:
  Tensors(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes, void* stream,
          MemoryOrder order = MemoryOrder::heads_first);

  const AttentionCall& call() const { return call_; }

 private:
  View input(std::int64_t heads, std::int64_t length, int dim, unsigned seed);
  View output(View view);  // on memory of its own

  runtime::Device device_;
  DType dtype_;
  MemoryOrder order_;
  std::int64_t batch_;
  std::vector<runtime::DeviceBuffer> buffers_;
  std::vector<std::int32_t> key_lengths_;
  AttentionCall call_;
};

}  // namespace tessera::bench
