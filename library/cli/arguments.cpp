#include <tessera/library/cli/arguments.h>

#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <tessera/library/registry.h>

namespace tessera::cli {

namespace {

void add_sizes(CLI::App& app, Arguments& a) {
  app.add_option("--query-length", a.query_length, "queries of a sequence")->capture_default_str();
  app.add_option("--key-length", a.key_length, "keys of a sequence (default: as many as queries)");
  app.add_option("--heads", a.heads, "query heads")->capture_default_str();
  app.add_option("--kv-heads", a.kv_heads, "key and value heads (default: as many as query heads)");
  app.add_option("--batch", a.batch, "sequences")->capture_default_str();
  app.add_option("--head-dim", a.head_dim, "columns of Q and K")->capture_default_str();
  app.add_option("--value-dim", a.value_dim, "columns of V and O (default: as Q and K)");
  app.add_option("--dtype", a.dtype, "f16 or bf16")->capture_default_str();
  app.add_flag("--lse", a.lse, "the kernel also writes the LSE");
  app.add_flag("--key-lengths", a.key_lengths, "the kernel takes the number of keys of each sequence");
}

void add_common(CLI::App& app, Arguments& a) {
  app.add_option("--scale", a.scale, "factor of the scores (default: 1 / sqrt(head dim))");
  app.add_option("--softcap", a.softcap, "cap scores smoothly at this absolute value");
  app.add_flag("--alibi", a.alibi, "add ALiBi's distance penalty, with its usual slopes");
  app.add_option("--target", a.target, "architecture to compile for (default: the device's, else sm_90a)");
  app.add_flag("--json", a.json, "print JSON");
}

// One subcommand a pattern, whose own options are its parameters; sizes and switches may follow in any order.
void add_patterns(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  for (const Pattern& pattern : patterns()) {
    CLI::App* sub = app.add_subcommand(pattern.name, pattern.help)->fallthrough();
    for (const PatternParameter& parameter : pattern.parameters) {
      if (parameter.fallback == "false") {
        sub->add_flag_callback(
            "--" + parameter.name, [&a, name = parameter.name] { a.parameters[name] = "true"; }, parameter.help);
        continue;
      }
      std::string help = parameter.help;
      if (!parameter.fallback.empty()) help += " (default: " + parameter.fallback + ")";
      sub->add_option_function<std::string>(
          "--" + parameter.name, [&a, name = parameter.name](const std::string& text) { a.parameters[name] = text; },
          help);
    }
    sub->callback([&a, name = pattern.name] { a.pattern = name; });
  }
}

void add_commands(CLI::App& app, Arguments& a) {
  CLI::App* inspect = app.add_subcommand("inspect", "print the program of a pattern at one stage of compilation");
  add_sizes(*inspect, a);
  add_common(*inspect, a);
  inspect->add_option("--stage", a.stage, "traced, tiled, placed, llvm, ptx or sass")
      ->check(CLI::IsMember({"traced", "tiled", "placed", "llvm", "ptx", "sass"}))
      ->capture_default_str();
  add_patterns(*inspect, a);

  CLI::App* explain = app.add_subcommand("explain", "say what a pattern visits and what its kernel costs");
  add_sizes(*explain, a);
  add_common(*explain, a);
  add_patterns(*explain, a);

  CLI::App* run = app.add_subcommand("run", "attention over tensors q, k, v of a safetensors file");
  add_common(*run, a);
  run->add_option("--input", a.input, "safetensors file with q, k and v: [batch, heads, length, dim]")->required();
  run->add_option("--output", a.output, "safetensors file to write o and lse to")->required();
  run->add_option("--device", a.device, "auto, cpu or gpu")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}))
      ->capture_default_str();
  add_patterns(*run, a);

  app.add_subcommand("patterns", "list the patterns and their parameters")->add_flag("--json", a.json, "print JSON");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

AttentionShapes Arguments::shapes() const {
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads == 0 ? heads : kv_heads,
          .query_length = query_length,
          .key_length = key_length == 0 ? query_length : key_length,
          .lse = lse,
          .key_lengths = key_lengths};
}

AttentionOptions Arguments::options() const {
  AttentionOptions options;
  options.mask = make_mask(pattern_named(pattern), parameters);
  std::vector<Score> scores;
  if (softcap != 0) scores.push_back(tessera::softcap(softcap));
  if (alibi) scores.push_back(tessera::alibi(static_cast<int>(heads)));
  options.scores = std::move(scores);
  options.dtype = dtype_named(dtype);
  options.head_dim = head_dim;
  options.value_dim = value_dim;
  options.scale = scale;
  options.target = target;
  return options;
}

Arguments parse(int argc, const char* const* argv) {
  Arguments a;
  CLI::App app("Sparse attention from predicates: inspect, explain and run the library's patterns", "tessera");
  app.require_subcommand(1);
  add_commands(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    return {};
  } catch (const CLI::ParseError& error) {
    throw UserError({}, first_line(error.what()), "see tessera --help");
  }
  a.command = app.get_subcommands().front()->get_name();
  return a;
}

}  // namespace tessera::cli
