// expect: nothing
#include <functional>

#include <tessera/dsl/lang/lang.h>

using namespace tessera;

const bool given = true;
const long most = 4;
Table<i32> doc(std::vector<int>{0, 0, 1, 1});
Table bits(std::vector<int>{1, 0, 0, 1}, 2, 2);

Mask right = [](Position q, Position k) {
  Tile<i1> near = q < k;
  Position first = given ? q : 0, last = given ? k : most;
  return (given ? near : true) && doc[first] == doc[last] && bits(q, k) != 0 && abs(q - k) < 4;
};
Score scaled = [](ScoreValue s, Position, Position) { return given ? s : 0.0; };
static_assert(!std::is_array<Mask>() && std::is_class<Mask>());
bool without(const std::function<long(const Mask&)>& tokens) { return !tokens; }
