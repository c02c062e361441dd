#include "support/ptxas.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace tessera::test {

namespace {

namespace fs = std::filesystem;

// A folder of its own, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "tessera_ptxas_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary folder");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int number_after(const std::string& log, const char* pattern) {
  int sum = 0;
  const std::regex expression(pattern);
  for (auto it = std::sregex_iterator(log.begin(), log.end(), expression); it != std::sregex_iterator(); ++it)
    sum += std::stoi((*it)[1].str());
  return sum;
}

}  // namespace

Assembly assemble(const std::string& ptx, const std::string& target) {
  Assembly result;
  result.available = std::system("command -v ptxas >/dev/null 2>&1") == 0;
  if (!result.available) return result;
  const Scratch scratch;
  std::ofstream(scratch.path() / "kernel.ptx") << ptx;
  const std::string command = "cd '" + scratch.path().string() + "' && ptxas -arch=" + target +
                              " -O3 -v kernel.ptx -o kernel.cubin >log.txt 2>&1";
  result.ok = std::system(command.c_str()) == 0;
  result.log = read(scratch.path() / "log.txt");
  result.registers = number_after(result.log, "Used ([0-9]+) registers");
  result.spill_bytes = number_after(result.log, "([0-9]+) bytes spill (?:stores|loads)");
  std::istringstream lines(result.log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("warning") != std::string::npos || line.find("C75") != std::string::npos)
      result.warnings.push_back(line);
  return result;
}

int count(const std::string& ptx, const std::string& text) {
  int n = 0;
  for (std::size_t at = ptx.find(text); at != std::string::npos; at = ptx.find(text, at + text.size())) ++n;
  return n;
}

}  // namespace tessera::test
