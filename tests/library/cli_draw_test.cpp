// tessera draw, as a user runs it.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/registry.h>

#include "library/cli_case.h"

using namespace tessera;
using namespace tessera::test;
using nlohmann::json;

TEST_CASE("draw shows a mask on the terminal") {
  Folder folder;
  const Output out = tessera_command(folder, "draw window --left 3 --query-length 12 --query-tile 4 --key-tile 4");
  CHECK(out.code == 0);
  CHECK(out.text ==
        "window --left 3\n"
        "█···········\n"
        "██··········\n"
        "███·········\n"
        "████········\n"
        "·████·······\n"
        "··████······\n"
        "···████·····\n"
        "····████····\n"
        "·····████···\n"
        "······████··\n"
        "·······████·\n"
        "········████\n"
        "rows are queries, columns keys; a mark is 1 x 1 of them: █ all live, ▒ some, · none\n"
        "tiles      4 x 4: 5 of 9 visited (0 full, 5 partial): 44.4 % skipped\n"
        "order      queries [1:4], keys [1:4]\n");
  CHECK(tessera_command(folder, "draw per-head --kinds 0,1 --head 0 --query-length 64").text !=
        tessera_command(folder, "draw per-head --kinds 0,1 --left 3 --head 1 --query-length 64").text);
}

TEST_CASE("draw writes pictures, and says what it drew as JSON") {
  Folder folder;
  const std::string svg = folder.file("mask.svg"), png = folder.file("mask.png");
  const std::string pattern = "draw swin --grid 16,16 --window 4 --query-tile 64 --key-tile 64";
  const Output drawn = tessera_command(folder, pattern + " --output " + svg);
  CHECK(drawn.text ==
        "tiles      64 x 64: 4 of 16 visited (0 full, 4 partial): 75.0 % skipped\n"
        "order      queries [1:64], keys [1:64]\nwrote      " +
            svg + "\n");
  const std::string picture = read_all(svg);
  CHECK(picture.starts_with("<svg "));
  for (const char* text : {">swin --grid 16,16 --window 4<", ">elements<", ">tiles of 64 x 64<",
                           ">4 of 16 visited (0 full, 4 partial): 75.0 % skipped<",
                           ">order of queries [1:64], of keys [1:64]<", ">256 queries (down) x 256 keys (across)<"})
    CHECK(picture.find(text) != std::string::npos);

  const json said = json::parse(tessera_command(folder, pattern + " --json --pixels 64 --output " + png).text);
  CHECK(said.at("tiles").at("visited") == 4);
  CHECK(said.at("tiles").at("total") == 16);
  CHECK(said.at("query_length") == 256);
  CHECK(said.at("key_order") == "[1:64]");
  CHECK(said.at("output") == png);
  CHECK(read_all(png).starts_with("\x89PNG\r\n\x1a\n"));
  CHECK(json::parse(tessera_command(folder, pattern + " --json").text).at("output").is_null());
}

TEST_CASE("draw and explain know every pattern") {
  Folder folder;
  const std::map<std::string, std::string> needed{{"prefix", "--length 20"},
                                                  {"padding", "--lengths 9"},
                                                  {"block-diagonal", "--size 8"},
                                                  {"blocked", "--size 8"},
                                                  {"block-causal", "--size 8"},
                                                  {"block-diffusion", "--length 40 --size 8"},
                                                  {"dilated-window", "--width 4 --dilation 3"},
                                                  {"strided", "--stride 5"},
                                                  {"documents", "--lengths 9,30"},
                                                  {"shared-prefix", "--lengths 9,30 --prefix -1,0"},
                                                  {"tree", "--parents -1,0,0,1"},
                                                  {"image-intervals", "--keys-per-image 9 --first 0,5 --end 5,60"},
                                                  {"neighborhood", "--grid 4,4,8 --window 3"},
                                                  {"swin", "--grid 14,14"},
                                                  {"halo", "--grid 16,16"},
                                                  {"axial", "--grid 9,9"},
                                                  {"spatial", "--grid 3,5,5"},
                                                  {"temporal", "--grid 3,5,5"},
                                                  {"sliding-tiles", "--grid 8,8 --tile 4 --window 1"},
                                                  {"radial", "--frames 5 --tokens-per-frame 20"},
                                                  {"spatial-head", "--frames 5 --tokens-per-frame 20 --width 1.5"},
                                                  {"temporal-head", "--frames 5 --tokens-per-frame 20 --width 1.5"},
                                                  {"bigbird", "--tokens 500"},
                                                  {"ring", "--tokens 500"},
                                                  {"log-sparse", "--tokens 500"}};
  for (const Pattern& pattern : patterns()) {
    const auto more = needed.find(pattern.name);
    const std::string line = pattern.name + (more == needed.end() ? " --query-length 300" : " " + more->second);
    CAPTURE(line);
    const Output out = tessera_command(folder, "draw " + line);
    CAPTURE(out.error);
    CHECK(out.code == 0);
    CHECK((out.text.find("█") != std::string::npos || out.text.find("▒") != std::string::npos));
  }
  const json swin = json::parse(tessera_command(folder, "explain swin --grid 112,112 --head-dim 32 --json").text);
  CHECK(swin.at("shapes").at("query_length") == 12544);
  CHECK(swin.at("shapes").at("key_length") == 12544);
}

TEST_CASE("what draw refuses") {
  Folder folder;
  const auto refusal = [&](const std::string& arguments) {
    const Output out = tessera_command(folder, arguments);
    CHECK(out.code == 1);
    CHECK(out.text.empty());
    return out.error;
  };
  CHECK(refusal("draw causal --output mask.jpg") ==
        "tessera: error: --output mask.jpg is no picture that can be drawn; note: give a name that ends in .svg or "
        ".png\n");
  CHECK(refusal("draw causal --output nowhere/mask.svg") ==
        "tessera: error: --output nowhere/mask.svg cannot be written; note: check the path, and the space there\n");
  CHECK(refusal("draw causal --pixels 5000") == "tessera: error: --pixels is '5000'; note: give 1 to 4096\n");
  CHECK(refusal("draw causal --key-tile 0") ==
        "tessera: error: --key-tile is '0'; note: give a whole number from 1 to 2^31 - 1\n");
  CHECK(refusal("draw causal --query-length 1048576") ==
        "tessera: error: a picture of 8192 x 8192 tiles has more than 16777216; note: draw larger tiles\n");
  CHECK(
      refusal("draw swin --grid 14,14 --query-length 100") ==
      "tessera: error: the grid 14 x 14 takes 196 queries, and there are 100; note: give 196 queries, or make the mask "
      "for 100\n");
  CHECK(refusal("explain swin --grid 14,14 --key-length 100 --head-dim 32") ==
        "tessera: error: the grid 14 x 14 takes 196 keys, and there are 100; note: give 196 keys, or make the mask for "
        "100\n");
  CHECK(refusal("explain neighborhood --grid 4,4,8 --window 3,3") ==
        "tessera: error: --window has 2 values, and --grid 3; note: give one for each axis, or a single one for all\n");
  CHECK(refusal("draw per-head --kinds 0,1 --head 2").find("table 'mask_of_head' has 2 entries") != std::string::npos);
  CHECK(refusal("draw sparse-fixed --part most") ==
        "tessera: error: --part of pattern 'sparse-fixed' is 'most'; note: give both or local or column\n");
  CHECK(refusal("draw radial --frames 4 --tokens-per-frame 9 --decay x") ==
        "tessera: error: --decay of pattern 'radial' is 'x'; note: give a number, as 0.5\n");
  CHECK(refusal("draw star --hub 1,2") ==
        "tessera: error: --hub of pattern 'star' is '1,2'; note: give a whole number of 32 bits\n");
  CHECK(refusal("draw tree --parents 9999999999") ==
        "tessera: error: --parents of pattern 'tree' is '9999999999'; note: give whole numbers of 32 bits with commas "
        "between\n");
}
