// Which registers of a tile a predicate of positions holds for, as bits of words.
//
//   before   setp.le %p0, %d, 0;  setp.le %p1, %d, -1;  ...   32 compares for 32 keys of a row
//   after    shl.b32 %w, -1, %count;                          %count: how many of the row's keys come before the bound
//
// A thread's registers of one row are keys in ascending order: those that lie before a bound are the first so many. Of
// an interval's two ends, or of a window and the sinks beside it, the words are combined, 32 elements by an
// instruction, and the assembler moves seven bits at a time into predicates. A partial tile then costs one instruction
// an element, the select, and not one more for each comparison. Digits of token orders ascend too, each of them over
// and over: their bits are those of one period, repeated.
#pragma once

#include <vector>

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

// Where `difference code 0` holds, of the registers of a tile of `type`. Empty where words would cost more than
// comparing, or no pattern is known for the differences along an axis.
std::vector<Bit> compare_bits(Emitter& e, ir::OpCode code, const std::vector<Affine>& differences,
                              const ir::Type& type);

// One operand of a logical operation on tiles, as the result's registers see it: its bits if it has them, else its own
// few values.
struct BitOperand {
  const std::vector<Bit>& bits;
  const Values& values;
  const std::vector<int>* registers;  // of the operand, for each of the result's; null: scalar
};

// The bits of `logical_not a` (b null), `logical_and a b` and `logical_or a b`. Empty if an operand has none and too
// many values to make words of, or if bits do not lie alike.
std::vector<Bit> combine_bits(Emitter& e, ir::OpCode code, int registers, const BitOperand& a, const BitOperand* b);

// The bit, as i1.
llvm::Value* test_bit(Emitter& e, const Bit& bit);

}  // namespace tessera::backend
