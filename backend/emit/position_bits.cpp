#include <tessera/backend/emit/position_bits.h>

#include <algorithm>
#include <map>
#include <optional>

#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::OpCode;
using llvm::Value;

namespace {

constexpr int kWord = 32;
constexpr int kWorthwhile = 16;  // elements of a word: making one takes about eight instructions

// Offsets of a word's bits as a number in mixed radix: the lowest digit of a bit's place counts the elements of a
// level, `stride` apart, the next one counts such blocks. Columns that a thread holds of a product are {2, 1}, {16, 8};
// the same in rows of 16 tokens of a grid 128 wide {2, 1}, {2, 8}, {8, 128}, of which the column alone is {2, 1}, {2,
// 8}, {8, 0}.
struct Level {
  int count, stride;
};

std::optional<std::vector<Level>> levels_of(const std::vector<int>& offsets) {
  const auto n = offsets.size();
  std::vector<Level> levels;
  for (std::size_t block = 1; block < n;) {
    const int stride = offsets[block] - offsets[0];
    std::size_t end = block;  // as far as blocks follow each other at this stride
    while (end < n && offsets[end] == offsets[end - block] + stride) ++end;
    const std::size_t count = end / block;
    if (n % (block * count) != 0) return std::nullopt;
    levels.push_back({static_cast<int>(count), stride});
    block *= count;
  }
  return levels;
}

// What makes a word of offsets: `run` bits alike, then levels that ascend, all of it `repeat` times over.
struct Pattern {
  int first = 0, run = 1, repeat = 1;
  std::vector<Level> levels{};
  int steps() const {
    int all = 1;
    for (const Level& level : levels) all *= level.count;
    return all;
  }
};

std::optional<Pattern> pattern_of(const std::vector<int>& offsets) {
  const std::optional<std::vector<Level>> levels = levels_of(offsets);
  if (!levels) return std::nullopt;
  Pattern p{.first = offsets[0], .levels = *levels};
  if (!p.levels.empty() && p.levels.front().stride == 0) {
    p.run = p.levels.front().count;
    p.levels.erase(p.levels.begin());
  }
  if (!p.levels.empty() && p.levels.back().stride == 0) {
    p.repeat = p.levels.back().count;
    p.levels.pop_back();
  }
  int reach = 0;  // of the levels so far: the next has to begin above
  for (const Level& level : p.levels) {
    if (level.stride <= reach) return std::nullopt;
    reach += (level.count - 1) * level.stride;
  }
  return p;
}

// How many steps of the levels up to `top` lie below `bound`, which is counted from the first and not negative. The end
// of the top level is not looked at: there may be fewer.
Value* steps_below(Emitter& e, const std::vector<Level>& levels, std::size_t top, Value* bound) {
  auto& b = e.b;
  Value* stride = e.i32(levels[top].stride);
  if (top == 0)
    return levels[0].stride == 1 ? bound : b.CreateUDiv(b.CreateNUWAdd(bound, e.i32(levels[0].stride - 1)), stride);
  int inner = 1;
  for (std::size_t i = 0; i < top; ++i) inner *= levels[i].count;
  Value* left = steps_below(e, levels, top - 1, b.CreateURem(bound, stride));
  left = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, e.i32(inner));
  return b.CreateAdd(b.CreateMul(b.CreateUDiv(bound, stride), e.i32(inner)), left);
}

// The word of the offsets that are less than `bound`, or with `inverted` of the others.
Value* word_below(Emitter& e, const Pattern& p, Value* bound, bool inverted) {
  auto& b = e.b;
  Value* before = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateNSWSub(bound, e.i32(p.first)), e.i32(0));
  Value* steps = p.levels.empty() ? before : steps_below(e, p.levels, p.levels.size() - 1, before);
  if (p.repeat > 1 || p.run > 1) steps = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, steps, e.i32(p.steps()));
  Value* others = shift_left(b, e.i32(-1), p.run == 1 ? steps : b.CreateMul(steps, e.i32(p.run)));
  Value* word = inverted ? others : b.CreateNot(others);
  if (p.repeat == 1) return word;
  const int period = p.run * p.steps();
  unsigned ones = 0;
  for (int i = 0; i < p.repeat; ++i) ones |= 1U << (i * period);
  if (inverted) word = b.CreateAnd(word, e.i32(static_cast<int>((1ULL << period) - 1)));
  return b.CreateMul(word, e.i32(static_cast<int>(ones)));
}

struct Comparison {
  bool below = false;      // or from there on
  bool including = false;  // the bound itself counts as below
};

std::optional<Comparison> comparison(OpCode code) {
  switch (code) {
    case OpCode::lt: return Comparison{true, false};
    case OpCode::le: return Comparison{true, true};
    case OpCode::ge: return Comparison{false, false};
    case OpCode::gt: return Comparison{false, true};
    default: return std::nullopt;
  }
}

// The tile's registers in runs along one axis: those of a run differ in no other.
std::vector<std::vector<int>> rows_along(const ir::Type& type, ir::Axis axis) {
  std::map<std::vector<int>, std::vector<int>> rows;
  for (int r = 0; r < registers_of(type); ++r) {
    std::vector<int> others;
    for (const ir::Dim& d : type.dims)
      if (d.axis != axis) others.push_back(type.layout->part_at(d.axis, ir::Part::reg, r));
    rows[others].push_back(r);
  }
  std::vector<std::vector<int>> all;
  for (auto& [others, row] : rows) all.push_back(std::move(row));
  return all;
}

// Bits for the registers of a row, in their order, that go to words of 32.
bool compare_row(Emitter& e, Comparison is, const std::vector<Affine>& differences, const std::vector<int>& group,
                 std::vector<Bit>& bits) {
  const auto difference = [&](int r) { return differences[static_cast<std::size_t>(r)]; };
  Value* base = difference(group[0]).base;
  if (std::any_of(group.begin(), group.end(), [&](int r) { return difference(r).base != base; })) return false;
  // offset + base < 0 asks for the offsets below -base; where they descend, -offset > base for those above base.
  const auto offset = [&](std::size_t i) { return difference(group[i]).offset; };
  const bool descending =
      std::any_of(group.begin(), group.end(), [&](int r) { return difference(r).offset < offset(0); });
  if (descending) is = {!is.below, !is.including};
  Value* bound = descending ? base : e.b.CreateNSWNeg(base);
  if (is.including) bound = e.b.CreateNSWAdd(bound, e.i32(1));
  for (std::size_t begin = 0; begin < group.size(); begin += kWord) {
    std::vector<int> offsets;
    for (std::size_t i = begin; i < std::min(group.size(), begin + kWord); ++i)
      offsets.push_back(descending ? -offset(i) : offset(i));
    const std::optional<Pattern> pattern = pattern_of(offsets);
    if (!pattern) return false;
    Value* word = word_below(e, *pattern, bound, !is.below);
    for (std::size_t i = 0; i < offsets.size(); ++i)
      bits[static_cast<std::size_t>(group[begin + i])] = {word, static_cast<int>(i)};
  }
  return true;
}

}  // namespace

std::vector<Bit> compare_bits(Emitter& e, OpCode code, const std::vector<Affine>& differences, const ir::Type& type) {
  const std::optional<Comparison> is = comparison(code);
  if (!is || type.is_scalar()) return {};
  for (const ir::Dim& along : type.dims) {
    const std::vector<std::vector<int>> rows = rows_along(type, along.axis);
    if (rows[0].size() < kWorthwhile) continue;
    std::vector<Bit> bits(differences.size());
    if (std::all_of(rows.begin(), rows.end(),
                    [&](const std::vector<int>& row) { return compare_row(e, *is, differences, row, bits); }))
      return bits;
  }
  return {};
}

std::vector<Bit> combine_bits(Emitter& e, OpCode code, int registers, const BitOperand& a, const BitOperand* b) {
  for (const BitOperand* o : {&a, b})
    if (o && o->bits.empty() && registers < kWorthwhile * static_cast<int>(o->values.size())) return {};
  if (a.bits.empty() && (!b || b->bits.empty())) return {};
  std::map<Value*, Value*> extended;
  const auto word = [&](const BitOperand& o, std::size_t r) -> Bit {
    const auto reg = static_cast<std::size_t>(o.registers ? (*o.registers)[r] : 0);
    if (!o.bits.empty()) return o.bits[reg];
    Value*& all = extended[o.values[reg]];
    if (!all) all = e.b.CreateSExt(o.values[reg], e.b.getInt32Ty());
    return {all, -1};
  };
  std::map<std::pair<Value*, Value*>, Value*> made;
  std::vector<Bit> bits;
  for (std::size_t r = 0; r < static_cast<std::size_t>(registers); ++r) {
    const Bit x = word(a, r), y = b ? word(*b, r) : Bit{nullptr, x.at};
    if (x.at >= 0 && y.at >= 0 && x.at != y.at) return {};
    Value*& both = made[{x.word, y.word}];
    if (!both)
      both = !b                            ? e.b.CreateNot(x.word)
             : code == OpCode::logical_and ? e.b.CreateAnd(x.word, y.word)
                                           : e.b.CreateOr(x.word, y.word);
    bits.push_back({both, std::max(x.at, y.at)});
  }
  return bits;
}

Value* test_bit(Emitter& e, const Bit& bit) {
  return e.b.CreateICmpNE(e.b.CreateAnd(bit.word, e.i32(static_cast<int>(1U << bit.at))), e.i32(0));
}

}  // namespace tessera::backend
