// Which boxes of tensor maps a tile of a token order is: one for the whole of it, or one a row where the box would hold
// what is no token (ordered_map.h). What copies and sends have in common.
#pragma once

#include <functional>

#include <tessera/backend/emit/emitter.h>
#include <tessera/backend/ordered_map.h>

namespace tessera::backend {

class OrderedBoxes {
 public:
  // Of parameter `param`, an input or an output; positions at or past `bound`, if there is one, are no tokens.
  OrderedBoxes(Emitter& e, int param, const Bound& tile, llvm::Value* bound);

  // Moves the box at these coordinates (all but the columns', innermost first) of `map`, from or to the tile's rows
  // from `row` on. Coordinates of rows that are no token lie before the tensor's first one.
  using Move = std::function<void(llvm::Value* map, llvm::Value* row, const Values& at)>;
  void emit(const Move& move);

  // Whether one box is right; null: it always is.
  llvm::Value* describable();
  void move_boxes(const Move& move);  // where it is

 private:
  llvm::Value* i32(std::int64_t n) { return e_.i32(static_cast<int>(n)); }
  llvm::Value* first(std::size_t digit) const { return tile_.regs[digit]; }
  llvm::Value* length() { return e_.length(cut_.axis); }
  llvm::Value* last_of(std::size_t digit);
  llvm::Value* holds_no_part(std::size_t digit);
  void writable(const std::function<void(llvm::Value*)>& also);
  void box(bool complete, const Move& move);
  void rows(const Move& move);

  Emitter& e_;
  const int param_;
  const Bound tile_;
  const ir::AxisOrder& cut_;
  const ir::Order& order_;
  llvm::Value* bound_;
  Values unlisted_;
  OrderedMap map_;
};

}  // namespace tessera::backend
