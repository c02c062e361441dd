#include <tessera/library/bench/workload.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::bench {

double Workload::density() const {
  double live = 0;
  for (std::int64_t q = 0; q < tokens; ++q) live += static_cast<double>(mask.live_keys(q, tokens));
  return live / static_cast<double>(tokens) / static_cast<double>(tokens);
}

double Workload::flops() const {
  const double pairs = density() * static_cast<double>(tokens) * static_cast<double>(tokens);
  return 2 * static_cast<double>(batch * heads) * pairs * (head_dim + value_dim);
}

std::int64_t Workload::bytes() const { return 2 * batch * tokens * (heads + kv_heads) * (head_dim + value_dim); }

AttentionOptions Workload::options() const {
  AttentionOptions options;
  options.mask = mask.mask;
  options.dtype = DType::bf16;
  options.head_dim = head_dim;
  options.value_dim = value_dim;
  return options;
}

AttentionShapes Workload::shapes() const {
  AttentionShapes shapes;
  shapes.batch = batch;
  shapes.heads = heads;
  shapes.kv_heads = kv_heads;
  shapes.query_length = shapes.key_length = tokens;
  return shapes;
}

std::vector<Workload> only(std::vector<Workload> workloads, const std::vector<std::string>& parts) {
  if (parts.empty()) return workloads;
  std::vector<std::string> names;
  for (const Workload& workload : workloads) names.push_back(workload.name);
  std::erase_if(workloads, [&](const Workload& workload) {
    return std::none_of(parts.begin(), parts.end(),
                        [&](const std::string& part) { return workload.name.find(part) != std::string::npos; });
  });
  if (workloads.empty()) {
    throw UserError({}, fmt::format("no workload of the suite has '{}' in its name", fmt::join(parts, "' or '")),
                    fmt::format("there are: {}", fmt::join(names, ", ")));
  }
  return workloads;
}

const Workload* dense_of(const Workload& workload, const std::vector<Workload>& among) {
  const Workload* longest = nullptr;
  for (const Workload& other : among) {
    const bool same = other.head_dim == workload.head_dim && other.value_dim == workload.value_dim;
    if (other.dense() && other.order == MemoryOrder::heads_first && same &&
        (!longest || other.tokens > longest->tokens))
      longest = &other;
  }
  return longest;
}

nlohmann::ordered_json description(const Workload& workload) {
  nlohmann::ordered_json mask = {{"kind", workload.mask.kind}};
  mask.update(workload.mask.parameters);
  return {{"workload", workload.name},       {"batch", workload.batch},       {"heads", workload.heads},
          {"kv_heads", workload.kv_heads},   {"tokens", workload.tokens},     {"head_dim", workload.head_dim},
          {"value_dim", workload.value_dim}, {"density", workload.density()}, {"order", name_of(workload.order)},
          {"mask", std::move(mask)}};
}

}  // namespace tessera::bench
