// Programs that are not attention, in token orders, on the CPU.
#include <cmath>

#include <doctest/doctest.h>

#include "library/order_programs.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("tiles in registers, in every pair of orders") {
  OnHost on;
  programs::check_weigh(on);
}
