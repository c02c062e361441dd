// tessera simulate: what token orders would make of a pattern.
#include <tessera/library/cli/commands.h>
#include <tessera/library/cli/values.h>
#include <tessera/library/registry.h>
#include <tessera/library/simulate.h>

namespace tessera::cli {

std::string simulate(const Arguments& arguments) {
  library::SimulationRequest request;
  request.shapes = arguments.shapes();
  request.head_dim = arguments.head_dim;
  request.value_dim = arguments.value_dim.value_or(arguments.head_dim);
  request.candidates = static_cast<std::size_t>(arguments.candidates);
  if (!arguments.query_order.empty()) request.queries = token_order("--query-order", arguments.query_order);
  if (!arguments.key_order.empty()) request.keys = token_order("--key-order", arguments.key_order);
  const Mask mask = make_mask(pattern_named(arguments.pattern), arguments.parameters);
  const library::Simulation simulation = library::simulate(mask, request);
  return arguments.json ? to_json(simulation) + "\n" : to_text(simulation);
}

}  // namespace tessera::cli
