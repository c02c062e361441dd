// Machines without a usable driver: what is said, and that nothing else breaks.
#include <doctest/doctest.h>

#include <tessera/runtime/device.h>
#include <tessera/runtime/environment.h>

using namespace tessera::runtime;

// This program runs with TESSERA_CUDA_DRIVER naming a library that does not exist (tests/runtime.cmake).
TEST_CASE("without a driver library the reason is known before anything is called") {
  REQUIRE(environment(variable::cuda_driver) == "/nowhere/libcuda.so");
  const std::string text =
      "the NVIDIA driver library cannot be opened: /nowhere/libcuda.so: cannot open shared object file: No such file "
      "or "
      "directory; note: install NVIDIA's driver, or run on the CPU";
  CHECK(driver_missing() == text);
  CHECK_THROWS_WITH_AS(driver(), text.c_str(), NoDriver);
  CHECK_THROWS_WITH_AS(driver(), text.c_str(), NoDriver);
}

TEST_CASE("without a driver there are no devices, and opening one gives the driver's reason") {
  CHECK(device_count() == 0);
  CHECK_THROWS_AS(Device::open(0), NoDriver);
}

TEST_CASE("a library that is no driver is refused") {
  CHECK_THROWS_WITH_AS(
      Driver("libm.so.6"),
      "the NVIDIA driver is older than CUDA 12.0: it has no cuGetProcAddress_v2; note: update NVIDIA's "
      "driver to one for CUDA 12.0 or newer",
      NoDriver);
}

TEST_CASE("CUDA versions as people write them") {
  CHECK(cuda_version_text(13000) == "CUDA 13.0");
  CHECK(cuda_version_text(12040) == "CUDA 12.4");
  CHECK(cuda_version_text(0) == "CUDA 0.0");
}
