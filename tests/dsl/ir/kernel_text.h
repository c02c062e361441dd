// Kernels as text around a few lines of code, for tests that care about those lines only.
#pragma once

#include <string>

namespace tessera::ir::test {

inline std::string indented(const std::string& code) {
  std::string text;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = std::min(code.find('\n', at), code.size());
    if (end > at) text += "  " + code.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

inline std::string traced(const std::string& code) {
  return "kernel f traced grid(Query, Head) {\n"
         "  param q: in bf16[Query, Depth]\n"
         "  param k: in bf16[Key, Depth]\n"
         "  param o: out f32[Query]\n"
         "  param scale: scalar f32\n"
         "  param doc: table i32 rank 1\n"
         "  function @0 causal(q, k, head, batch, query_length, key_length) {\n"
         "    %0 = le %k, %q : i1\n"
         "    yield %0\n"
         "  }\n" +
         indented(code) + "}\n";
}

inline std::string tiled(const std::string& code) {
  return "kernel f tiled grid(Query:64, Head:1) {\n"
         "  param q: in bf16[Query, Depth]\n"
         "  param k: in bf16[Key, Depth]\n"
         "  param o: out f32[Query]\n"
         "  param scale: scalar f32\n"
         "  param doc: table i32 rank 1\n"
         "  param s: scalar i32\n" +
         indented(code) + "}\n";
}

// #0 is the accumulator of a 64 x 128 product, #1 its rows, #2 its columns.
inline std::string placed(const std::string& code) {
  return "kernel f placed grid(Query:64, Head:1) threads 256 {\n"
         "  param q: in bf16[Query, Depth]\n"
         "  param k: in bf16[Key, Depth]\n"
         "  param o: out f32[Query]\n"
         "  role @0 producer x1 registers 24\n"
         "  role @1 consumer x1\n"
         "  layout #0 {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}\n"
         "  layout #1 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}\n"
         "  layout #2 {reg 2*Key:1 16*Key:8 | lane 4*Key:2 8 | warp 4}\n" +
         indented(code) + "}\n";
}

}  // namespace tessera::ir::test
