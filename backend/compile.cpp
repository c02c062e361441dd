#include <tessera/backend/compile.h>

#include <chrono>

#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/backend/passes/fit_memory.h>
#include <tessera/backend/passes/hoist_loads.h>
#include <tessera/backend/passes/overlap_products.h>
#include <tessera/backend/passes/pipeline_loads.h>
#include <tessera/backend/passes/place_barriers.h>
#include <tessera/backend/passes/place_memory.h>
#include <tessera/backend/passes/skip_idle_rows.h>
#include <tessera/backend/passes/split_roles.h>
#include <tessera/backend/passes/split_sums.h>
#include <tessera/backend/passes/stage_stores.h>
#include <tessera/backend/passes/take_programs.h>
#include <tessera/backend/passes/take_turns.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

namespace tessera::backend {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Runs the passes one after the other: verifies after each, and keeps time and text.
class Pipeline {
 public:
  Pipeline(ir::Kernel kernel, bool keep_ir) : kernel_(std::move(kernel)), keep_ir_(keep_ir) {}

  template <class Pass>
  void run(const char* name, const Pass& pass) {
    const Clock::time_point start = Clock::now();
    kernel_ = pass(kernel_);
    if (const std::string wrong = ir::verify(kernel_); !wrong.empty())
      throw InternalError(std::string("pass ") + name + ": " + wrong, ir::print(kernel_));
    records_.push_back({name, ms_since(start), keep_ir_ ? ir::print(kernel_) : std::string()});
  }

  ir::Kernel kernel_;
  std::vector<PassRecord> records_;

 private:
  bool keep_ir_;
};

// What must run before what: layouts decide which tiles go to shared memory, and in how many parts a sum can be kept;
// loads must stand where a producer can reach them before memory is placed, and the loop over programs around all that
// the tickets of rings run through; rings are deepened before a producer may run ahead; products move once a consumer's
// program stands alone; barriers go where the products have ended up, and turns around them; and all that needs shared
// memory must be there before it can be counted. What then is left of it, stores may use. The program of a warpgroup
// without rows is what waits and arrives in the finished one.
void run_passes(Pipeline& p, const Target& target, const Schedule& schedule) {
  const LayoutRule rule(p.kernel_);
  p.run("assign_layouts", [&](const ir::Kernel& k) { return assign_layouts(k, rule); });
  p.run("split_sums", [&](const ir::Kernel& k) { return split_sums(k, rule); });
  p.run("hoist_loads", [&](const ir::Kernel& k) { return hoist_loads(k); });
  if (schedule.persistent) p.run("take_programs", [&](const ir::Kernel& k) { return take_programs(k); });
  p.run("place_memory", [&](const ir::Kernel& k) { return place_memory(k); });
  p.run("pipeline_loads", [&](const ir::Kernel& k) { return pipeline_loads(k, schedule); });
  p.run("split_roles", [&](const ir::Kernel& k) { return split_roles(k, rule, schedule, target); });
  const Target share = share_of(target, p.kernel_.blocks);
  if (schedule.overlap) p.run("overlap_products", [&](const ir::Kernel& k) { return overlap_products(k, schedule); });
  p.run("place_barriers", [&](const ir::Kernel& k) { return place_barriers(k); });
  if (schedule.turns.value()) p.run("take_turns", [&](const ir::Kernel& k) { return take_turns(k); });
  p.run("fit_memory", [&](const ir::Kernel& k) { return fit_memory(k, share); });
  p.run("stage_stores", [&](const ir::Kernel& k) { return stage_stores(k, share); });
  p.run("skip_idle_rows", [&](const ir::Kernel& k) { return skip_idle_rows(k, rule); });
  ir::check(p.kernel_, "skip_idle_rows");
}

}  // namespace

Compiled compile(const ir::Kernel& tiled, const Target& target, const Schedule& schedule,
                 const CompileOptions& options) {
  Compiled out;
  const Clock::time_point start = Clock::now();
  ir::check(tiled, "tile_by_mask");
  Pipeline pipeline(tiled, options.keep_ir);
  run_passes(pipeline, target, resolve(schedule, tiled, target));
  out.passes_ms = ms_since(start);
  Emitted emitted = emit(pipeline.kernel_, share_of(target, pipeline.kernel_.blocks), options.emit);
  out.artifact = std::move(emitted.artifact);
  out.llvm_ir = std::move(emitted.llvm_ir);
  out.llvm_ms = emitted.llvm_ms;
  out.placed = std::move(pipeline.kernel_);
  out.passes = std::move(pipeline.records_);
  return out;
}

ir::Kernel place(const ir::Kernel& tiled, const Target& target, const Schedule& schedule) {
  ir::check(tiled, "tile_by_mask");
  Pipeline pipeline(tiled, false);
  run_passes(pipeline, target, resolve(schedule, tiled, target));
  return std::move(pipeline.kernel_);
}

}  // namespace tessera::backend
