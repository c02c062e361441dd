// Programs in files that also say `using namespace std`: tessera's functions are the ones that are called.
#include <algorithm>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/lang/lang.h>

using namespace std;
using namespace tessera;

namespace {
template <class Stage>
struct Args {
  TESSERA_STRUCT(Args, (In<Stage, f32, Query>, x), (In<Stage, f32, Query>, y), (Out<Stage, f32, Query>, o));
};
}  // namespace

TEST_CASE("max, min, abs and exp2 of tiles under using namespace std") {
  auto program = kernel(grid<Query, Batch>, [](Args<traced> a) {
    const Tile<f32, Query> x = load(a.x), y = load(a.y);
    Tile<f32, Query> m = load(a.x);
    const Tile<f32, Query> both = max(x, y), mixed = max(m, x + y), number = min(m, 1.0), same = max(m, m);
    store(a.o, abs(both) + exp2(min(mixed, x)) + max(number, same) + max(x * 2.0, y * 2.0));
  });
  const string text = ir::print(program.trace().kernel);
  CHECK(count(text.begin(), text.end(), '\n') > 15);
  CHECK(text.find("= max ") != string::npos);
  CHECK(text.find("= min ") != string::npos);
  CHECK(text.find("= abs ") != string::npos);
}
