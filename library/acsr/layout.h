// How the rows of an ACSR are laid out for block programs: bands of rows that read one run of keys.
//
// Rows of one stride and one residue of it share their keys' grid: row and keys are then strided views of the tensors,
// in which every row is a run of neighbours. Rows that lie evenly spaced are cut into bands; the keys that a band reads
// begin at its first live key and are as many as the widest band of the layout needs. Bands that follow each other at
// even distances, of rows and of keys, are one launch. Rows without a key have bands of their own.
#pragma once

#include <tessera/library/acsr/acsr.h>

namespace tessera {

// Rows `row`, row + row_step, ...: `rows` of them. Keys `key`, key + key_step, ...: as many as the layout's width.
struct AcsrBand {
  std::int64_t row = 0, row_step = 1, rows = 0;
  std::int64_t key = 0, key_step = 1;
};

// Bands first to first + count - 1 of the layout, of the same height and steps.
struct AcsrLaunch {
  std::size_t first = 0, count = 0;
  std::int64_t row_distance = 0, key_distance = 0;  // from band to band
  std::int64_t width = 0;                           // keys of each
};

struct AcsrLayout {
  std::int64_t height = 0;  // of a band, at most
  std::int64_t width = 0;   // keys of the widest band
  std::vector<AcsrBand> bands;
  std::vector<AcsrLaunch> launches;
};

// First and last live key of the rows of each band of `height` consecutive rows; {0, -1} where there is none.
struct KeySpan {
  std::int64_t first = 0, last = -1;
  friend bool operator==(const KeySpan&, const KeySpan&) = default;
};
TESSERA_API std::vector<KeySpan> spans_of(const Acsr& acsr, std::int64_t height, SourceLoc loc = SourceLoc::here());

// Rows in the order of (stride, residue of the keys), each such group filled up with -1 to a multiple of `height`: all
// rows of a band then share stride and residue. Rows of one key join a group of their residue, if there is one; rows
// without a key come last.
TESSERA_API std::vector<std::int64_t> regrouped_rows(const Acsr& acsr, std::int64_t height,
                                                     SourceLoc loc = SourceLoc::here());

TESSERA_API AcsrLayout acsr_layout(const Acsr& acsr, std::int64_t height, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
