// The `tessera` command. Errors are one line on standard error; exit code 1 for the user's, 2 for ours.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include <tessera/library/cli/commands.h>
#include <tessera/runtime/error.h>

namespace {

constexpr int kUserError = 1, kInternalError = 2;

int fail(std::string message, int code) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "tessera: %s\n", message.c_str());
  return code;
}

std::string execute(const tessera::cli::Arguments& arguments) {
  if (arguments.command == "patterns") return tessera::cli::patterns(arguments);
  if (arguments.command == "inspect") return tessera::cli::inspect(arguments);
  if (arguments.command == "explain") return tessera::cli::explain(arguments);
  if (arguments.command == "run") return tessera::cli::run(arguments);
  return {};  // help was asked for, and given
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string text = execute(tessera::cli::parse(argc, argv));
    bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? 0 : fail("error: standard output cannot be written", kUserError);
  } catch (const tessera::UserError& error) {
    return fail(error.what(), kUserError);
  } catch (const tessera::runtime::Error& error) {
    return fail(std::string("error: ") + error.what(), kUserError);
  } catch (const std::exception& error) {
    return fail(error.what(), kInternalError);
  }
}
