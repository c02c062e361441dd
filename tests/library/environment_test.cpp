#include <tessera/library/environment.h>

#include <map>

#include <doctest/doctest.h>

using namespace tessera;
using library::read_environment;

namespace {
auto variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}
}  // namespace

TEST_CASE("without variables: the first device, a thread a core, no line information") {
  library::Environment e = read_environment(variables({}));
  CHECK(e.device == 0);
  CHECK(e.threads == 0);
  CHECK_FALSE(e.line_info);
}

TEST_CASE("variables are read") {
  library::Environment e =
      read_environment(variables({{"TESSERA_DEVICE", "3"}, {"TESSERA_THREADS", "5"}, {"TESSERA_LINE_INFO", "1"}}));
  CHECK(e.device == 3);
  CHECK(e.threads == 5);
  CHECK(e.line_info);
  CHECK_FALSE(read_environment(variables({{"TESSERA_DEVICE", "cpu"}})).device.has_value());
}
