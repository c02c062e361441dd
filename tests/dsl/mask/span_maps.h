// Closed forms in token orders, called as a kernel would call them.
#pragma once

#include <optional>

#include <tessera/dsl/mask/digit_spans.h>

#include "dsl/mask/order_maps.h"

namespace tessera::testing {

struct Lengths {
  std::int64_t queries, keys;
};

// One box of tiles: [begin, end) of each digit, and the full ones among them.
struct Span {
  std::int64_t start, begin, full_begin, full_end, end;
};
using SpanBox = std::vector<Span>;

class Caller {
 public:
  Caller(const mask::Pointwise& mask, const mask::TokenOrder& queries, const mask::TokenOrder& keys, Lengths n)
      : mask_(mask), queries_(queries), keys_(keys), n_(n) {}

  std::vector<SpanBox> boxes(const mask::DigitSpans& spans, const mask::Digits& tile, std::int64_t outer = -1) {
    std::vector<std::int64_t> arguments = query_values(tile);
    add_call(arguments);
    if (outer >= 0) arguments.insert(arguments.end(), {keys_.first(0, outer), keys_.last(0, outer)});
    const std::vector<std::int64_t> at = run(spans.bounds, arguments, mask_, {});
    ensure(at.size() == static_cast<std::size_t>(5 * spans.boxes * spans.digits), "five values a digit");
    std::vector<SpanBox> boxes;
    for (int b = 0; b < spans.boxes; ++b) {
      SpanBox box;
      for (int d = 0; d < spans.digits; ++d) {
        const std::int64_t* x = &at[static_cast<std::size_t>(5 * (b * spans.digits + d))];
        box.push_back({x[0], x[1], x[2], x[3], x[4]});
      }
      boxes.push_back(box);
    }
    return boxes;
  }

  std::vector<std::int64_t> guard(const ir::Function& f, const mask::Digits& tile, const mask::Digits& key_tile) {
    std::vector<std::int64_t> arguments = query_values(tile);
    for (int i = 0; i < keys_.digits(); ++i)
      arguments.insert(arguments.end(), {keys_.first(i, key_tile[i]), keys_.last(i, key_tile[i])});
    add_call(arguments);
    return run(f, arguments, mask_, {});
  }

 private:
  std::vector<std::int64_t> query_values(const mask::Digits& tile) const {
    std::vector<std::int64_t> arguments;
    for (int i = 0; i < queries_.digits(); ++i)
      arguments.insert(arguments.end(), {queries_.first(i, tile[i]), queries_.last(i, tile[i])});
    return arguments;
  }
  void add_call(std::vector<std::int64_t>& arguments) const {
    arguments.insert(arguments.end(), {0, 0, n_.queries, n_.keys, n_.keys});
  }

  const mask::Pointwise& mask_;
  const mask::TokenOrder &queries_, &keys_;
  Lengths n_;
};

// The tile maps of plain spans, of nested ones inside the plain ones' outermost digit, and of plain ones with a guard.
// Nothing where there is no closed form, for a reason that is said.
struct SpanMaps {
  TileMap plain, nested, guarded;
};
std::optional<SpanMaps> spans_of(const mask::Pointwise& m, const OrderPair& pair, Lengths n);

}  // namespace tessera::testing
