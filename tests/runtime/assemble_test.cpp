#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <tessera/runtime/assemble.h>
#include <tessera/runtime/cache.h>
#include <tessera/runtime/environment.h>

#include "runtime/kernels.h"
#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedDirectory;
using test::ScopedVariable;

namespace {

// The real ptxas, or nothing after a message that says why.
std::optional<Assembler> real_ptxas() {
  ScopedVariable unset(variable::ptxas, std::nullopt);
  Assembler assembler = Assembler::find();
  if (assembler.is_ptxas()) return assembler;
  MESSAGE("skipped: ", assembler.why_driver());
  return std::nullopt;
}

// A program that stands in for ptxas: a shell script.
std::string script(const ScopedDirectory& directory, const std::string& body) {
  const std::string path = directory.path() + "/ptxas";
  std::ofstream(path) << "#!/bin/sh\n" << body;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

constexpr const char* version_reply =
    "if [ \"$1\" = --version ]; then\n"
    "  echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
    "  echo 'Cuda compilation tools, release 12.4, V12.4.99'\n"
    "  exit 0\n"
    "fi\n";

}  // namespace

TEST_CASE("the version and build are read from what ptxas says of itself") {
  CHECK(parse_ptxas_version("ptxas: NVIDIA (R) Ptx optimizing assembler\n"
                            "Copyright (c) 2005-2025 NVIDIA Corporation\n"
                            "Built on Wed_Aug_20_01:55:12_PM_PDT_2025\n"
                            "Cuda compilation tools, release 13.0, V13.0.88\n"
                            "Build cuda_13.0.r13.0/compiler.36424714_0\n") ==
        "13.0.88 (cuda_13.0.r13.0/compiler.36424714_0)");
  CHECK(parse_ptxas_version("ptxas: NVIDIA (R) Ptx optimizing assembler\nrelease 9.0, V9.0.1") == "9.0.1");
  CHECK(!parse_ptxas_version("gcc, release 13.0, V13.0.88"));
  CHECK(!parse_ptxas_version("Ptx optimizing assembler"));
  CHECK(!parse_ptxas_version(""));
}

TEST_CASE("good PTX becomes a cubin with a report") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  const Image image = ptxas->assemble(test::add_ptx, {});
  CHECK(image.kind == Image::Kind::cubin);
  CHECK(image.bytes.substr(0, 4) ==
        "\x7f"
        "ELF");
  CHECK(image.assembler.rfind("ptxas ", 0) == 0);
  CHECK(image.assembler == ptxas->identity());
  CHECK(image.why_no_cubin.empty());
  REQUIRE(image.report.find("add"));
  CHECK(image.report.find("add")->registers > 0);
  CHECK(image.report.find("add")->registers <= 16);
  CHECK(image.report.find("add")->spill_bytes() == 0);
  CHECK(image.report.notes.empty());
}

TEST_CASE("shared memory and barriers are reported") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  const Image image = ptxas->assemble(test::copy_box_ptx, {});
  REQUIRE(image.report.find("copy_box"));
  CHECK(image.report.find("copy_box")->barriers == 1);
  CHECK(image.report.find("copy_box")->shared_bytes >= 8);
}

TEST_CASE("the same PTX gives the same bytes, and options change them") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  const Image image = ptxas->assemble(test::add_ptx, {});
  CHECK(ptxas->assemble(test::add_ptx, {}).bytes == image.bytes);
  CHECK(ptxas->assemble(test::add_ptx, {.optimization = 0}).bytes != image.bytes);
}

TEST_CASE("bad PTX is an error with the text of ptxas, and no path of ours") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  std::string bad = test::add_ptx;
  bad.replace(bad.find("add.u32 %r4, %r4, %r6"), 21, "add.u32 %q9, %r4, %r6");
  try {
    ptxas->assemble(bad, {});
    FAIL("assembled");
  } catch (const AssemblyError& error) {
    CHECK(error.output() ==
          "ptxas kernel.ptx, line 21; error   : Arguments mismatch for instruction 'add'\n"
          "ptxas kernel.ptx, line 21; error   : Unknown symbol '%q9'\n"
          "ptxas fatal   : Ptx assembly aborted due to errors\n");
    CHECK(error.what() == ptxas->identity() + " did not assemble the PTX (exit code 255):\n" + error.output());
  }
  CHECK_THROWS_AS(ptxas->assemble("", {}), AssemblyError);
  CHECK_THROWS_AS(ptxas->assemble(test::add_ptx, {.target = "sm_80"}), AssemblyError);
}

TEST_CASE("temporary files are gone after success and after failure") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  ScopedDirectory directory;
  ScopedVariable variable(variable::tmpdir, directory.path());
  ptxas->assemble(test::add_ptx, {});
  CHECK_THROWS_AS(ptxas->assemble("garbage", {}), AssemblyError);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("two threads assemble two kernels at once") {
  auto ptxas = real_ptxas();
  if (!ptxas) return;
  Image first, second;
  std::thread one([&] { first = ptxas->assemble(test::add_ptx, {}); });
  std::thread two([&] { second = ptxas->assemble(test::copy_box_ptx, {}); });
  one.join();
  two.join();
  CHECK(first.report.find("add"));
  CHECK(second.report.find("copy_box"));
}

TEST_CASE("a ptxas that crashes, or can't be run, is an error that says so") {
  ScopedDirectory directory;
  const Assembler crashing = Assembler::ptxas(script(directory, std::string(version_reply) + "echo oh; kill -11 $$\n"));
  CHECK(crashing.identity() == "ptxas 12.4.99");
  CHECK_THROWS_WITH_AS(crashing.assemble(test::add_ptx, {}),
                       "ptxas 12.4.99 did not assemble the PTX (it was ended by signal 11):\noh\n", AssemblyError);
  std::filesystem::remove(directory.path() + "/ptxas");
  CHECK_THROWS_WITH_AS(crashing.assemble(test::add_ptx, {}),
                       "ptxas 12.4.99 did not assemble the PTX (it could not be run: No such file or directory)",
                       AssemblyError);
}

TEST_CASE("options reach ptxas") {
  ScopedDirectory directory;
  // The stand-in writes its arguments, without the paths, as the cubin.
  const std::string body = std::string(version_reply) +
                           "for last; do :; done\n"
                           "echo \"$@\" | sed 's/[^ ]*\\///g' > \"$last\"\n";
  const Assembler assembler = Assembler::ptxas(script(directory, body));
  CHECK(assembler.assemble("", {}).bytes == "-v -arch=sm_90a -O3 kernel.ptx -o kernel.cubin\n");
  CHECK(assembler.assemble("", {.target = "sm_100a", .optimization = 1, .line_info = true}).bytes ==
        "-v -arch=sm_100a -O1 -lineinfo kernel.ptx -o kernel.cubin\n");
}

TEST_CASE("an explicit ptxas must be one") {
  ScopedVariable missing(variable::ptxas, "/nowhere/ptxas");
  CHECK_THROWS_WITH_AS(Assembler::find(),
                       "/nowhere/ptxas cannot be run (No such file or directory); note: set TESSERA_PTXAS to another "
                       "ptxas, or to 'none' for the driver's assembler",
                       Error);
  ScopedDirectory directory;
  const std::string other = script(directory, "echo hello\necho world\n");
  ScopedVariable variable(variable::ptxas, other);
  const std::string text = other +
                           " is no ptxas: asked for its version, it wrote 'hello'; note: set TESSERA_PTXAS to another "
                           "ptxas, or to 'none' for the driver's assembler";
  CHECK_THROWS_WITH_AS(Assembler::find(), text.c_str(), Error);
}

TEST_CASE("ptxas is found in PATH") {
  ScopedDirectory directory;
  script(directory, version_reply);
  ScopedVariable unset(variable::ptxas, std::nullopt), path(variable::path, directory.path() + ":/usr/bin:/bin");
  CHECK(Assembler::find().identity() == "ptxas 12.4.99");
}

TEST_CASE("without ptxas the PTX is kept for the driver, with the reason") {
  ScopedVariable none(variable::ptxas, "none");
  const Assembler assembler = Assembler::find();
  CHECK(!assembler.is_ptxas());
  CHECK(assembler.identity().rfind("driver", 0) == 0);
  const Image image = assembler.assemble(test::add_ptx, {.optimization = 2});
  CHECK(image.kind == Image::Kind::ptx);
  CHECK(image.bytes == test::add_ptx);
  CHECK(image.optimization == 2);
  CHECK(image.why_no_cubin == "TESSERA_PTXAS is 'none'");
}

TEST_CASE("the version is asked for once per program, as long as the program is the same file") {
  ScopedDirectory directory;
  const std::string asked = directory.path() + "/asked";
  const std::string path = script(directory, "echo once >> " + asked + "\n" + version_reply);
  Cache cache({.directory = directory.path() + "/cache"});
  auto times = [&] { return std::filesystem::exists(asked) ? std::filesystem::file_size(asked) / 5 : 0; };
  CHECK(Assembler::ptxas(path, &cache).identity() == "ptxas 12.4.99");
  CHECK(Assembler::ptxas(path, &cache).identity() == "ptxas 12.4.99");
  Cache next_process({.directory = directory.path() + "/cache"});
  CHECK(Assembler::ptxas(path, &next_process).identity() == "ptxas 12.4.99");
  CHECK(times() == 1);
  script(directory, "echo once >> " + asked + "\n" + version_reply + "# another file\n");
  CHECK(Assembler::ptxas(path, &cache).identity() == "ptxas 12.4.99");
  CHECK(times() == 2);
}
