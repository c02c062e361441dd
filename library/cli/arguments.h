// What the command line says, as plain data: one struct that every command reads its part of.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <tessera/library/attention.h>

namespace tessera::cli {

struct Arguments {
  std::string command;  // "inspect", "explain", "run", "patterns"
  std::string pattern;
  std::map<std::string, std::string> parameters;  // of the pattern

  std::int64_t query_length = 4096, key_length = 0, heads = 8, kv_heads = 0, batch = 1;  // key_length 0: query_length
  int head_dim = 128, value_dim = 0;
  std::string dtype = "bf16";
  std::optional<double> scale;
  double softcap = 0;  // 0: none
  bool alibi = false;
  bool lse = false, key_lengths = false;
  std::string target;

  std::string stage = "tiled";
  std::string input, output;
  std::string device = "auto";
  bool json = false;

  AttentionShapes shapes() const;
  AttentionOptions options() const;
};

// Throws UserError for what cannot be understood. Help that was asked for is printed, and `command` is then empty.
Arguments parse(int argc, const char* const* argv);

}  // namespace tessera::cli
