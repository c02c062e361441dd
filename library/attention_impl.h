// What is behind an Attention: programs traced for it, plans made for shapes, kernels built from plans, launches
// settled for calls. What captured graphs may replay is kept as long as the Attention lives: code, and memory that it
// reads. The rest, which can be made again, is kept for the calls of late.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <tessera/library/attention.h>
#include <tessera/library/build.h>
#include <tessera/library/device_launch.h>
#include <tessera/library/explain.h>
#include <tessera/library/planned.h>

namespace tessera {

struct Attention::Impl {
  Impl(AttentionOptions given, SourceLoc loc);

  void prepare(const AttentionShapes& shapes, SourceLoc loc);
  void call(const AttentionCall& call, SourceLoc loc);
  library::Explanation explanation();
  backend::Compiled compiled_texts();  // with the LLVM IR and the placed kernel, which no cache keeps
  ir::Kernel kernel(ir::Stage stage);
  const library::Built& built_last();

  mutable std::mutex mutex;  // held by whoever is inside
  int compiles = 0;

 private:
  struct Kernel {
    std::shared_ptr<const library::Built> built;
    backend::Schedule schedule;
    library::CompileTimes ms;
    library::Origin origin;
  };

  const library::TracedProgram& traced(bool lse, bool bounded);
  std::shared_ptr<const library::Planned> planned(const std::shared_ptr<const library::PlanInput>& input);
  std::shared_ptr<const library::PlanInput> input_of(const AttentionShapes& shapes, const AttentionCall* call) const;
  void check_tables(const AttentionShapes& shapes, const AttentionCall* call, SourceLoc loc) const;
  std::vector<const mask::Pointwise*> functions() const;
  const Kernel& build(const library::Planned& planned);
  library::BuildRequest build_request(const library::Planned& planned) const;
  const library::Planned& last() const;  // UserError before anything was prepared or called

  void run_on_host(const AttentionCall& call, SourceLoc loc);
  void run_on_device(const AttentionCall& call, SourceLoc loc);
  // The launch that was settled for an earlier call of this form, or null; `device` is where q is.
  library::DeviceLaunch* settled(const AttentionCall& call, SourceLoc loc, const runtime::Device*& device);
  library::DeviceLaunch& settle(const AttentionCall& call, const runtime::Device& device, SourceLoc loc);

  AttentionOptions options_;  // with everything filled in
  const backend::Target* target_;
  backend::TileShape tile_;
  std::array<std::unique_ptr<library::TracedProgram>, 4> traced_;  // by lse, bounded
  std::vector<std::shared_ptr<const library::Planned>> plans_;     // most recently used first
  std::map<std::string, Kernel> kernels_;                          // by the tiled kernel's text
  std::vector<std::unique_ptr<library::DeviceLaunch>> launches_;   // most recently used first
  library::TableStore tables_;
  std::set<library::TableStore::Buffer> keep_;  // what prepare uploaded
  std::shared_ptr<const library::Planned> last_;
  std::shared_ptr<const library::PlanInput> last_input_;  // of the last call, whose plan may have been made for another
  std::vector<mask::NamedScalar> last_scalars_;
  const runtime::Device* last_device_ = nullptr;  // null: the CPU
};

}  // namespace tessera
