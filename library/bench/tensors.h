// The tensors of one attention call on a device, with normal numbers in them: products of zeros take less power, and so
// less time.
#pragma once

#include <tessera/library/attention_options.h>
#include <tessera/runtime/memory.h>

namespace tessera::bench {

class Tensors {
 public:
  Tensors(const runtime::Device& device, const AttentionOptions& options, const AttentionShapes& shapes, void* stream);

  const AttentionCall& call() const { return call_; }

 private:
  View input(std::int64_t heads, std::int64_t length, int dim, unsigned seed);
  View output(DType dtype, std::vector<std::int64_t> shape);

  runtime::Device device_;
  DType dtype_;
  std::int64_t batch_;
  std::vector<runtime::DeviceBuffer> buffers_;
  std::vector<std::int32_t> key_lengths_;
  AttentionCall call_;
};

}  // namespace tessera::bench
