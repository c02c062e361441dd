// What patterns, scores, merging, files and the environment refuse.
#include <tessera/library/environment.h>
#include <tessera/library/merge.h>
#include <tessera/library/registry.h>
#include <tessera/library/safetensors.h>
#include <tessera/library/scores.h>

#include <cmath>
#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "support/tensor.h"

using namespace tessera;

namespace {

template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const UserError& error) {
    std::string text = error.what();
    return text.substr(text.find("error: "));
  }
  return "not refused";
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

TEST_CASE("patterns") {
  int line = 0;
  try {
    line = __LINE__ + 1;
    window(-1, 0);
  } catch (const UserError& error) {
    CHECK(std::string(error.loc().file) == __FILE__);
    CHECK(error.loc().line == line);
  }
  CHECK(refusal([] { window(-1, 0); }) ==
        "error: the window is (-1, 0); note: give the number of keys before and after a query's own place, each 0 or "
        "more");
  CHECK(refusal([] { prefix(-3); }) == "error: the prefix has -3 keys; note: give 0 or more");
  CHECK(refusal([] { sinks(-1); }) == "error: there are -1 sinks; note: give 0 or more");
  CHECK(refusal([] { sink_window(4, -1); }) ==
        "error: there are 4 sinks and a window of -1 keys before the query; note: give 0 or more of each");
  CHECK(refusal([] { block_diagonal(0); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { document_ids({3, -1}); }) == "error: document 1 has -1 tokens; note: give 0 to 2^31 - 1");
}

TEST_CASE("scores") {
  CHECK(refusal([] { softcap(0); }) == "error: the cap is 0; note: give a positive number");
  CHECK(refusal([] { alibi(0); }) == "error: there are 0 heads; note: give 1 or more");
  CHECK(refusal([] { alibi(std::vector<float>{}); }) == "error: there are 0 slopes; note: give one a query head");
}

TEST_CASE("patterns by name") {
  const std::string unknown = refusal([] { pattern_named("spiral"); });
  CHECK(unknown.starts_with("error: there is no pattern 'spiral'; note: patterns: full, causal, window, prefix, "));
  for (const Pattern& pattern : patterns()) CHECK(unknown.find(pattern.name) != std::string::npos);
  CHECK(refusal([] { make_mask(pattern_named("window"), {{"width", "3"}}); }) ==
        "error: pattern 'window' has no parameter 'width'; note: it has: left, right, align");
  CHECK(refusal([] { make_mask(pattern_named("full"), {{"width", "3"}}); }) ==
        "error: pattern 'full' has no parameter 'width'; note: it has none");
  CHECK(refusal([] { make_mask(pattern_named("prefix"), {}); }) ==
        "error: pattern 'prefix' needs --length; note: keys of the prefix");
  CHECK(refusal([] { make_mask(pattern_named("window"), {{"left", "1e3"}}); }) ==
        "error: --left of pattern 'window' is '1e3'; note: give a whole number of 32 bits");
  CHECK(refusal([] { make_mask(pattern_named("window"), {{"left", "99999999999"}}); }) ==
        "error: --left of pattern 'window' is '99999999999'; note: give a whole number of 32 bits");
  CHECK(refusal([] { make_mask(pattern_named("causal"), {{"align", "left"}}); }) ==
        "error: --align of pattern 'causal' is 'left'; note: give bottom-right or top-left");
  CHECK(
      refusal([] { make_mask(pattern_named("documents"), {{"lengths", "3,,4"}}); }) ==
      "error: --lengths of pattern 'documents' is '3,,4'; note: give whole numbers with commas between, as 100,28,300");
}

TEST_CASE("merging") {
  test::TestTensor o(DType::f32, {1, 2, 5, 8}), lse(DType::f32, {1, 2, 5}), other(DType::f32, {1, 2, 6, 8}),
      other_lse(DType::f32, {1, 2, 6});
  Partial part{o.view(), lse.view()}, longer{other.view(), other_lse.view()};
  CHECK(refusal([&] { merge({part}, part); }) == "error: there are 1 parts to merge; note: give two or more");
  CHECK(refusal([&] { merge({part, longer}, part); }) ==
        "error: part 1.o has the shape [1, 2, 6, 8], expected [1, 2, 5, 8]; note: give all parts one shape");
  Partial integers = part;
  integers.o.dtype = DType::i32;
  CHECK(refusal([&] { merge({part, part}, integers); }) ==
        "error: the result has dtype i32; note: merge f16, bf16 or f32");
  Partial half = part, brain = part;  // beside f32, one type of 16 bits
  half.o.dtype = DType::f16, brain.o.dtype = DType::bf16;
  CHECK(refusal([&] { merge({part, half}, brain); }) ==
        "error: part 1.o has dtype f16, expected bf16 or f32; note: give O in f32 or in one type of 16 bits");
  CHECK(refusal([&] { merge({half, brain}, part); }) ==
        "error: part 1.o has dtype bf16, expected f16 or f32; note: give O in f32 or in one type of 16 bits");
  test::TestTensor out_o(DType::f32, {1, 2, 5, 8}), out_lse(DType::f32, {1, 2, 5});
  const std::string own = "; note: give the result memory of its own";
  CHECK(refusal([&] { merge({{out_o.view(), out_lse.view()}, part}, {out_o.view(), lse.view()}); }) ==
        "error: the result's o is written, and its memory overlaps that of part 0.o" + own);
  CHECK(refusal([&] { merge({part, part}, {out_o.view(), lse.view()}); }) ==
        "error: the result's lse is written, and its memory overlaps that of part 0.lse" + own);
  View within = out_lse.view();
  within.data = static_cast<float*>(out_o.view().data) + 8;
  CHECK(refusal([&] { merge({part, part}, {out_o.view(), within}); }) ==
        "error: the result's lse is written, and its memory overlaps that of the result's o; note: give each memory of "
        "its own");
}

TEST_CASE("safetensors") {
  auto parse = [](const std::string& text) {
    return refusal([&] { SafeTensors::parse(bytes_of(text), "x.safetensors"); });
  };
  const std::string again = "; note: the file is damaged or not a safetensors file; write it again";
  CHECK(parse("abc") ==
        "error: x.safetensors: a safetensors file starts with 8 bytes of header size, this one has 3 bytes" + again);
  CHECK(parse(std::string("\x50\0\0\0\0\0\0\0{}", 10)) ==
        "error: x.safetensors: the header is said to have 80 bytes, the file has 2" + again);
  CHECK(parse(std::string("\x02\0\0\0\0\0\0\0[]", 10)) ==
        "error: x.safetensors: the header is not a JSON object" + again);
  CHECK(refusal([] { SafeTensors::read("nowhere/x.safetensors"); }) ==
        "error: nowhere/x.safetensors: cannot be read: No such file or directory; note: check the path");
  SafeTensors file;
  file.tensors["a"] = HostTensor::zeros(DType::f32, {1});
  file.tensors["b"] = HostTensor::zeros(DType::f32, {1});
  CHECK(refusal([&] { file.at("q", "x.safetensors"); }) ==
        "error: x.safetensors: there is no tensor 'q'; note: the file has: a, b");
  CHECK(refusal([&] { file.write("nowhere/x.safetensors"); }).find("error: nowhere/x.safetensors: ") == 0);
  CHECK(refusal([] { HostTensor::zeros(DType::f32, {1LL << 40, 1LL << 40}); }) ==
        "error: a tensor of shape [1099511627776, 1099511627776] has more than 2^63 bytes; note: use a smaller shape");
}

TEST_CASE("environment") {
  auto read = [](std::string name, std::string value) {
    return refusal(
        [&] { library::read_environment([&](const char* n) { return name == n ? value.c_str() : nullptr; }); });
  };
  CHECK(read("TESSERA_DEVICE", "gpu") ==
        "error: environment variable TESSERA_DEVICE is 'gpu'; note: set it to a whole number from 0 to 1023 or to cpu, "
        "or unset it");
  for (const std::string bad : {"abc", "-3", "0", "1e9", "1.5", "1099511627777"}) {
    CHECK(read("TESSERA_CACHE_MEGABYTES", bad) ==
          "error: environment variable TESSERA_CACHE_MEGABYTES is '" + bad +
              "'; note: set it to a whole number from 1 to 1099511627776, or unset it");
  }
  for (const char* good : {"", "1", "1024", "1099511627776"})
    CHECK(read("TESSERA_CACHE_MEGABYTES", good) == "not refused");
  CHECK(read("TESSERA_THREADS", "-1") ==
        "error: environment variable TESSERA_THREADS is '-1'; note: set it to a whole number from 0 to 4096, or unset "
        "it");
}
