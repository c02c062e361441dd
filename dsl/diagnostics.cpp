#include <tessera/dsl/diagnostics.h>

namespace tessera {

std::string to_string(SourceLoc loc) {
  return loc ? std::string(loc.file) + ":" + std::to_string(loc.line) : "<unknown>";
}

namespace {
std::string user_message(SourceLoc loc, const std::string& cause, const std::string& remedy) {
  std::string text = (loc ? to_string(loc) + ": " : std::string()) + "error: " + cause;
  return remedy.empty() ? text : text + "; note: " + remedy;
}
}  // namespace

UserError::UserError(SourceLoc loc, const std::string& cause, const std::string& remedy)
    : Error(user_message(loc, cause, remedy)), loc_(loc) {}

InternalError::InternalError(const std::string& what, std::string ir)
    : Error("internal error in tessera (please report it): " + what + (ir.empty() ? "" : "\n" + ir)),
      ir_(std::move(ir)) {}

}  // namespace tessera
