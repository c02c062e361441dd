// How a copy reads a tile of a token order in place: the axes of its tensor map, and which tiles one box describes.
//
// Axes, innermost first: the tensor's last axis; each digit of which a tile has several values, last digit first; then
// the other digits and the grid axes that the tensor does not list, each as an axis of its own where the hardware's
// limit of axes allows it. Else these, all of extent 1 in a box, are one axis of offsets: its stride is the greatest
// common divisor of theirs, and each counts a multiple of it.
//
// A digit's end is the end of its axis, so what lies past it arrives as zeros. An incomplete last value of a digit is
// no end of an axis: where all digits after it have one value in a tile, one of two maps is right, with that value or
// without; else tiles that hold part of it are read row by row, through the map of the identity order.
#pragma once

#include <optional>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

inline constexpr int kMapAxes = 5;

struct OrderedMap {
  std::vector<std::size_t> boxes{};   // digits with several values in a tile, last first
  std::vector<std::size_t> others{};  // digits with one, last first
  bool offsets = false;               // these and the unlisted grid axes are one axis
};
// InternalError where boxes are more than axes.
OrderedMap ordered_map(const ir::Order& order, std::size_t unlisted_axes);

// The first digit's last value may be incomplete, and one of two maps is right for every tile.
bool has_two_maps(const ir::Order& order);
// Digit i's last value is or may be incomplete, and tiles may hold part of it.
bool splits_value(const ir::Order& order, std::size_t i);

// What a warp's rows of a tile that is sent are; nothing where they are no box, or may be padding.
std::optional<ir::AxisOrder> rows_of_warp(const ir::AxisOrder& cut);

// The order whose tile a coordinate of a load, store or copy is; null: it is a start.
const ir::AxisOrder* order_of(const ir::Kernel& kernel, const std::vector<const ir::Op*>& definitions, ir::Value at);

}  // namespace tessera::backend
