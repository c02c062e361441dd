// A call on a GPU with everything settled but the addresses and the scalars: what the next call of the same form
// reuses. A launch replaces what changed in the parameters it holds and enqueues its kernels; nothing is copied or
// waited for, nor allocated but in stream order: the LSE between the passes of a chain, where the call has none. Not
// thread-safe: the parameters belong to whoever holds the Attention's lock.
#pragma once

#include <memory>
#include <vector>

#include <tessera/library/build.h>
#include <tessera/library/call_arguments.h>
#include <tessera/library/call_key.h>
#include <tessera/library/launch.h>

namespace tessera::library {

class DeviceLaunch {
 public:
  // `built`: one a kernel of the plan. Loads them and uploads tables. UserErrors: memory that is not on `device`, too
  // little memory.
  DeviceLaunch(std::shared_ptr<const Planned> planned, std::shared_ptr<const PlanInput> input,
               const std::vector<std::shared_ptr<const Built>>& built, const runtime::Device& device,
               TableStore& tables, const AttentionCall& call, double scale, SourceLoc loc);

  // Whether the call differs in nothing but addresses that kernels can use and scalars that this kernel can be given.
  // What would have to be refused is never served: the checks of a first call find the words for it.
  bool serves(const AttentionCall& call) const;

  // The device of a call with q at this address is known without asking the driver.
  bool last_read(const void* q) const { return q == last_q_; }

  // Asks the driver about addresses that changed; UserErrors name those that are not on the device.
  void launch(const AttentionCall& call, SourceLoc loc);

  // Whether a captured graph may yet read memory that would be freed with this.
  bool is_pinned() const { return pinned_; }

  const runtime::Device& device() const { return device_; }
  const std::shared_ptr<const Planned>& planned() const { return planned_; }
  const std::shared_ptr<const PlanInput>& input() const { return input_; }

 private:
  struct Moving {  // a parameter that may change from call to call
    int param;
    ParameterSource::Kind kind;
    const ParameterSource* source;
  };
  struct Step {  // a kernel of the plan
    const PlannedKernel* kernel;
    std::shared_ptr<const Built> built;
    const runtime::Function* function;
    std::vector<Moving> addresses{}, values{};
    std::vector<int> between{};  // parameters that are the LSE between passes, in memory of the launch
    std::unique_ptr<LaunchImage> image{};
  };
  static const View& view_of(const Moving& moving, const AttentionCall& call);

  View place(const std::shared_ptr<const mask::TableData>& table, TableStore& tables);
  View place_key_lengths(const AttentionCall& call);
  void list_moving(Step& step, bool own_lse) const;
  bool moves(const AttentionCall& call) const;
  void move_addresses(const AttentionCall& call, SourceLoc loc);
  void enqueue(runtime::cu::Stream stream);
  bool owns_memory() const { return key_lengths_ != nullptr || !buffers_.empty(); }

  CallKey key_;
  std::shared_ptr<const Planned> planned_;
  std::shared_ptr<const PlanInput> input_;
  const runtime::Device& device_;
  std::vector<TableStore::Buffer> buffers_;
  std::unique_ptr<runtime::DeviceBuffer> key_lengths_;  // of lengths that the call has in host memory
  std::vector<mask::NamedScalar> scalars_;              // of the last call: the plan is right for them
  std::vector<Step> steps_;
  std::int64_t between_bytes_ = 0;  // of the LSE between passes, where it is memory of the launch
  const void* last_q_;
  bool pinned_ = false;
};

}  // namespace tessera::library
