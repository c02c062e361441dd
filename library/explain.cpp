#include <tessera/library/explain.h>

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::library {

namespace {

using json = nlohmann::ordered_json;

const char* schedule_name(const mask::Source& source) {
  return std::holds_alternative<mask::Spans>(source.schedule) ? "spans" : "list";
}

double rounded(double ms) { return std::round(ms * 1000) / 1000; }

double skipped(const mask::Counts& counts) {
  return counts.total == 0 ? 0 : 1 - static_cast<double>(counts.visited) / static_cast<double>(counts.total);
}

json counts_json(const mask::Counts& counts, bool with_total) {
  json result;
  if (with_total) result["total"] = counts.total;
  result["visited"] = counts.visited;
  result["full"] = counts.full;
  result["partial"] = counts.partial;
  return result;
}

json source_json(const mask::Source& source) {
  return {{"key_order", to_string(source.keys)},
          {"key_tile", source.keys.tile()},
          {"schedule", schedule_name(source)},
          {"tiles", counts_json(source.counts, false)}};
}

json optional_json(const std::optional<int>& value) { return value ? json(*value) : json(nullptr); }

void add_needs(json& to, const KernelNeeds& kernel) {
  to["schedule"] = to_string(kernel.schedule);
  to["threads"] = kernel.threads;
  to["blocks"] = kernel.blocks;
  to["registers"] = optional_json(kernel.registers);
  to["spill_bytes"] = optional_json(kernel.spill_bytes);
  to["shared_bytes"] = kernel.shared_bytes;
}

json passes_json(const Explanation& e) {
  json passes = json::array();
  for (std::size_t i = 0; i < e.plan.passes.size(); ++i) {
    const mask::Pass& pass = e.plan.passes[i];
    json sources = json::array();
    for (const mask::Source& source : pass.sources) sources.push_back(source_json(source));
    json& said = passes.emplace_back(
        json{{"query_order", to_string(pass.queries)}, {"query_tile", pass.queries.tile()}, {"sources", sources}});
    add_needs(said, e.kernels.at(i));
  }
  return passes;
}

std::string optional_text(const std::optional<int>& value) { return value ? std::to_string(*value) : "unknown"; }

std::string threads_text(const KernelNeeds& kernel) {
  const std::string threads = fmt::format("{} threads", kernel.threads);
  return kernel.blocks > 1 ? fmt::format("{} blocks of {}", kernel.blocks, threads) : threads;
}

std::string passes_text(const mask::Plan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    const mask::Pass& pass = plan.passes[i];
    text += fmt::format("pass {}     queries {}\n", i, to_string(pass.queries));
    for (const mask::Source& source : pass.sources) {
      text += fmt::format("  source   keys {}, {}: {} tiles visited, {} full, {} partial\n", to_string(source.keys),
                          schedule_name(source), source.counts.visited, source.counts.full, source.counts.partial);
    }
  }
  return text;
}

}  // namespace

std::string to_text(const Explanation& e) {
  mask::Counts counts = e.plan.counts();
  std::string text = fmt::format("device     {}\n", e.device);
  text += fmt::format("problem    batch {}, heads {} over {}, {} queries x {} keys, {} d{}", e.batch, e.heads,
                      e.kv_heads, e.query_length, e.key_length, name_of(e.dtype), e.head_dim);
  text += e.value_dim == e.head_dim ? "\n" : fmt::format(", values d{}\n", e.value_dim);
  text += passes_text(e.plan);
  if (!e.plan.reason.empty()) text += fmt::format("list       {}\n", e.plan.reason);
  text += fmt::format("tiles      {} of {} visited ({} full, {} partial): {:.1f} % skipped\n", counts.visited,
                      counts.total, counts.full, counts.partial, 100 * skipped(counts));
  if (counts.visited > 0) {
    text += fmt::format("bound      {:.2f} x faster than dense, by tiles\n",
                        static_cast<double>(counts.total) / static_cast<double>(counts.visited));
  }
  text += fmt::format("predicted  {:.4f} ms a call on an H200\n", e.predicted_ms);
  for (const KernelNeeds& kernel : e.kernels) {
    text += fmt::format("kernel     {}, {}, {}, {} shared bytes, {} registers, {} spill bytes\n", e.target,
                        to_string(kernel.schedule), threads_text(kernel), kernel.shared_bytes,
                        optional_text(kernel.registers), optional_text(kernel.spill_bytes));
  }
  text += fmt::format("assembler  {}\n", e.assembler);
  text += fmt::format(
      "compile    trace {:.2f} ms, plan {:.2f}, passes {:.2f}, llvm {:.2f}, assemble {:.2f} ({}; {} so far)\n",
      e.ms.trace, e.ms.plan, e.ms.passes, e.ms.llvm, e.ms.assemble, e.cache, e.compiles);
  for (const std::string& note : e.notes) text += fmt::format("note       {}\n", note);
  return text;
}

std::string to_json(const Explanation& e) {
  mask::Counts counts = e.plan.counts();
  json result;
  result["device"] = e.device;
  result["target"] = e.target;
  result["assembler"] = e.assembler;
  result["dtype"] = std::string(name_of(e.dtype));
  result["shapes"] = {{"batch", e.batch},           {"heads", e.heads},
                      {"kv_heads", e.kv_heads},     {"query_length", e.query_length},
                      {"key_length", e.key_length}, {"head_dim", e.head_dim},
                      {"value_dim", e.value_dim}};
  result["passes"] = passes_json(e);
  result["tiles"] = counts_json(counts, true);
  result["skipped"] = skipped(counts);
  result["list_reason"] = e.plan.reason.empty() ? json(nullptr) : json(e.plan.reason);
  result["predicted_ms"] = e.predicted_ms;
  add_needs(result, e.kernels.at(0));
  result["compile_ms"] = {{"trace", rounded(e.ms.trace)},
                          {"plan", rounded(e.ms.plan)},
                          {"passes", rounded(e.ms.passes)},
                          {"llvm", rounded(e.ms.llvm)},
                          {"assemble", rounded(e.ms.assemble)}};
  result["cache"] = e.cache;
  result["compiles"] = e.compiles;
  result["notes"] = e.notes;
  return result.dump(2);
}

}  // namespace tessera::library
