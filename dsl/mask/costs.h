// What time a plan takes on a device: tiles at measured speeds, a fixed part a query tile, the way rows fall on
// multiprocessors, and the traffic of chained passes. Plain numbers, which the library has from the backend.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::mask {

// As made: one multiprocessor, on which nothing but operations takes time.
struct TargetCosts {
  // Operations a second of the whole device in dense attention whose query tiles have so many rows, key tiles of 128.
  struct Rate {
    int query_rows;
    double operations;
  };
  std::vector<Rate> rates;  // by rows, most first: query tiles are of these sizes
  int depth = 128, value = 128;
  int key_rows = 128;             // of a key tile, at most
  std::int64_t shared_bytes = 0;  // of a block's memory; 0: any plan fits
  int processors = 1;
  double step_start = 0;  // of a step over 128 keys: the part that does not grow with the keys
  double mask = 0;        // of such a step: what evaluating a predicate in it adds
  double row_start = 0;   // such steps: what a query tile costs beside those over its keys
  double launch_seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();

  double step(int query_rows, std::int64_t keys) const;     // seconds of one multiprocessor
  double masking(int query_rows, std::int64_t keys) const;  // more, for a partial tile
  double row(int query_rows) const { return row_start * step(query_rows, 128); }
  double chaining(std::int64_t rows) const;  // seconds of the device: O read and written once more, and LSE
};

// Keys of a step that a tile of `rows` keys takes.
std::int64_t step_keys(std::int64_t rows);

// Rows that take so many seconds each, every one `copies` times.
struct RowTimes {
  std::vector<double> seconds;
  double copies = 1;
};
// Seconds until the last ends, longest first on all multiprocessors. Rows above a third of an even share, and above
// `least_part`, are split over keys where that ends earlier; a part costs `part_start` more.
double makespan(RowTimes rows, const TargetCosts& costs, double least_part, double part_start);

}  // namespace tessera::mask
