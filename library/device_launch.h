// A call on a GPU with everything settled but the addresses and the scalars: what the second call with the same shapes
// reuses. A launch replaces addresses in the parameters it holds and enqueues; nothing is allocated, copied or waited
// for.
#pragma once

#include <memory>
#include <vector>

#include <tessera/library/build.h>
#include <tessera/library/call_arguments.h>
#include <tessera/library/launch.h>

namespace tessera::library {

// Everything of a call that its launch depends on except addresses, as numbers: shapes, strides, and what a list was
// made for.
using CallKey = std::vector<std::int64_t>;
void make_key(const AttentionCall& call, CallKey& key);         // shapes and strides; reuses the vector's memory
void append_contents(const AttentionCall& call, CallKey& key);  // key lengths that the host knows

class DeviceLaunch {
 public:
  // Loads the kernel and uploads tables. UserErrors: memory that is not on `device`, too little memory.
  DeviceLaunch(CallKey key, std::shared_ptr<const Planned> planned, std::shared_ptr<const PlanInput> input,
               std::shared_ptr<const Built> built, const runtime::Device& device, TableStore& tables,
               const AttentionCall& call, double scale, SourceLoc loc);

  // Whether a call with this key on this device is the same but for addresses and the scalars that a kernel can be
  // given.
  bool serves(const CallKey& key, const runtime::Device& device, const AttentionCall& call) const;

  void launch(const AttentionCall& call);

  const std::shared_ptr<const Planned>& planned() const { return planned_; }
  const std::shared_ptr<const PlanInput>& input() const { return input_; }

 private:
  View place(const std::shared_ptr<const mask::TableData>& table, TableStore& tables);
  View place_key_lengths(const AttentionCall& call);

  CallKey key_;
  std::shared_ptr<const Planned> planned_;
  std::shared_ptr<const PlanInput> input_;
  std::shared_ptr<const Built> built_;
  const runtime::Device& device_;
  const runtime::Function& function_;
  std::vector<TableStore::Buffer> buffers_;             // alive as long as a captured launch may be replayed
  std::unique_ptr<runtime::DeviceBuffer> key_lengths_;  // of lengths that the call has in host memory
  std::vector<mask::NamedScalar> scalars_;              // what a list was made for
  std::unique_ptr<LaunchImage> image_;
};

}  // namespace tessera::library
