// The parameters of a compiled kernel, filled in for one set of shapes. What changes between calls of the same shapes
// (addresses, scalars) is replaced in place; the rest was worked out once.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/backend/artifact.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/runtime/launch_counters.h>
#include <tessera/runtime/module.h>
#include <tessera/runtime/tensor_map.h>

namespace tessera::library {

class LaunchImage {
 public:
  // `kernel` is what the artifact was compiled from, up to placement; `zeros` as runtime::encode wants it.
  // UserErrors for what tensor maps cannot describe.
  LaunchImage(const backend::Artifact& artifact, const ir::Kernel& kernel, const ir::Binding& binding,
              std::uint64_t zeros);
  LaunchImage(const LaunchImage&) = delete;

  bool holds(int param, const void* data) const { return current_[static_cast<std::size_t>(param)] == data; }
  void set_pointer(int param, const void* data);  // of device memory; where it has tensor maps, they are encoded anew
  void set_scalar(int param, double value);

  std::int64_t programs() const { return programs_; }  // 0: nothing to compute
  // Enqueues the kernel, unless there is nothing to compute.
  void launch(const runtime::Function& function, runtime::cu::Stream stream);
  void** parameters() { return addresses_.data(); }  // as the last launch had them

 private:
  struct Place {  // where a parameter's address or value goes
    int param;
    int map = -1;   // index of maps_, or
    int word = -1;  // index of words_
  };
  void fill(const backend::Slot& slot, const ir::Kernel& kernel, const ir::Binding& binding);
  void fill_tensor_map(const backend::Slot& slot, const ir::Kernel& kernel, const View& view);
  void add_map(int param, const ir::Kernel& kernel, const runtime::TensorView& map);

  std::uint64_t zeros_;
  std::int64_t programs_ = 1;
  runtime::LaunchShape shape_;
  int at_once_ = 0;   // blocks of a multiprocessor that take programs; 0: every program has a block
  int counter_ = -1;  // index of words_
  runtime::LaunchCounters* counters_ = nullptr;  // of the device, once it was asked
  std::vector<runtime::cu::TensorMap> maps_;
  std::vector<runtime::TensorView> views_;  // what maps_ were encoded from
  std::vector<std::uint64_t> words_;
  std::vector<void*> addresses_;  // of each parameter, in order
  std::vector<Place> pointers_, scalars_;
  std::vector<DType> scalar_types_;   // one a place of scalars_
  std::vector<const void*> current_;  // by parameter: the address the image holds
};

}  // namespace tessera::library
