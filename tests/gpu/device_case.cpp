#include "gpu/device_case.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <doctest/doctest.h>

namespace tessera::test {

const runtime::Device& test_device() {
  static const runtime::Device device = runtime::Device::open(0);
  return device;
}

DeviceTensor::DeviceTensor(const TestTensor& host)
    : buffer_(test_device(), static_cast<std::int64_t>(host.memory().size())), view_(host.view()) {
  const auto before = static_cast<const std::byte*>(host.view().data) - host.memory().data();
  view_.data = static_cast<std::byte*>(buffer_.data()) + before;
  view_.memory = Memory::device;
  upload(host);
}

void DeviceTensor::upload(const TestTensor& host) {
  runtime::copy_to_device(test_device(), buffer_.address(), host.memory().data(), buffer_.bytes());
}

void DeviceTensor::download(TestTensor& host) const {
  runtime::copy_to_host(test_device(), host.memory().data(), buffer_.address(), buffer_.bytes());
}

DeviceTensors::DeviceTensors(const Tensors& t)
    : q(t.q), k(t.k), v(t.v), o(t.o), lse(t.lse), key_lengths(t.key_lengths) {}

AttentionCall DeviceTensors::call(const Case& c) const {
  AttentionCall call{.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view(), .params = c.params};
  if (!c.key_lengths.empty()) call.key_lengths = key_lengths.view();
  return call;
}

void DeviceTensors::download(Tensors& t) const {
  test_device().synchronize();
  o.download(t.o);
  lse.download(t.lse);
}

std::int64_t least_programs(const Case& c) {
  constexpr std::int64_t kTallestTile = 192;
  return c.batch * c.heads * ((c.queries + kTallestTile - 1) / kTallestTile);
}

void run_on_device(Attention& attend, Tensors& t, const Case& c) {
  const DeviceTensors device(t);
  attend(device.call(c));
  device.download(t);
}

namespace {

std::vector<std::int64_t> sampled_rows(std::int64_t length, int rows) {
  std::set<std::int64_t> chosen;
  for (std::int64_t edge : {0, 1, 63, 64, 65, 127, 128, 191, 192})
    for (std::int64_t row : {edge, length - 1 - edge})
      if (row >= 0 && row < length) chosen.insert(row);
  std::mt19937_64 random(7);
  while (static_cast<std::int64_t>(chosen.size()) < std::min<std::int64_t>(rows, length))
    chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
  return {chosen.begin(), chosen.end()};
}

// Rows of one head as a tensor of their own: [1, 1, rows, dim].
TestTensor part(const TestTensor& from, std::int64_t batch, std::int64_t head, const std::vector<std::int64_t>& rows) {
  const std::int64_t dim = from.shape()[3];
  TestTensor out(from.dtype(), {1, 1, static_cast<std::int64_t>(rows.size()), dim});
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t d = 0; d < dim; ++d)
      out.set({0, 0, static_cast<std::int64_t>(r), d}, from.at({batch, head, rows[r], d}));
  return out;
}

void check_head(const Case& c, const Tensors& t, std::int64_t batch, std::int64_t head, int samples) {
  const std::vector<std::int64_t> rows = sampled_rows(c.queries, samples);
  std::vector<std::int64_t> keys(static_cast<std::size_t>(c.keys));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  const std::int64_t kv_head = head / (c.heads / c.kv_heads);
  const TestTensor q = part(t.q, batch, head, rows), k = part(t.k, batch, kv_head, keys),
                   v = part(t.v, batch, kv_head, keys);
  const auto here = [&](const Pair& p) { return Pair{batch, head, rows[static_cast<std::size_t>(p.q)], p.k}; };
  Problem problem = t.problem(c);
  problem.q = &q;
  problem.k = &k;
  problem.v = &v;
  problem.allowed = [&](const Pair& p) { return c.allowed(here(p)); };
  problem.score = [&](const Pair& p, double s) { return c.score(here(p), s); };
  if (!c.key_lengths.empty()) problem.key_lengths = {c.key_lengths[static_cast<std::size_t>(batch)]};

  const Result exact = attention_fp64(problem);
  const Tolerance allowed = tolerance(problem, exact);
  const TestTensor o = part(t.o, batch, head, rows);
  std::vector<double> lse;
  for (std::int64_t row : rows) lse.push_back(t.lse.at({batch, head, row}));
  CHECK(max_difference(o.values(), exact.o) <= allowed.o);
  CHECK(max_difference(lse, exact.lse) <= allowed.lse);
}

}  // namespace

void check_sampled(const Case& c, const std::string& name, int rows, const backend::Schedule& schedule) {
  CAPTURE(to_string(schedule));
  AttentionOptions options = options_of(c);
  options.schedule = schedule;
  Attention attend(options);
  check_sampled(attend, c, name, rows);
}

void check_sampled(Attention& attend, const Case& c, const std::string& name, int rows) {
  CAPTURE(name);
  Tensors t(c);
  run_on_device(attend, t, c);
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h) check_head(c, t, b, h, rows);
  int unwritten = 0;  // outputs were NaN before
  for (double x : t.o.values()) unwritten += std::isnan(x);
  for (double x : t.lse.values()) unwritten += std::isnan(x);
  CHECK(unwritten == 0);
  CHECK(t.o.guards_intact());
  CHECK(t.lse.guards_intact());
}

}  // namespace tessera::test
