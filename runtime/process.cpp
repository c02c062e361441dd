#include <tessera/runtime/process.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <tessera/runtime/environment.h>
#include <tessera/runtime/error.h>
#include <tessera/runtime/file.h>

extern char** environ;

namespace tessera::runtime {

namespace {

// What a child does before it becomes the program: our end of the pipe becomes its output, and signals are as at login.
class SpawnSetup {
 public:
  explicit SpawnSetup(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none, reset;
    sigemptyset(&none);
    sigemptyset(&reset);
    sigaddset(&reset, SIGCHLD);
    sigaddset(&reset, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &reset);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSetup(const SpawnSetup&) = delete;

  int spawn(pid_t* child, const std::vector<std::string>& arguments) const {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    return posix_spawn(child, pointers[0], &actions_, &attributes_, pointers.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments) {
  ProcessResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.output = std::strerror(errno);
    return result;
  }
  FileHandle reading(ends[0]), writing(ends[1]);
  pid_t child = 0;
  if (int error = SpawnSetup(writing.get()).spawn(&child, arguments); error != 0) {
    result.output = std::strerror(error);
    return result;
  }
  result.started = true;
  writing.close();
  if (auto text = reading.read_all()) result.output = std::move(*text);
  int status = 0;
  pid_t waited;
  do waited = waitpid(child, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (waited == child && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (waited == child && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

TemporaryDirectory::TemporaryDirectory() : path_(temporary_directory() + "/tessera-XXXXXX") {
  if (!mkdtemp(path_.data())) {
    throw Error(
        fmt::format("no temporary directory can be made in {} ({})", temporary_directory(), std::strerror(errno)),
        "free space there, or set TMPDIR");
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_new_file(const std::string& path, const std::string& content) {
  FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !file.write_all(content)) {
    throw Error(fmt::format("{} cannot be written ({})", path, std::strerror(errno)),
                "free space there, or set TMPDIR");
  }
}

std::string read_file(const std::string& path) {
  FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) {
    if (auto content = file.read_all()) return std::move(*content);
  }
  throw Error(fmt::format("{} cannot be read ({})", path, std::strerror(errno)));
}

}  // namespace tessera::runtime
