// The rows of a tile of a token order, as the registers of a thread hold them or one by one: which tokens they are, and
// which are any.
//
// What a register adds to its thread's row is a constant. So a function of the row is a base that the thread's
// registers share plus, mostly, a constant of the register's own; where a box's digits carry between the two, it
// depends on the thread, of whose few rows (four along the columns of a product) each has its constant.
#pragma once

#include <map>
#include <optional>

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

class OrderedRows {
 public:
  // Of a tile's handle, from the row that it names on. `layout` null: rows are given by `row` itself.
  OrderedRows(Emitter& e, const Bound& tile, const ir::Layout* layout, llvm::Value* row = nullptr);

  // `part`: what a register adds to the row.
  Affine token(int part) { return number(0, firsts_.size() - 1, part); }
  Affine number(std::size_t from, std::size_t to, int part);  // digits of the token
  // Whether the row is a token before `end` (i32).
  llvm::Value* exists(int part, llvm::Value* end);

 private:
  struct Number {
    llvm::Value* base = nullptr;  // of part 0
    std::map<int, Affine> parts{};
  };
  int weight(std::size_t digit, std::size_t to) const {
    return static_cast<int>(cut_.order.digits[digit].weight / cut_.order.digits[to].weight);
  }
  llvm::Value* offset_of(std::size_t from, std::size_t to, llvm::Value* row);
  llvm::Value* choose(llvm::Value* row, const std::vector<int>& values);

  Emitter& e_;
  const ir::AxisOrder& cut_;
  Values firsts_;
  llvm::Value* row_ = nullptr;         // of part 0
  llvm::Value* hidden_row_ = nullptr;  // the same, for what must not be kept in registers through a loop
  std::vector<int> rows_;              // all that row_ may be, ascending; empty: too many
  std::map<std::pair<std::size_t, std::size_t>, Number> numbers_;  // by first and last digit
};

// Both of it for the parts of all registers, so that the values may be used wherever the maker's may.
struct OrderedPlaces {
  std::map<int, llvm::Value*> tokens, exist;
};
OrderedPlaces ordered_places(Emitter& e, const Bound& tile, const ir::Type& type, ir::Axis axis, llvm::Value* end);

}  // namespace tessera::backend
