// Which thread holds which element of a tile: a map from (register, lane, warp) to coordinates, as digits.
//
// A layout is a list of *digits* for each hardware part. A digit has a size, the axis it moves along and the step it
// moves by; the coordinate of an axis is the sum over its digits of digit * step. The first digit of a part varies
// fastest. A digit with no axis *replicates*: all its values hold the same element. Example, the accumulator of a
// 64 x N wgmma (rows Query, columns Key):
//
//   register: (2, Key, 1) (2, Query, 8) (N/8, Key, 8)
//   lane:     (4, Key, 2) (8, Query, 1)
//   warp:     (4, Query, 16)
//
// so lane 5, warp 1, register 2 holds row 8 + 1 + 16 = 25, column 2. Sizes need not be powers of two (N = 80).
// Slicing an axis away (a reduction's result) drops its register digits and turns its lane and warp digits into
// replicating ones. Laws, checked at every point by tests/dsl/ir/layout_test.cpp: a layout of a tile is onto; without
// replicating digits it is one to one; slice(L, a) holds at each place the coordinate L has there, less a.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <tessera/dsl/ir/types.h>

namespace tessera::ir {

struct Digit {
  int size = 1;
  Axis axis{};  // none: replicates
  int step = 0;
  friend bool operator==(const Digit&, const Digit&) = default;
};

enum class Part : std::uint8_t { reg, lane, warp };

struct Coordinate {
  Axis axis;
  int at;
};

class Layout {
 public:
  Layout(std::vector<Digit> registers, std::vector<Digit> lanes, std::vector<Digit> warps);

  const std::vector<Digit>& digits(Part part) const { return digits_[static_cast<int>(part)]; }
  int size(Part part) const;  // product of digit sizes: registers a thread, lanes (32), warps

  // Coordinate along `axis` of what (register, lane, warp) holds.
  int at(Axis axis, int reg, int lane, int warp) const;
  // The part of it that one hardware index contributes: at() is the sum over the three parts.
  int part_at(Axis axis, Part part, int index) const;

  bool replicates(Part part) const;  // some digit of the part has no axis
  Layout slice(Axis axis) const;     // without `axis`
  int register_of(
      const std::vector<Coordinate>& coordinates) const;  // register whose part coordinates are these; -1 if none

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::array<std::vector<Digit>, 3> digits_;
};

std::string to_string(
    const Layout& layout);  // "{reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}"

}  // namespace tessera::ir
