#include <tessera/library/cli/commands.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tessera/library/registry.h>

namespace tessera::cli {

namespace {

using json = nlohmann::ordered_json;

constexpr SourceLoc nowhere{};  // the user's text has no line

std::string stage_text(const Attention& attend, const std::string& stage) {
  if (stage == "traced") return attend.ir(ir::Stage::traced, nowhere);
  if (stage == "tiled") return attend.ir(ir::Stage::tiled, nowhere);
  if (stage == "placed") return attend.ir(ir::Stage::placed, nowhere);
  if (stage == "llvm") return attend.llvm_ir(nowhere);
  if (stage == "ptx") return attend.ptx(nowhere);
  return attend.sass(nowhere);
}

json parameters_json(const Pattern& pattern) {
  json parameters = json::array();
  for (const PatternParameter& parameter : pattern.parameters) {
    json fallback = parameter.fallback.empty() ? json(nullptr) : json(parameter.fallback);
    parameters.push_back({{"name", parameter.name}, {"default", fallback}, {"help", parameter.help}});
  }
  return parameters;
}

}  // namespace

std::string version(const Arguments& arguments) {
  if (!arguments.json) return "tessera " TESSERA_VERSION "\n";
  return json{{"version", TESSERA_VERSION}}.dump(2) + "\n";
}

std::string patterns(const Arguments& arguments) {
  if (arguments.json) {
    json all = json::array();
    for (const Pattern& pattern : tessera::patterns()) {
      all.push_back({{"name", pattern.name}, {"help", pattern.help}, {"parameters", parameters_json(pattern)}});
    }
    return all.dump(2) + "\n";
  }
  std::string text;
  for (const Pattern& pattern : tessera::patterns()) {
    text += fmt::format("{:<16}{}\n", pattern.name, pattern.help);
    for (const PatternParameter& parameter : pattern.parameters) {
      std::string fallback = parameter.fallback.empty() ? "needed" : "default " + parameter.fallback;
      text += fmt::format("  --{:<14}{} ({})\n", parameter.name, parameter.help, fallback);
    }
  }
  return text;
}

std::string inspect(const Arguments& arguments) {
  Attention attend(arguments.options(), nowhere);
  attend.prepare(arguments.shapes(), nowhere);
  std::string text = stage_text(attend, arguments.stage);
  if (!arguments.json) return text.ends_with('\n') ? text : text + "\n";
  json result = {
      {"pattern", arguments.pattern}, {"parameters", arguments.parameters}, {"stage", arguments.stage}, {"text", text}};
  return result.dump(2) + "\n";
}

std::string explain(const Arguments& arguments) {
  Attention attend(arguments.options(), nowhere);
  attend.prepare(arguments.shapes(), nowhere);
  return arguments.json ? attend.explain_json(nowhere) + "\n" : attend.explain(nowhere);
}

}  // namespace tessera::cli
