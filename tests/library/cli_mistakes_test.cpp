// What the `tessera` command says to a mistake: the whole line, and that nothing else happened.
#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/cli/failure.h>
#include <tessera/library/cli/suggest.h>
#include <tessera/library/registry.h>

#include "library/cli_case.h"

using namespace tessera;
using namespace tessera::test;
using nlohmann::json;

namespace {

// The line after "tessera: ", of a command that has to fail as the user's error.
std::string refusal(const std::string& arguments) {
  Folder folder;
  CAPTURE(arguments);
  const Output out = tessera_command(folder, arguments);
  CHECK(out.code == 1);
  CHECK(out.text.empty());
  CHECK(std::count(out.error.begin(), out.error.end(), '\n') == 1);
  const std::string name = "tessera: ";
  CHECK(out.error.starts_with(name));
  return out.error.substr(name.size(), out.error.size() - name.size() - 1);
}

std::string names_of_patterns() {
  std::string names;
  for (const Pattern& pattern : patterns()) names += (names.empty() ? "" : ", ") + pattern.name;
  return names;
}

}  // namespace

TEST_CASE("commands, patterns and options that there are not") {
  const std::string patterns = names_of_patterns();
  const std::string commands = "explain, simulate, inspect, draw, run, tune, bench, patterns";
  CHECK(refusal("") == "error: no command is given; note: give one of " + commands);
  CHECK(refusal("explan causal") == "error: there is no command 'explan'; note: did you mean explain? there are: " +
                                        commands + "; see tessera --help");
  CHECK(refusal("help") == "error: there is no command 'help'; note: there are: " + commands + "; see tessera --help");
  CHECK(refusal("explain") == "error: explain needs a pattern; note: give one of " + patterns);
  CHECK(refusal("explain causl") ==
        "error: there is no pattern 'causl'; note: did you mean causal or block-causal? there are: " + patterns);
  CHECK(refusal("explain spiral") == "error: there is no pattern 'spiral'; note: there are: " + patterns);
  CHECK(refusal("explain causal window") ==
        "error: explain causal takes no 'window'; note: give one pattern, and its options as --name value");
  CHECK(refusal("patterns causal") == "error: patterns takes no 'causal'; note: leave it out");
  CHECK(refusal("explain causal --lenght 4") ==
        "error: explain causal has no option '--lenght'; note: did you mean --query-length or --key-length or "
        "--key-lengths? see tessera explain --help");
  CHECK(refusal("explain causal --left 4") ==
        "error: explain causal has no option '--left'; note: it is an option of window, sinks, a-shape, tri-shape, "
        "per-head; see tessera explain --help");
  CHECK(refusal("run causal --heads=4 --input a --output b") ==
        "error: run causal has no option '--heads'; note: it is an option of explain, simulate, inspect, tune; see "
        "tessera run "
        "--help");
  CHECK(refusal("--heads 4 explain causal") ==
        "error: --heads stands before what it belongs to; note: give it after explain");
  CHECK(refusal("-x") == "error: tessera has no option '-x'; note: see tessera --help");
}

TEST_CASE("values that do not read, are missing, or are given twice") {
  CHECK(refusal("explain window --left") == "error: --left needs a value; note: keys before it (default: 1023)");
  CHECK(refusal("explain causal --heads") == "error: --heads needs a value; note: query heads (default: 8)");
  CHECK(refusal("explain causal --heads 1 --heads 2") == "error: --heads is given 2 times; note: give it once");
  CHECK(refusal("explain window --left 1 --left 2") == "error: --left is given 2 times; note: give it once");
  CHECK(refusal("explain causal --heads 1e3") ==
        "error: --heads is '1e3'; note: give a whole number from 0 to 2^31 - 1");
  CHECK(refusal("explain causal --heads -1") == "error: --heads is '-1'; note: give a whole number from 0 to 2^31 - 1");
  CHECK(refusal("explain causal --batch 4294967297") ==
        "error: --batch is '4294967297'; note: give a whole number from 0 to 2^31 - 1");
  CHECK(refusal("explain causal --kv-heads 0") ==
        "error: --kv-heads is '0'; note: give a whole number from 1 to 2^31 - 1");
  CHECK(refusal("explain causal --scale nan") == "error: --scale is 'nan'; note: give a number, as 0.125");
  CHECK(refusal("explain causal --softcap 30x") == "error: --softcap is '30x'; note: give a number, as 0.125");
  CHECK(refusal("explain causal --softcap 0") == "error: the cap is 0; note: give a positive number");
  CHECK(refusal("explain causal --target ''") == "error: --target is empty; note: give it a value");
  CHECK(refusal("explain causal --dtype fp8") == "error: --dtype is 'fp8'; note: it is one of bf16, f16");
  CHECK(refusal("explain causal --dtype fp16") ==
        "error: --dtype is 'fp16'; note: did you mean f16? it is one of bf16, f16");
  CHECK(refusal("inspect causal --stage pxt") ==
        "error: --stage is 'pxt'; note: did you mean ptx? it is one of traced, tiled, placed, llvm, ptx, sass");
  CHECK(refusal("run causal --device tpu --input a --output b") ==
        "error: --device is 'tpu'; note: did you mean cpu or gpu? it is one of auto, cpu, gpu");
}

TEST_CASE("what there is to measure, and where") {
  const std::string no_device =
      "error: there is no GPU to measure on: TESSERA_DEVICE=cpu; note: run this where there is one";
  CHECK(refusal("bench") == no_device);
  CHECK(refusal("tune window") == no_device);
  CHECK(refusal("tune") == "error: tune needs a pattern; note: give one of " + names_of_patterns());
  CHECK(refusal("tune prefix") == "error: pattern 'prefix' needs --length; note: keys of the prefix");
  CHECK(refusal("bench causal") == "error: bench takes no 'causal'; note: leave it out");
  CHECK(refusal("bench --suite all_of_it") ==
        "error: --suite is 'all_of_it'; note: it is one of standard, quick, all, lengths");
  CHECK(
      refusal("bench --list --suite quick --only spiral,helix")
          .starts_with("error: no workload of the suite has 'spiral' or 'helix' in its name; note: there are: dense_"));
  CHECK(refusal("bench --repeat 0") == "error: --repeat is '0'; note: give a whole number from 1 to 2^31 - 1");
}

TEST_CASE("what the pattern and the library refuse") {
  CHECK(refusal("explain window --left -1").starts_with("error: the window is (-1, 0); note: "));
  CHECK(refusal("explain window --left many") ==
        "error: --left of pattern 'window' is 'many'; note: give a whole number of 32 bits");
  CHECK(refusal("explain causal --align left") ==
        "error: --align of pattern 'causal' is 'left'; note: give bottom-right or top-left");
  CHECK(refusal("explain prefix") == "error: pattern 'prefix' needs --length; note: keys of the prefix");
  CHECK(
      refusal("explain documents --lengths 1,,2") ==
      "error: --lengths of pattern 'documents' is '1,,2'; note: give whole numbers with commas between, as 100,28,300");
  CHECK(refusal("explain documents --lengths 5,-3") ==
        "error: a document of --lengths has -3 tokens; note: give 0 to 1073741824");
  CHECK(refusal("explain documents --lengths 0,0") ==
        "error: the documents of --lengths have no token; note: give lengths of 1 to 1073741824 tokens in all");
  CHECK(refusal("explain documents --lengths 1073741824,1") ==
        "error: the documents of --lengths have more than 1073741824 tokens; note: give lengths of 1 to 1073741824 "
        "tokens "
        "in all");
  CHECK(refusal("explain documents --lengths 10,20 --query-length 4096") ==
        "error: pattern 'documents' is given 30 tokens, and there are 4096 queries; note: give lengths that add up to "
        "4096");
  CHECK(refusal("inspect documents --lengths 10,20 --query-length 20 --key-length 29") ==
        "error: pattern 'documents' is given 30 tokens, and there are 29 keys; note: give lengths that add up to 29");
  // Words of a command line have no place in a source file.
  CHECK(refusal("explain full --query-length 2147483647") ==
        "error: the query length is 2147483647; note: lengths are from 0 to 1073741824");
  CHECK(refusal("explain causal --head-dim 100").starts_with("error: head_dim is 100, not a multiple of 8; note: "));
  CHECK(refusal("explain causal --heads 8 --kv-heads 3")
            .starts_with("error: 8 query heads do not divide evenly over 3 key and value heads; note: "));
  CHECK(refusal("explain causal --alibi --heads 0") == "error: there are 0 heads; note: give 1 or more");
}

TEST_CASE("run names the file that is missing") {
  CHECK(refusal("run causal") == "error: run needs --input; note: give a safetensors file with q, k and v");
  CHECK(refusal("run causal --input x") ==
        "error: run needs --output; note: give the safetensors file to write o and lse to");
  CHECK(refusal("run causal --input missing.safetensors --output x") ==
        "error: missing.safetensors: cannot be read: No such file or directory; note: check the path");
  CHECK(refusal("run causal --input x --output /") == "error: --output / is a folder; note: give the name of a file");
  CHECK(refusal("run causal --input x --output no/such/o.safetensors") ==
        "error: --output no/such/o.safetensors is in a folder that does not exist; note: make the folder no/such");
}

TEST_CASE("run names the lengths that documents must have") {
  Folder folder;
  const std::string input = write_inputs(folder, "in.safetensors");
  const Output out = tessera_command(
      folder, "run documents --lengths 10,20 --input " + input + " --output " + folder.file("out.safetensors"));
  CHECK(out.error ==
        "tessera: error: pattern 'documents' is given 30 tokens, and there are 90 keys; note: give lengths "
        "that add up to 90\n");
  CHECK(out.code == 1);
}

TEST_CASE("a size of the cache that is none is said by every command that would use it") {
  Folder folder;
  ::setenv("TESSERA_CACHE_MEGABYTES", "-3", 1);
  const Output out = tessera_command(folder, "explain causal --query-length 64 --heads 1");
  ::unsetenv("TESSERA_CACHE_MEGABYTES");
  CHECK(out.error ==
        "tessera: error: environment variable TESSERA_CACHE_MEGABYTES is '-3'; note: set it to a whole "
        "number from 1 to 1099511627776, or unset it\n");
  CHECK(out.code == 1);
}

TEST_CASE("run puts no file in the place of a pipe or a device") {
  Folder folder;
  const std::string input = write_inputs(folder, "in.safetensors"), pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const Output out = tessera_command(folder, "run causal --input " + input + " --output " + pipe);
  CHECK(out.code == 1);
  CHECK(out.error == "tessera: error: --output " + pipe + " is not a regular file; note: give the name of a file\n");
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("run leaves its input alone, however the output is spelled") {
  Folder folder;
  const std::string input = write_inputs(folder, "in.safetensors"), before = read_all(input);
  std::filesystem::create_directory(folder.file("sub"));
  std::filesystem::create_symlink(input, folder.file("link.safetensors"));
  std::filesystem::create_directory_symlink(folder.path, folder.file("sub/same"));
  std::filesystem::create_hard_link(input, folder.file("hard.safetensors"));
  for (const char* name : {"in.safetensors", "./in.safetensors", "sub/../in.safetensors", "link.safetensors",
                           "sub/same/in.safetensors", "hard.safetensors"}) {
    CAPTURE(name);
    for (bool swapped : {false, true}) {
      const std::string from = swapped ? folder.file(name) : input, to = swapped ? input : folder.file(name);
      const Output out = tessera_command(folder, "run causal --input " + from + " --output " + to);
      CHECK(out.code == 1);
      CHECK(out.error == "tessera: error: --output " + to + " is the file of --input " + from +
                             "; note: give --output a file of its own: the input is not overwritten\n");
      CHECK(read_all(input) == before);
    }
  }
  // A file of its own may be there already, and is replaced.
  const std::string copy = write_inputs(folder, "copy.safetensors");
  CHECK(tessera_command(folder, "run causal --input " + input + " --output " + copy).code == 0);
  CHECK(SafeTensors::read(copy).tensors.count("o") == 1);
  CHECK(read_all(input) == before);
}

TEST_CASE("with --json an error is an object on one line of standard error") {
  Folder folder;
  for (const char* arguments : {"explain causl --json", "--json explain causl", "explain --json causl"}) {
    const Output out = tessera_command(folder, arguments);
    CHECK(out.code == 1);
    CHECK(out.text.empty());
    CHECK(std::count(out.error.begin(), out.error.end(), '\n') == 1);
    const json error = json::parse(out.error);
    CHECK(error.at("error") == "there is no pattern 'causl'");
    CHECK(error.at("note").get<std::string>().starts_with("did you mean causal or "));
    CHECK(error.at("code") == 1);
  }
  CHECK(cli::failure_line("no remedy\nand a second line\n", 2, true) ==
        "{\"error\":\"no remedy and a second line\",\"note\":null,\"code\":2}\n");
  CHECK(cli::failure_line("error: \xff; note: b; note: c", 1, true) ==
        "{\"error\":\"\xef\xbf\xbd\",\"note\":\"b; note: c\",\"code\":1}\n");
  CHECK(cli::failure_line("no remedy\nand a second line\n", 2, false) == "tessera: no remedy and a second line\n");
}

TEST_CASE("nearest names") {
  using cli::edit_distance;
  using cli::nearest;
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("causal", "causal") == 0);
  CHECK(edit_distance("cuasal", "causal") == 1);  // neighbours swapped
  CHECK(edit_distance("kitten", "sitting") == 3);
  const std::vector<std::string> names{"causal", "window", "block-diagonal", "--key-length", "--left"};
  using Names = std::vector<std::string>;
  CHECK(nearest("windwo", names) == Names{"window"});
  CHECK(nearest("block", names) == Names{"block-diagonal"});    // the start
  CHECK(nearest("diagonl", names) == Names{"block-diagonal"});  // a part
  CHECK(nearest("-left", names) == Names{"--left"});            // dashes in front
  CHECK(nearest("--lenght", names) == Names{"--key-length"});
  CHECK(nearest("spiral", names).empty());
  CHECK(nearest("x", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("cat", Names{"cart", "can", "cat-nap"}) == Names{"cart", "can", "cat-nap"});
}
