// What is behind an Attention: programs traced for it, plans made for shapes, kernels built from plans, launches
// settled for calls. What captured graphs may replay is kept as long as the Attention lives: code, and memory that it
// reads. The rest, which can be made again, is kept for the calls of late.
//
// Several threads at once. What takes long is done outside the lock, once however many threads ask for it: each traced
// program and each kernel (MadeOnce), and each plan (PlanEntry). The lock is for lists and launches: a call that finds
// its launch settled waits for other calls to be enqueued, never for something to be traced, planned, compiled or
// loaded.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <tessera/library/attention.h>
#include <tessera/library/build.h>
#include <tessera/library/device_launch.h>
#include <tessera/library/explain.h>
#include <tessera/library/made_once.h>
#include <tessera/library/planned.h>
#include <tessera/library/tuned.h>

namespace tessera {

struct Attention::Impl {
  Impl(AttentionOptions given, SourceLoc loc);

  void prepare(const AttentionShapes& shapes, SourceLoc loc);
  void call(const AttentionCall& call, SourceLoc loc);
  library::Explanation explanation();
  // One a pass of the plan that was prepared or called last.
  std::vector<std::string> llvm_texts();  // which no cache keeps
  std::vector<ir::Kernel> kernels(ir::Stage stage);
  std::vector<std::shared_ptr<const library::Built>> built_last();
  int compiles() const;

 private:
  struct Kernel {
    std::shared_ptr<const library::Built> built;
    backend::Schedule schedule;
    library::CompileTimes ms;
    library::Origin origin;
  };
  struct PlanEntry {
    std::shared_ptr<const library::PlanInput> input;
    std::shared_ptr<const library::Planned> plan;  // null while somebody makes it
    std::shared_future<std::shared_ptr<const library::Planned>> made;
  };
  struct Last {  // what was prepared or called last, for the texts
    std::shared_ptr<const library::Planned> plan;
    std::shared_ptr<const library::PlanInput> input;  // of the call, whose plan may have been made for another
    std::vector<mask::NamedScalar> scalars;
    const runtime::Device* device = nullptr;  // null: the CPU
  };

  std::shared_ptr<const library::TracedProgram> traced(bool lse, bool bounded);
  std::shared_ptr<const library::Planned> planned(const std::shared_ptr<const library::PlanInput>& input,
                                                  const runtime::Device* device);
  std::shared_ptr<const library::Planned> find_or_make_plan(const std::shared_ptr<const library::PlanInput>& input);
  std::shared_ptr<const library::PlanInput> input_of(const AttentionShapes& shapes, const AttentionCall* call);
  backend::TileShape tile(const AttentionShapes& shapes);
  library::Tuned::Answer tuned(const AttentionShapes& shapes);  // tile and schedule: the user's, tuned, or the default
  void check_tables(const AttentionShapes& shapes, const AttentionCall* call, SourceLoc loc) const;
  std::vector<const mask::Pointwise*> functions() const;
  std::vector<std::shared_ptr<const library::Built>> built(const library::Planned& planned);
  std::vector<std::shared_ptr<const Kernel>> build(const library::Planned& planned);
  library::BuildRequest build_request(const library::Planned& planned, const library::PlannedKernel& kernel);
  Last last() const;  // UserError before anything was prepared or called

  void run_on_host(const AttentionCall& call, SourceLoc loc);
  void run_on_device(const AttentionCall& call, SourceLoc loc);
  // Both with the lock held. The launch that was settled for an earlier call of this form, or null; `device` is where q
  // is.
  library::DeviceLaunch* settled(const AttentionCall& call, SourceLoc loc, const runtime::Device*& device);
  // Settles one. Gives up `lock` while it plans, compiles and loads.
  library::DeviceLaunch& settle(const AttentionCall& call, const runtime::Device& device, SourceLoc loc,
                                std::unique_lock<std::mutex>& lock);

  AttentionOptions options_;  // with everything filled in
  const backend::Target* target_;
  mask::TargetCosts costs_;
  std::optional<library::Tuned> tuned_;
  library::MadeOnce<std::pair<bool, bool>, std::shared_ptr<const library::TracedProgram>> traced_;  // by lse, bounded
  library::MadeOnce<std::pair<bool, bool>, backend::TileShape> tiles_;  // chosen for what is left open, by lse, bounded
  library::MadeOnce<std::string, std::shared_ptr<const Kernel>> kernels_;  // by text and schedule
  library::TableStore tables_;

  mutable std::mutex mutex_;                                      // of what follows
  std::vector<PlanEntry> plans_;                                  // most recently used first
  std::vector<std::unique_ptr<library::DeviceLaunch>> launches_;  // most recently used first
  std::set<library::TableStore::Buffer> keep_;                    // what prepare uploaded
  Last last_;
  int compiles_ = 0;
};

}  // namespace tessera
