#include <doctest/doctest.h>

#include <tessera/runtime/image.h>

using namespace tessera::runtime;

namespace {

constexpr const char* two_kernels = R"(ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ill formed pipeline stage in the function 'first'
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 28.017 ms
ptxas warning : something odd
ptxas k.ptx, line 7; warning : (C7001) something on a line
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for helper
    32 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 8 registers
)";

Image sample() {
  Image image;
  image.kind = Image::Kind::ptx;
  image.bytes = std::string("\0ELF\xff", 5);
  image.assembler = "ptxas 13.0.88";
  image.why_no_cubin = "a reason";
  image.optimization = 1;
  image.line_info = true;
  image.report = parse_report(two_kernels);
  return image;
}

}  // namespace

TEST_CASE("a report names each kernel with its registers, spills and memory") {
  const AssemblyReport report = parse_report(two_kernels);
  REQUIRE(report.kernels.size() == 2);
  CHECK(report.kernels[0] == KernelUsage{"first", 168, 16, 8, 12, 1024, 2});
  CHECK(report.kernels[0].spill_bytes() == 20);
  CHECK(report.find("second") == &report.kernels[1]);
  CHECK(report.find("third") == nullptr);
  CHECK(report.text == two_kernels);
}

TEST_CASE("what a called function spills belongs to the kernel that calls it") {
  const AssemblyReport report = parse_report(two_kernels);
  CHECK(report.kernels[1] == KernelUsage{"second", 8, 32, 4, 4, 0, 0});
}

TEST_CASE("warnings and advisories are notes, with their codes") {
  const AssemblyReport report = parse_report(two_kernels);
  REQUIRE(report.notes.size() == 3);
  CHECK(report.notes[0].code == "C7510");
  CHECK(report.notes[0].text.find("serialized due to ill formed pipeline stage") != std::string::npos);
  CHECK(report.notes[1] == AssemblyNote{"", "something odd"});
  CHECK(report.notes[2].code == "C7001");
}

TEST_CASE("the log of the driver's assembler reads the same") {
  const AssemblyReport report = parse_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'add' for 'sm_90a'\n"
      "ptxas info    : Function properties for add\n"
      "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n"
      "ptxas info    : Compile time = 3.160 ms\n");
  REQUIRE(report.kernels.size() == 1);
  CHECK(report.kernels[0] == KernelUsage{"add", 8, 0, 4, 8, 0, 0});
  CHECK(report.notes.empty());
}

TEST_CASE("any text can be read as a report") {
  CHECK(parse_report("").kernels.empty());
  for (const char* text : {"ptxas", "ptxas info", "ptxas info    :", "ptxas info : Used", "ptxas info : (C",
                           "ptxas info : Compiling entry function '", "    0 bytes stack frame", "\n\n"}) {
    CAPTURE(text);
    CHECK(parse_report(text).notes.empty());
  }
}

TEST_CASE("an image survives the way to bytes and back") {
  const Image image = sample();
  CHECK(parse_image(serialise(image)) == image);
  CHECK(parse_image(serialise(Image{})) == Image{});
}

TEST_CASE("bytes that are no image give nothing") {
  const std::string bytes = serialise(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK(!parse_image(bytes.substr(0, length)));
  }
  CHECK(!parse_image(bytes + "x"));
  CHECK(!parse_image(std::string(bytes.size(), '\xff')));
  std::string other_kind = bytes;
  other_kind[std::string("TesseraImage 1\n").size()] = 2;
  CHECK(!parse_image(other_kind));
}
