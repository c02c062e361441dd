#include <tessera/library/cli/failure.h>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace tessera::cli {

std::string failure_line(std::string what, int code, bool json) {
  while (!what.empty() && what.back() == '\n') what.pop_back();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (!json) return "tessera: " + what + "\n";

  const std::string error = "error: ", note = "; note: ";
  if (what.starts_with(error)) what.erase(0, error.size());
  const std::size_t at = what.find(note);
  nlohmann::ordered_json object;
  object["error"] = what.substr(0, at);
  object["note"] = nullptr;
  if (at != std::string::npos) object["note"] = what.substr(at + note.size());
  object["code"] = code;
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::cli
