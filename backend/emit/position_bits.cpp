#include <tessera/backend/emit/position_bits.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::OpCode;
using llvm::Value;

namespace {

constexpr int kWord = 32;
constexpr int kWorthwhile = 16;  // elements of a word: making one takes about eight instructions

// How offsets ascend with the bits of a word: `repeat` times over, `steps` steps of `run` equal ones. Steps are
// `distance` apart; or pairs of neighbours are, as the columns are that a thread holds of a product.
struct Pattern {
  int first = 0, run = 1, steps = 1, repeat = 1, distance = 1;
  bool pairs = false;
  int at(int bit) const {
    const int step = bit / run % steps;
    return first + (pairs ? step / 2 * distance + step % 2 : step * distance);
  }
};

std::optional<Pattern> pattern_of(const std::vector<int>& offsets) {
  const int n = static_cast<int>(offsets.size());
  const auto same = [&](int i, int j) {
    return offsets[static_cast<std::size_t>(i)] == offsets[static_cast<std::size_t>(j)];
  };
  Pattern p{.first = offsets[0]};
  while (p.run < n && same(p.run, 0)) ++p.run;
  int period = p.run;  // up to where the first offset comes again
  while (period < n && !same(period, 0)) ++period;
  if (n % period != 0 || period % p.run != 0) return std::nullopt;
  p.repeat = n / period;
  p.steps = period / p.run;
  const auto step = [&](int i) { return offsets[static_cast<std::size_t>(i * p.run)] - p.first; };
  p.pairs = p.steps > 2 && step(1) == 1 && step(2) != 2;
  if (p.steps > 1) p.distance = p.pairs ? step(2) : step(1);
  if (p.distance < 1 || !std::has_single_bit(static_cast<unsigned>(p.distance))) return std::nullopt;
  for (int bit = 0; bit < n; ++bit)
    if (offsets[static_cast<std::size_t>(bit)] != p.at(bit)) return std::nullopt;
  return p;
}

// The word of the offsets that are less than `bound`, or with `inverted` of the others.
Value* word_below(Emitter& e, const Pattern& p, Value* bound, bool inverted) {
  auto& b = e.b;
  const int shift = std::countr_zero(static_cast<unsigned>(p.distance));
  Value* before = b.CreateNSWSub(bound, e.i32(p.first));
  Value* steps = before;
  if (p.pairs) {
    Value* left = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateAnd(before, e.i32(p.distance - 1)), e.i32(2));
    steps = b.CreateAdd(b.CreateShl(b.CreateAShr(before, e.i32(shift)), e.i32(1)), left);
  } else if (shift) {
    steps = b.CreateAShr(b.CreateNSWAdd(before, e.i32(p.distance - 1)), e.i32(shift));
  }
  steps = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, steps, e.i32(0));
  if (p.repeat > 1 || p.run > 1) steps = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, steps, e.i32(p.steps));
  Value* others = shift_left(b, e.i32(-1), p.run == 1 ? steps : b.CreateMul(steps, e.i32(p.run)));
  Value* word = inverted ? others : b.CreateNot(others);
  if (p.repeat == 1) return word;
  const int period = p.run * p.steps;
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

// Bits for the registers of a row, in their order, that go to words of 32.
bool compare_row(Emitter& e, Comparison is, const std::vector<Affine>& differences, const std::vector<int>& group,
                 std::vector<Bit>& bits) {
  const auto difference = [&](int r) { return differences[static_cast<std::size_t>(r)]; };
  Value* base = difference(group[0]).base;
  if (std::any_of(group.begin(), group.end(), [&](int r) { return difference(r).base != base; })) return false;
  // offset + base < 0 asks for the offsets below -base; where they descend, -offset > base for those above base.
  const auto offset = [&](std::size_t i) { return difference(group[i]).offset; };
  const bool descending = std::any_of(
      group.begin(), group.end(), [&](int r) { return differences[static_cast<std::size_t>(r)].offset < offset(0); });
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

std::vector<Bit> compare_bits(Emitter& e, OpCode code, const std::vector<Affine>& differences,
                              const std::function<int(int)>& row) {
  const std::optional<Comparison> is = comparison(code);
  if (!is) return {};
  std::map<int, std::vector<int>> groups;  // registers of each row
  for (std::size_t r = 0; r < differences.size(); ++r) groups[row(static_cast<int>(r))].push_back(static_cast<int>(r));
  std::vector<Bit> bits(differences.size());
  for (const auto& [number, group] : groups)
    if (group.size() < kWorthwhile || !compare_row(e, *is, differences, group, bits)) return {};
  return bits;
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
