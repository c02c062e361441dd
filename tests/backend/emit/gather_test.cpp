// Reads of tables at token positions: where none of a warp's lies outside, they are loads at constant distances.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "backend/emit/kernels.h"

namespace tessera::test {

namespace {

// o = 1 where the table's element at `index` equals the row's number, else 0. Of a thread's registers there are 2 along
// Query, 16 along Key and 32 of a tile of both.
ir::Kernel reading(const std::string& index, const std::string& gather) {
  return placed(R"(kernel reading placed grid(Query:64) threads 128 {
  param o: out f32[Query, Key]
  param shift: scalar i32
  param table: table i32 rank 1
  param square: table i32 rank 2
  param bytes: table i1 rank 1
  param tiles: table i32 rank 1 indices
  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}
  layout #1 {reg 2*Key:1 2*Query:8 8*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  layout #2 {reg 2*Key:1 8*Key:8 | lane 4*Key:2 8 | warp 4}
  %c0 = constant 0 : i32
  %c64 = constant 64 : i32
  %0 = program_id Query : i32
  %1 = mul %0, %c64 : i32
  %2 = iota Query : i32[Query:64] #0
  %query = add %2, %1 : i32[Query:64] #0
  %4 = iota Key : i32[Key:64] #2
  %key = add %4, %1 : i32[Key:64] #2
  %shift = scalar shift : i32
  %tile = gather tiles(%0) : i32
  %start = mul %tile, %c64 : i32
  %captured = gather table(%0) : i32
  %index = $index
  %element = $gather
  %number = cast %element : i32$type
  %same = eq %number, %$other : i1[Query:64, Key:64] #1
  %out = cast %same : f32[Query:64, Key:64] #1
  store o(%1, %c0), %out
})",
                {{"index", index},
                 {"gather", gather},
                 {"type", gather.substr(gather.find('['))},
                 {"other", gather.find("#0") == std::string::npos ? "query" : "key"}});
}

struct Read {
  std::string name, index, gather;
};

// What follows the vote where all agree.
std::string straight(const std::string& ptx) {
  const std::size_t vote = ptx.find("vote.sync.all"), branch = ptx.find("bra", vote), begin = ptx.find('\n', branch);
  return ptx.substr(begin, ptx.find("\n$L", begin) - begin);
}

// Distances from one register at which addresses are made or loads go, the most there are from any.
std::size_t distances(const std::string& code) {
  const std::regex use(R"(add\.s64\s+%rd\d+, (%rd\d+), (-?\d+);|ld\.global\S*\s+%\w+, \[(%rd\d+)\+(-?\d+)\])");
  std::map<std::string, std::set<std::string>> by_register;
  for (std::sregex_iterator at(code.begin(), code.end(), use), end; at != end; ++at)
    by_register[(*at)[1].str() + (*at)[3].str()].insert((*at)[2].str() + (*at)[4].str());
  std::size_t most = 0;
  for (const auto& [name, all] : by_register) most = std::max(most, all.size());
  return most;
}

}  // namespace

TEST_CASE("tables read at positions have a way without clamps: one address, and an element once") {
  const std::vector<std::pair<Read, std::size_t>> all = {
      {{"position", "add %4, %1 : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 16},
      {{"behind", "sub %key, 3 : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 16},
      {{"in a listed tile", "add %4, %start : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 16},
      {{"bits", "add %4, %1 : i32[Key:64] #2", "gather bytes(%index) : i1[Key:64] #2"}, 16},
      // Of the two rows' 32 registers, 14 are as far from their keys as another is.
      {{"distance", "sub %query, %key : i32[Query:64, Key:64] #1", "gather table(%index) : i32[Query:64, Key:64] #1"},
       18},
  };
  for (const auto& [read, elements] : all) {
    CAPTURE(read.name);
    const backend::Emitted e = emitted(reading(read.index, read.gather));
    const std::string &ptx = e.artifact.ptx, code = straight(ptx);
    CAPTURE(code);
    CHECK(count(ptx, "vote.sync.all") == 1);
    CHECK(distances(code) == elements - 1);  // and the address itself
    CHECK(count(code, "min.") + count(code, "max.") == 0);
    CHECK(count(code, "mul.") <= 1);
    CHECK(count(ptx, "min.") >= static_cast<int>(elements));  // the other way is there
    CHECK(count(ptx, ".local") == 0);
    assembles(e, 128);
  }
}

TEST_CASE("tables read at anything else clamp every index") {
  const std::vector<std::pair<Read, int>> all = {
      {{"remainder", "mod %key, 32 : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 8},  // that differ
      {{"element", "gather square(%key, 0) : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 32},
      {{"what may wrap", "add %key, %shift : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 16},
      {{"what a program captured", "add %4, %captured : i32[Key:64] #2", "gather table(%index) : i32[Key:64] #2"}, 16},
      {{"two dimensions", "add %4, %1 : i32[Key:64] #2", "gather square(%index, 0) : i32[Key:64] #2"}, 16},
      {{"too few to gain", "add %2, %1 : i32[Query:64] #0", "gather table(%index) : i32[Query:64] #0"}, 2},
  };
  for (const auto& [read, clamps] : all) {
    CAPTURE(read.name);
    const backend::Emitted e = emitted(reading(read.index, read.gather));
    CHECK(count(e.artifact.ptx, "vote.") == 0);
    CHECK(count(e.artifact.ptx, "min.") >= clamps);
    assembles(e, 128);
  }
}

}  // namespace tessera::test
