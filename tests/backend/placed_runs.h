// Runs a tiled kernel and its placed form on the interpreter, which checks the placed one for races and deadlocks.
#pragma once

#include <vector>

#include <tessera/backend/schedule.h>
#include <tessera/dsl/ir/arguments.h>

namespace tessera::test {

const backend::Target& hopper();

// Elements of a contiguous view, exact.
std::vector<double> elements_of(const View& view);

// The outputs of one run, each in the order of its completed shape. The views of outputs only say their shapes.
std::vector<std::vector<double>> outputs_of(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments);

// Largest difference between two runs, in units of 1 + |value|. Equal infinities and two NaNs differ by nothing.
double largest_difference(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b);

// The same between what `tiled` writes and what it writes when placed.
double placed_difference(const ir::Kernel& tiled, const std::vector<ir::Argument>& arguments,
                         const backend::Schedule& schedule = {});

// Places, emits and assembles: no spills, nothing that ptxas gives up. True where there is no ptxas.
bool assembles_clean(const ir::Kernel& tiled, const backend::Schedule& schedule = {});

}  // namespace tessera::test
