// What the command line says, as plain data: one struct that every command reads its part of.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <tessera/library/attention.h>

namespace tessera::cli {

struct Arguments {
  std::string command;  // "inspect", "explain", "simulate", "draw", "run", "tune", "bench", "patterns", "version";
                        // empty: help was asked for, and given
  std::string pattern;
  std::map<std::string, std::string> parameters;  // of the pattern

  std::optional<std::int64_t> query_length, key_length;  // default: the pattern's tokens, else kTokens
  std::optional<std::int64_t> kv_heads;                  // default: heads
  std::int64_t heads = 8, batch = 1;
  int head_dim = 128;
  std::optional<int> value_dim;  // default: head_dim
  std::string dtype = "bf16";
  std::optional<double> scale, softcap;
  bool alibi = false;
  bool lse = false, key_lengths = false;
  std::string target;

  std::string stage = "tiled";
  std::string input, output;
  std::string device = "auto";
  bool json = false;

  int query_tile = 128, key_tile = 128, head = 0, sequence = 0, pixels = 256;  // of a picture
  int candidates = 8;                                                          // of a simulation
  std::string query_order, key_order;

  std::string suite = "standard", only, commit;  // of a benchmark
  bool list = false, plans = false;
  int repeat = 30;  // launches that are timed, at most

  static constexpr std::int64_t kTokens = 4096;

  AttentionShapes shapes() const;
  AttentionOptions options() const;

  // A pattern of so many tokens has them where it is read: UserError unless the longer of the two is as long.
  void check_tokens(std::int64_t queries, std::int64_t keys) const;
};

// Throws UserError for what cannot be understood. Help that was asked for is printed.
Arguments parse(int argc, const char* const* argv);

// Whether the results are wanted as JSON, and so the errors: known even of a command line that `parse` refuses.
bool wants_json(int argc, const char* const* argv);

}  // namespace tessera::cli
