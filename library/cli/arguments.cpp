#include <tessera/library/cli/arguments.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <tessera/library/bench/workload.h>
#include <tessera/library/cli/mistakes.h>
#include <tessera/library/cli/values.h>
#include <tessera/library/registry.h>

namespace tessera::cli {

namespace {

constexpr const char* kPatternNote =
    "\nA command is followed by its pattern, as in: tessera explain window --left 255\n";
constexpr const char* kFooter =
    "Exit code: 0, 1 for an error that you can mend, 2 for one of Tessera's own. An error is one line on standard\n"
    "error; with --json it is {\"error\": ..., \"note\": ..., \"code\": ...}.";

using Take = std::function<void(const std::string& text)>;

// An option with one value, given once.
void add_value(CLI::App& app, const std::string& name, const char* kind, const std::string& help, Take take) {
  CLI::callback_t callback = [name, take = std::move(take)](const CLI::results_t& texts) {
    if (texts.size() > 1) throw UserError({}, fmt::format("{} is given {} times", name, texts.size()), "give it once");
    take(texts.front());
    return true;
  };
  app.add_option(name, callback, help)
      ->type_name(kind)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

template <class T>
void add_whole(CLI::App& app, const std::string& name, T& value, const std::string& help, std::int64_t least = 0) {
  add_value(app, name, "N", help, [&value, name, least](const std::string& text) {
    value = static_cast<int>(whole_number(name, text, least));
  });
}

void add_real(CLI::App& app, const std::string& name, std::optional<double>& value, const std::string& help) {
  add_value(app, name, "X", help, [&value, name](const std::string& text) { value = real_number(name, text); });
}

void add_text(CLI::App& app, const std::string& name, const char* kind, std::string& value, const std::string& help) {
  add_value(app, name, kind, help, [&value, name](const std::string& text) {
    if (text.empty()) throw UserError({}, name + " is empty", "give it a value");
    value = text;
  });
}

// The help lists what is accepted, the default first.
void add_choice(CLI::App& app, const std::string& name, std::string& value, std::vector<std::string> accepted,
                const std::string& help) {
  const std::string text = fmt::format("{}: {} (default: {})", help, fmt::join(accepted, ", "), value);
  add_value(app, name, "NAME", text, [&value, name, accepted = std::move(accepted)](const std::string& given) {
    value = one_of(name, given, accepted);
  });
}

void add_lengths(CLI::App& app, Arguments& a) {
  add_whole(app, "--query-length", a.query_length,
            "queries of a sequence (default: those that the pattern is made for, else 4096)");
  add_whole(app, "--key-length", a.key_length,
            "keys of a sequence (default: those that the pattern is made for, else as queries)");
}

void add_sizes(CLI::App& app, Arguments& a) {
  add_lengths(app, a);
  add_whole(app, "--heads", a.heads, "query heads (default: 8)");
  add_whole(app, "--kv-heads", a.kv_heads, "key and value heads (default: as many as query heads)", 1);
  add_whole(app, "--batch", a.batch, "sequences (default: 1)");
  add_whole(app, "--head-dim", a.head_dim, "columns of Q and K, a multiple of 8 up to 256 (default: 128)");
  add_whole(app, "--value-dim", a.value_dim, "columns of V and O (default: as Q and K)", 1);
  add_choice(app, "--dtype", a.dtype, {"bf16", "f16"}, "elements of Q, K, V and O; sums are in f32");
  app.add_flag("--lse", a.lse, "the kernel also writes the LSE");
  app.add_flag("--key-lengths", a.key_lengths, "the kernel takes the number of keys of each sequence");
}

void add_json(CLI::App& app, Arguments& a) { app.add_flag("--json", a.json, "print JSON, errors too"); }

void add_common(CLI::App& app, Arguments& a) {
  add_real(app, "--scale", a.scale, "factor of the scores (default: 1 / sqrt(head dim))");
  add_real(app, "--softcap", a.softcap, "cap scores smoothly at this absolute value");
  app.add_flag("--alibi", a.alibi, "add ALiBi's distance penalty, with its usual slopes");
  add_text(app, "--target", "NAME", a.target, "architecture to compile for (default: the device's, else sm_90a)");
  add_json(app, a);
}

// One subcommand a pattern, whose own options are its parameters; sizes and switches may follow in any order.
void add_patterns(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  app.formatter(std::make_shared<CLI::Formatter>());  // not the one that says COMMAND
  app.get_formatter()->label("SUBCOMMAND", "PATTERN");
  app.footer(fmt::format("\nEach pattern has options of its own: see tessera {} window --help.", app.get_name()));
  for (const Pattern& pattern : patterns()) {
    CLI::App* sub = app.add_subcommand(pattern.name, pattern.help)->fallthrough()->group("Patterns");
    for (const PatternParameter& parameter : pattern.parameters) {
      const std::string option = "--" + parameter.name;
      if (parameter.fallback == "false") {
        sub->add_flag_callback(option, [&a, name = parameter.name] { a.parameters[name] = "true"; }, parameter.help);
        continue;
      }
      const std::string fallback = parameter.fallback.empty() ? "needed" : "default: " + parameter.fallback;
      add_value(*sub, option, "VALUE", fmt::format("{} ({})", parameter.help, fallback),
                [&a, name = parameter.name](const std::string& text) { a.parameters[name] = text; });
    }
    sub->footer(fmt::format("\nOptions of {0} may follow too: see tessera {0} --help.", app.get_name()));
    sub->callback([&a, name = pattern.name] { a.pattern = name; });
  }
}

void add_repeat(CLI::App& app, Arguments& a) {
  add_whole(app, "--repeat", a.repeat, "launches that are timed, at most (default: 30)", 1);
}

void add_picture(CLI::App& app, Arguments& a) {
  static constexpr int kMostPixels = 4096;
  add_lengths(app, a);
  add_whole(app, "--query-tile", a.query_tile, "queries of a tile (default: 128)", 1);
  add_whole(app, "--key-tile", a.key_tile, "keys of a tile (default: 128)", 1);
  add_whole(app, "--head", a.head, "the head that is drawn (default: 0)");
  add_whole(app, "--sequence", a.sequence, "the sequence that is drawn (default: 0)");
  add_value(app, "--pixels", "N", "points to a side of the elements' picture, at most (default: 256)",
            [&a](const std::string& text) {
              a.pixels = static_cast<int>(whole_number("--pixels", text, 1));
              if (a.pixels > kMostPixels)
                throw UserError({}, "--pixels is '" + text + "'", fmt::format("give 1 to {}", kMostPixels));
            });
  add_text(app, "--output", "FILE", a.output, "file to draw into, .svg or .png (default: the terminal)");
  add_json(app, a);
}

void add_simulation(CLI::App& app, Arguments& a) {
  add_whole(app, "--query-length", a.query_length, "queries of a sequence (default: as for explain)");
  add_whole(app, "--key-length", a.key_length, "keys of a sequence (default: as for explain)");
  add_whole(app, "--heads", a.heads, "query heads (default: 8)");
  add_whole(app, "--batch", a.batch, "sequences (default: 1)");
  add_whole(app, "--head-dim", a.head_dim, "columns of Q and K (default: 128)", 8);
  add_whole(app, "--value-dim", a.value_dim, "columns of V and O (default: as Q and K)", 1);
  add_whole(app, "--candidates", a.candidates, "query tiles that are listed beside the best plans (default: 8)");
  add_text(app, "--query-order", "ORDER", a.query_order,
           "rate this order alone: digits as weight:tile, as 128:8,1:16 of a grid with rows of 128");
  add_text(app, "--key-order", "ORDER", a.key_order, "likewise of the keys");
  add_json(app, a);
}

void add_bench(CLI::App& app, Arguments& a) {
  add_choice(app, "--suite", a.suite, bench::suite_names(), "which workloads");
  add_text(app, "--only", "TEXT", a.only, "only workloads with this in their names; several with commas between");
  add_repeat(app, a);
  app.add_flag("--list", a.list, "list the workloads and measure nothing");
  app.add_flag("--plans", a.plans, "make the workloads' plans for an H200 and measure nothing else");
  add_text(app, "--commit", "HASH", a.commit, "commit to name in the results");
  add_text(app, "--output", "FILE", a.output, "file to write the results to, as JSON");
  add_json(app, a);
}

// A command without a pattern.
CLI::App& add_plain(CLI::App& app, const char* name, const char* help) {
  CLI::App* command = app.add_subcommand(name, help)->group("Commands");
  command->footer(std::string("\n") + kFooter);
  return *command;
}

void add_commands(CLI::App& app, Arguments& a) {
  CLI::App* explain =
      app.add_subcommand("explain", "say what a pattern visits and what its kernel costs")->group("Commands");
  add_sizes(*explain, a);
  add_common(*explain, a);
  add_patterns(*explain, a);

  CLI::App* simulate =
      app.add_subcommand("simulate", "predict what token orders and tiles would make of a pattern")->group("Commands");
  add_simulation(*simulate, a);
  add_patterns(*simulate, a);

  CLI::App* inspect =
      app.add_subcommand("inspect", "print the program of a pattern at one stage of compilation")->group("Commands");
  add_sizes(*inspect, a);
  add_common(*inspect, a);
  add_choice(*inspect, "--stage", a.stage, {"traced", "tiled", "placed", "llvm", "ptx", "sass"}, "what to print");
  add_patterns(*inspect, a);

  CLI::App* draw = app.add_subcommand("draw", "draw what a pattern allows, and the tiles it visits")->group("Commands");
  add_picture(*draw, a);
  add_patterns(*draw, a);

  CLI::App* run = app.add_subcommand("run", "attention over tensors q, k, v of a safetensors file")->group("Commands");
  add_common(*run, a);
  add_text(*run, "--input", "FILE", a.input,
           "safetensors file with q, k and v: [batch, heads, length, dim]; if it has them, bias (f32) and key_lengths "
           "(i32) are used");
  add_text(*run, "--output", "FILE", a.output, "safetensors file to write o and lse to");
  add_choice(*run, "--device", a.device, {"auto", "cpu", "gpu"}, "where to run");
  add_patterns(*run, a);

  CLI::App* tune = app.add_subcommand("tune", "measure tiles and schedules of a pattern on the GPU, and keep the best")
                       ->group("Commands");
  add_sizes(*tune, a);
  add_common(*tune, a);
  add_repeat(*tune, a);
  add_patterns(*tune, a);

  add_bench(add_plain(app, "bench", "measure the project's workloads on the GPU"), a);
  add_json(add_plain(app, "patterns", "list the patterns and their parameters"), a);
}

void check_needed(const Arguments& a) {
  if (a.command != "run") return;
  if (a.input.empty()) throw UserError({}, "run needs --input", "give a safetensors file with q, k and v");
  if (a.output.empty()) throw UserError({}, "run needs --output", "give the safetensors file to write o and lse to");
}

}  // namespace

AttentionShapes Arguments::shapes() const {
  const PatternLengths lengths = lengths_of(pattern_named(pattern), parameters);
  const std::int64_t queries = query_length.value_or(lengths.queries.value_or(kTokens));
  const std::int64_t keys = key_length.value_or(lengths.keys.value_or(queries));
  check_tokens(queries, keys);
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads.value_or(heads),
          .query_length = queries,
          .key_length = keys,
          .lse = lse,
          .key_lengths = key_lengths};
}

void Arguments::check_tokens(std::int64_t queries, std::int64_t keys) const {
  const std::optional<std::int64_t> tokens = tokens_of(pattern_named(pattern), parameters);
  const std::int64_t longest = std::max(queries, keys);
  if (!tokens || *tokens == longest) return;
  throw UserError({},
                  fmt::format("pattern '{}' is given {} tokens, and there are {} {}", pattern, *tokens, longest,
                              keys == longest ? "keys" : "queries"),
                  fmt::format("give lengths that add up to {}", longest));
}

AttentionOptions Arguments::options() const {
  constexpr SourceLoc nowhere{};  // the user's text has no line
  AttentionOptions options;
  options.mask = make_mask(pattern_named(pattern), parameters);
  std::vector<Score> scores;
  if (softcap) scores.push_back(tessera::softcap(*softcap, nowhere));
  if (alibi) scores.push_back(tessera::alibi(static_cast<int>(heads), Align::bottom_right, nowhere));
  options.scores = std::move(scores);
  options.dtype = dtype_named(dtype);
  options.head_dim = head_dim;
  options.value_dim = value_dim.value_or(0);
  options.scale = scale;
  options.target = target;
  return options;
}

Arguments parse(int argc, const char* const* argv) {
  Arguments a;
  CLI::App app("Sparse attention from predicates: explain, inspect, run and measure the library's patterns", "tessera");
  app.require_subcommand(1);
  app.footer(std::string(kPatternNote) + kFooter);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  add_json(app, a);
  add_commands(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    a.command = "version";
    a.json = wants_json(argc, argv);
    return a;
  } catch (const CLI::Success& help) {
    app.exit(help);
    return {};
  } catch (const CLI::ParseError& error) {
    throw mistake(app, error);
  }
  a.command = app.get_subcommands().front()->get_name();
  check_needed(a);
  return a;
}

bool wants_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

}  // namespace tessera::cli
