// Attention problems of tests/library/attention_case.h, run on the GPU.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include <tessera/runtime/memory.h>

#include "library/attention_case.h"

namespace tessera::test {

// A test tensor in device memory, guards and padding included, so that what a kernel writes beyond the view is seen.
class DeviceTensor {
 public:
  explicit DeviceTensor(const TestTensor& host);
  View view() const { return view_; }
  void upload(const TestTensor& host);
  void download(TestTensor& host) const;  // everything, guards too

 private:
  runtime::DeviceBuffer buffer_;
  View view_;
};

const runtime::Device& test_device();

// Where the checks that run on any memory (library/acsr/acsr_case.h, support/program_cases.h) have their tensors: each
// has a copy on the GPU, which comes back when the calls have ended.
class OnDevice {
 public:
  View operator()(TestTensor& tensor) {
    copies_.emplace_back(tensor, &tensor);
    return copies_.back().first.view();
  }
  void finish() {
    test_device().synchronize();
    for (auto& [copy, tensor] : copies_) copy.download(*tensor);
  }

 private:
  std::deque<std::pair<DeviceTensor, TestTensor*>> copies_;
};

// The tensors of a case in device memory.
struct DeviceTensors {
  explicit DeviceTensors(const Tensors& t);
  AttentionCall call(const Case& c) const;
  void download(Tensors& t) const;

  DeviceTensor q, k, v, o, lse, key_lengths;
};

// Programs of a launch: at least so many, whatever tile is chosen. Blocks take several each where they are more than
// the device has multiprocessors.
std::int64_t least_programs(const Case& c);

// A Runner: uploads, launches on the default stream, downloads.
void run_on_device(Attention& attend, Tensors& t, const Case& c);

// About `rows` query rows of each head (the edges of 64- and 128-row tiles among them) against fp64, within twice the
// error of the storage type; every row written; guards intact.
void check_sampled(const Case& c, const std::string& name, int rows = 64, const backend::Schedule& schedule = {});
void check_sampled(Attention& attend, const Case& c, const std::string& name, int rows);

}  // namespace tessera::test
