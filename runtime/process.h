// Running another program: what we need to call ptxas, no more.
#pragma once

#include <string>
#include <vector>

namespace tessera::runtime {

struct ProcessResult {
  bool started = false;
  int exit_code = -1;  // of a program that ended by itself; -1 if a signal ended it or nobody could tell
  int signal = 0;      // that ended it
  std::string output;  // standard output and error together; the reason if it did not start
};

// Runs `arguments[0]` (a path) to its end, with an empty standard input. Safe in programs with many threads, and in
// those that block signals or ignore SIGCHLD.
ProcessResult run_process(const std::vector<std::string>& arguments);

// A directory only we can read, gone with its files at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory();  // in temporary_directory(); throws Error
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Writes a new file, never over an existing one or through a link; throws Error.
void write_new_file(const std::string& path, const std::string& content);

// The content; throws Error.
std::string read_file(const std::string& path);

}  // namespace tessera::runtime
