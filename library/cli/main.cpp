// The `tessera` command. An error is one line on standard error, with --json one object on one line; exit code 1 for
// the user's, 2 for ours.
#include <cstdio>
#include <exception>
#include <string>

#include <tessera/library/cli/commands.h>
#include <tessera/library/cli/failure.h>
#include <tessera/runtime/error.h>

namespace {

constexpr int kUserError = 1, kInternalError = 2;

std::string execute(const tessera::cli::Arguments& arguments) {
  if (arguments.command == "version") return tessera::cli::version(arguments);
  if (arguments.command == "patterns") return tessera::cli::patterns(arguments);
  if (arguments.command == "inspect") return tessera::cli::inspect(arguments);
  if (arguments.command == "explain") return tessera::cli::explain(arguments);
  if (arguments.command == "simulate") return tessera::cli::simulate(arguments);
  if (arguments.command == "draw") return tessera::cli::draw(arguments);
  if (arguments.command == "run") return tessera::cli::run(arguments);
  if (arguments.command == "bench") return tessera::cli::bench(arguments);
  if (arguments.command == "tune") return tessera::cli::tune(arguments);
  return {};  // help was asked for, and given
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = tessera::cli::wants_json(argc, argv);
  const auto fail = [json](const std::string& what, int code) {
    std::fputs(tessera::cli::failure_line(what, code, json).c_str(), stderr);
    return code;
  };
  try {
    const std::string text = execute(tessera::cli::parse(argc, argv));
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? 0 : fail("error: standard output cannot be written", kUserError);
  } catch (const tessera::UserError& error) {
    return fail(error.what(), kUserError);
  } catch (const tessera::runtime::Error& error) {
    return fail(std::string("error: ") + error.what(), kUserError);
  } catch (const std::exception& error) {
    return fail(error.what(), kInternalError);
  }
}
