#include "backend/placed_runs.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/verify.h>

#include "support/ptxas.h"

namespace tessera::test {

const backend::Target& hopper() { return backend::target_named("sm_90a"); }

std::vector<double> elements_of(const View& view) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < view.elements(); ++i)
    values.push_back(view.dtype == DType::i32 ? static_cast<double>(static_cast<const std::int32_t*>(view.data)[i])
                                              : ir::load_element(view.data, view.dtype, i));
  return values;
}

std::vector<std::vector<double>> outputs_of(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments) {
  std::vector<ir::Argument> mine = arguments;
  std::vector<std::vector<float>> memory(kernel.params.size());
  for (std::size_t p = 0; p < mine.size(); ++p) {
    if (kernel.params[p].kind != ir::ParamKind::output) continue;
    const View& view = std::get<View>(mine[p]);
    memory[p].assign(static_cast<std::size_t>(view.elements()), std::numeric_limits<float>::quiet_NaN());
    mine[p] = View::contiguous(memory[p].data(), view.dtype, view.shape);
  }
  ir::interpret(kernel, ir::bind(kernel, mine));
  std::vector<std::vector<double>> outputs;
  for (std::size_t p = 0; p < mine.size(); ++p) {
    if (kernel.params[p].kind != ir::ParamKind::output) continue;
    const View& view = std::get<View>(mine[p]);
    outputs.push_back(elements_of(view));
  }
  return outputs;
}

double largest_difference(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  double worst = a.size() == b.size() ? 0 : kInfinite;
  for (std::size_t p = 0; p < std::min(a.size(), b.size()); ++p) {
    if (a[p].size() != b[p].size()) return kInfinite;
    for (std::size_t i = 0; i < a[p].size(); ++i) {
      const double x = a[p][i], y = b[p][i];
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const double difference = std::abs(x - y) / (1 + std::abs(x));
      worst = std::max(worst, std::isnan(difference) ? kInfinite : difference);
    }
  }
  return worst;
}

double placed_difference(const ir::Kernel& tiled, const std::vector<ir::Argument>& arguments,
                         const backend::Schedule& schedule) {
  const ir::Kernel placed = backend::place(tiled, hopper(), schedule);
  REQUIRE(ir::legal(placed, ir::Stage::placed) == "");
  return largest_difference(outputs_of(tiled, arguments), outputs_of(placed, arguments));
}

bool assembles_clean(const ir::Kernel& tiled, const backend::Schedule& schedule) {
  const backend::Compiled compiled = backend::compile(tiled, hopper(), schedule);
  CHECK(compiled.artifact.shared_bytes <= hopper().shared_bytes);
  const Assembly assembly = assemble(compiled.artifact.ptx, hopper().name);
  if (!assembly.available) return true;
  INFO(assembly.log);
  CHECK(assembly.ok);
  CHECK(assembly.spill_bytes == 0);
  CHECK(assembly.warnings.empty());
  return assembly.ok && assembly.spill_bytes == 0 && assembly.warnings.empty();
}

}  // namespace tessera::test
