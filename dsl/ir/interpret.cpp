#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/interpret_machine.h>
#include <tessera/dsl/ir/interpret_placed.h>

namespace tessera::ir {
namespace {

void check_arguments(const Kernel& kernel, const std::vector<Param>& params, const std::vector<Argument>& arguments) {
  if (arguments.size() != params.size()) {
    throw UserError(
        {},
        fmt::format("kernel '{}' was bound without the {} arguments that its masks and score functions read",
                    kernel.name, params.size() - arguments.size()),
        "bind it to them too, after its own");
  }
  for (std::size_t p = 0; p < arguments.size(); ++p) {
    const View* view = std::get_if<View>(&arguments[p]);
    if (!view || view->memory == Memory::host) continue;
    throw UserError({}, fmt::format("'{}' lies in device memory, the interpreter reads host memory", params[p].name),
                    "copy it to the host, or run the kernel on the device");
  }
}

// Programs along each grid axis.
std::vector<std::int64_t> grid_of(const Kernel& kernel, const Binding& binding, const interp::Launch& launch) {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < kernel.grid.size(); ++i) {
    if (kernel.stage != Stage::traced) {
      counts.push_back(binding.tiles(kernel, i));
      continue;
    }
    const bool outer = std::find(launch.outer.begin(), launch.outer.end(), kernel.grid[i]) != launch.outer.end();
    const std::int64_t tile = outer ? 1 : launch.tile;
    counts.push_back((binding.length(kernel.grid[i]) + tile - 1) / tile);
  }
  return counts;
}

void run_block(const interp::Launch& launch, std::int64_t number, interp::Programs& programs) {
  const interp::Program program{&launch, program_at(launch.kernel->order, number, programs.counts)};
  if (launch.kernel->stage == Stage::placed) return interp::run_placed(program, programs);
  interp::Machine machine(program, *launch.kernel);
  machine.start(launch.kernel->entry);
  machine.run();
}

// Runs 0 ... count - 1 on several threads. Of several failures the one with the lowest number is reported, always the
// same one: numbers are handed out in order, so all below it have run.
class Crew {
 public:
  Crew(std::int64_t count, std::function<void(std::int64_t)> work) : count_(count), work_(std::move(work)) {}

  void run(int threads) {
    std::vector<std::jthread> others;
    for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count_); ++i) others.emplace_back([this] { take(); });
    take();
    for (std::jthread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void take() {
    for (std::int64_t i; (i = next_++) < count_;) {
      try {
        work_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_) {
          failed_ = i;
          failure_ = std::current_exception();
        }
        next_ = count_;
      }
    }
  }

  const std::int64_t count_;
  const std::function<void(std::int64_t)> work_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::int64_t failed_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr failure_;
};

double number_in(const interp::Tile& tile) {
  return tile.holds_floats() ? tile.data<float>()[0] : static_cast<double>(tile.integer());
}

}  // namespace

void interpret(const Kernel& kernel, const Binding& binding, InterpretOptions options) {
  const std::vector<Param> params = call_params(kernel);
  check_arguments(kernel, params, binding.arguments);
  ensure(options.traced_tile > 0, "interpret was asked for tiles of no tokens");
  const interp::Launch launch{&kernel, &params, &binding.arguments, &binding, options.traced_tile, outer_axes(kernel)};
  interp::Programs programs{.order = &kernel.order, .counts = grid_of(kernel, binding, launch)};
  for (std::int64_t count : programs.counts) programs.count *= count;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  // Blocks that take programs from the launch are as many as run at once; two at least, and none may take more than its
  // share: however threads are scheduled, no block takes all.
  const std::int64_t blocks =
      find_programs(kernel) ? std::min<std::int64_t>(programs.count, std::max(threads, 2)) : programs.count;
  programs.most = blocks > 0 ? (programs.count + blocks - 1) / blocks : 0;
  Crew(blocks, [&](std::int64_t i) { run_block(launch, i, programs); }).run(threads);
}

double evaluate(const Function& function, const std::vector<double>& arguments, const std::vector<Argument>& tables) {
  ensure(tables.size() == function.params.size(), "a scalar function was given another number of tables than it reads");
  const interp::Launch launch{nullptr, &function.params, &tables, nullptr};
  const interp::Program program{&launch, {}};
  interp::Machine machine(program, function.graph);
  std::vector<interp::Item> items;
  ensure(arguments.size() == function.graph.entry.args.size(),
         "a scalar function was given another number of arguments");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    items.push_back({interp::Tile::number(function.graph.type(function.graph.entry.args[i]).dtype, arguments[i])});
  }
  machine.start(function.graph.entry, std::move(items));
  machine.run();
  ensure(machine.yielded().size() == 1, "a scalar function yields other than one value");
  return number_in(machine.yielded()[0].tile);
}

}  // namespace tessera::ir
