#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include <tessera/runtime/environment.h>
#include <tessera/runtime/error.h>
#include <tessera/runtime/process.h>

#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedDirectory;
using test::ScopedVariable;

namespace {
ProcessResult shell(const std::string& script) { return run_process({"/bin/sh", "-c", script}); }
}  // namespace

TEST_CASE("output and error arrive together, with the exit code") {
  const ProcessResult result = shell("echo out; echo err >&2; exit 3");
  CHECK(result.started);
  CHECK(result.exit_code == 3);
  CHECK(result.signal == 0);
  CHECK(result.output == "out\nerr\n");
}

TEST_CASE("arguments are passed as they are, and standard input is empty") {
  CHECK(run_process({"/bin/echo", "a b", "$HOME", "'"}).output == "a b $HOME '\n");
  CHECK(shell("cat; echo done").output == "done\n");
}

TEST_CASE("more output than a pipe holds is read to its end") {
  CHECK(shell("head -c 1000000 /dev/zero").output.size() == 1000000);
}

TEST_CASE("a program that a signal ended says which") {
  const ProcessResult result = shell("kill -9 $$");
  CHECK(result.started);
  CHECK(result.exit_code == -1);
  CHECK(result.signal == 9);
}

TEST_CASE("a program that is not there does not start") {
  const ProcessResult result = run_process({"/nowhere/program"});
  CHECK(!result.started);
  CHECK(result.output == "No such file or directory");
}

TEST_CASE("the host's blocked signals are not the program's") {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const ProcessResult result = shell("kill -TERM $$; echo survived");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(result.signal == SIGTERM);
  CHECK(result.output.empty());
}

TEST_CASE("a host that ignores SIGCHLD still gets the output") {
  auto before = signal(SIGCHLD, SIG_IGN);
  const ProcessResult result = shell("echo here; exit 5");
  signal(SIGCHLD, before);
  CHECK(result.started);
  CHECK(result.output == "here\n");
  CHECK(result.exit_code == -1);
}

TEST_CASE("many threads run programs at once, each with its own output") {
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i, &outputs] { outputs[i] = shell("sleep 0.01; echo " + std::to_string(i)).output; });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) CHECK(outputs[i] == std::to_string(i) + "\n");
}

TEST_CASE("a temporary directory is ours alone and goes with its files") {
  ScopedDirectory outer;
  ScopedVariable variable(variable::tmpdir, outer.path());
  std::string path;
  {
    TemporaryDirectory directory;
    path = directory.path();
    struct stat status = {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    write_new_file(directory.file("a"), "content");
    CHECK(read_file(directory.file("a")) == "content");
  }
  CHECK(!std::filesystem::exists(path));
  CHECK(std::filesystem::is_empty(outer.path()));
}

TEST_CASE("a new file is never written over another or through a link") {
  ScopedDirectory directory;
  const std::string path = directory.path() + "/file", link = directory.path() + "/link";
  write_new_file(path, "first");
  CHECK_THROWS_WITH_AS(write_new_file(path, "second"),
                       (path + " cannot be written (File exists); note: free space there, or set TMPDIR").c_str(),
                       Error);
  std::filesystem::create_symlink(directory.path() + "/target", link);
  CHECK_THROWS_AS(write_new_file(link, "second"), Error);
  CHECK(read_file(path) == "first");
  CHECK(!std::filesystem::exists(directory.path() + "/target"));
}

TEST_CASE("without a place for temporary files there is an error that names it") {
  ScopedVariable variable(variable::tmpdir, "/nowhere");
  CHECK_THROWS_WITH_AS(TemporaryDirectory(),
                       "no temporary directory can be made in /nowhere (No such file or directory); note: free space "
                       "there, or set TMPDIR",
                       Error);
}
