// Where queries and keys differ in number: which query is next to which key. Patterns that compare a query's own place
// with a key take an Align; patterns over side tables or a grid read raw indices.
#pragma once

#include <cstdint>

namespace tessera {

enum class Align : std::uint8_t {
  bottom_right,  // the last query is next to the last key: query i stands at key i + key_length - query_length
  top_left,      // the first query is next to the first key: query i stands at key i
};

}  // namespace tessera
