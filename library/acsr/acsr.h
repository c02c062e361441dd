// ACSR: a mask whose every row is one arithmetic progression of keys, as three numbers a row. Causal and windowed
// masks, blocks, documents, strides and dilations are such masks; a union of a window and sinks is not.
//
//   AcsrScan scan = acsr_of(window(127, 0), {.queries = 4096, .keys = 4096});
//   if (scan.regular()) ... scan.acsr.rows[5] ... else ... scan.irregular, the rows that are no progression
//
// Memory goes with the rows, whatever lies in them; making one from a predicate never looks at all pairs of a mask
// whose geometry is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tessera/dsl/lang/mask.h>

namespace tessera {

// The keys first, first + stride, ... : `count` of them. A row of none is {1, 0, 0}, one of a single key has stride 1.
struct Progression {
  std::int32_t stride = 1, first = 0, count = 0;

  std::int64_t key(std::int64_t i) const { return first + i * stride; }
  std::int64_t last() const { return key(count - 1); }  // of rows that have a key
  bool contains(std::int64_t k) const;
  friend bool operator==(const Progression&, const Progression&) = default;
};

struct Acsr {
  std::int64_t columns = 0;
  std::vector<Progression> rows;

  std::int64_t nnz() const;
  std::int64_t widest() const;  // keys of the longest row
  friend bool operator==(const Acsr&, const Acsr&) = default;
};

struct AcsrScan {
  Acsr acsr;                            // irregular rows have no keys in it
  std::vector<std::int64_t> irregular;  // ascending
  bool regular() const { return irregular.empty(); }
};

// Compressed rows of any kind: the columns of row r are columns[offsets[r]] to columns[offsets[r + 1] - 1], ascending.
struct Csr {
  std::int64_t column_count = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  friend bool operator==(const Csr&, const Csr&) = default;
};

struct AcsrShape {
  std::int64_t queries = 0, keys = 0;
  std::int64_t head = 0, batch = 0;  // the one that is taken
  std::vector<mask::NamedScalar> params = {};
};
TESSERA_API AcsrScan acsr_of(const Mask& mask, const AcsrShape& shape, SourceLoc loc = SourceLoc::here());
// One byte an element, not 0 where a key is live; row after row.
TESSERA_API AcsrScan acsr_of_dense(std::span<const std::uint8_t> live, std::int64_t rows, std::int64_t columns,
                                   SourceLoc loc = SourceLoc::here());
TESSERA_API AcsrScan acsr_of(const Csr& csr, SourceLoc loc = SourceLoc::here());

TESSERA_API Csr to_csr(const Acsr& acsr);
TESSERA_API std::vector<std::uint8_t> to_dense(const Acsr& acsr);
// The mask again, for calls of these lengths: its tables are the three numbers of each row.
TESSERA_API Mask to_mask(const Acsr& acsr, SourceLoc loc = SourceLoc::here());

// UserError that names the first irregular rows, for what needs every row to be a progression.
TESSERA_API const Acsr& require_regular(const AcsrScan& scan, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
