// Sliding-window attention over the Q, K and V of a real language model: where it ran, how far it is from the same
// computation in fp64, what the mask's geometry allowed to skip, and where every stage of the compiler can be read.
//
//   quickstart INPUT.safetensors OUTPUT_FOLDER [WINDOW]
//
// The tensors stay in host memory unless there is a GPU: then they are copied there, and the call is the same.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include <tessera/attention.h>
#include <tessera/tensors.h>

using namespace tessera;

namespace {

// One query's attention over keys [first, q], in fp64.
std::vector<double> reference(const HostTensor& q, const HostTensor& k, const HostTensor& v, std::int64_t head,
                              std::int64_t kv_head, std::int64_t query, std::int64_t first) {
  const std::int64_t depth = q.shape[3];
  std::vector<double> weights, out(static_cast<std::size_t>(depth), 0.0);
  for (std::int64_t key = first; key <= query; ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < depth; ++d) score += q.at({0, head, query, d}) * k.at({0, kv_head, key, d});
    weights.push_back(score / std::sqrt(static_cast<double>(depth)));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto key = first + static_cast<std::int64_t>(i);
    for (std::int64_t d = 0; d < depth; ++d) out[d] += weights[i] / sum * v.at({0, kv_head, key, d});
  }
  return out;
}

double largest_error(const HostTensor& q, const HostTensor& k, const HostTensor& v, const HostTensor& o, int window) {
  double error = 0;
  const std::int64_t heads = q.shape[1], group = heads / k.shape[1];
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < q.shape[2]; ++query) {
      const auto exact = reference(q, k, v, head, head / group, query, std::max<std::int64_t>(0, query - window + 1));
      for (std::int64_t d = 0; d < q.shape[3]; ++d) error = std::max(error, std::abs(exact[d] - o.at({0, head, query, d})));
    }
  }
  return error;
}

void save(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  fmt::print("  {:<12} {}\n", path.filename().string(), path.string());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("quickstart INPUT.safetensors OUTPUT_FOLDER [WINDOW]");
  const std::filesystem::path folder = argv[2];
  const int window_size = argc > 3 ? std::atoi(argv[3]) : 256;
  std::filesystem::create_directories(folder);
}
