// The suites: what is in them, and that all of it can be planned.
#include <tessera/library/bench/workload.h>

#include <map>
#include <set>

#include <doctest/doctest.h>

#include <tessera/library/attention.h>
#include <tessera/library/check_call.h>
#include <tessera/library/planned.h>

using namespace tessera;
using namespace tessera::bench;

namespace {

std::set<std::string> names_of(const std::vector<Workload>& workloads) {
  std::set<std::string> names;
  for (const Workload& workload : workloads) names.insert(workload.name);
  return names;
}

}  // namespace

TEST_CASE("names are unique, and each suite is part of the next") {
  const auto quick = names_of(suite("quick")), standard = names_of(suite("standard")), all = names_of(suite("all"));
  CHECK(suite("all").size() == all.size());
  CHECK(quick.size() == 9);
  CHECK(standard.size() == 36);
  CHECK(all.size() == 45);
  CHECK(std::includes(standard.begin(), standard.end(), quick.begin(), quick.end()));
  CHECK(std::includes(all.begin(), all.end(), standard.begin(), standard.end()));
}

// As PyTorch counts them, pair by pair, of the same predicates.
TEST_CASE("densities") {
  const std::map<std::string, double> counted = {{"dense_n16k_d64", 1},
                                                 {"causal_n4k_d128", 0.5001220703125},
                                                 {"causal_gqa_n16k_d128", 0.500030517578125},
                                                 {"window256_n16k_d128", 0.015563488006591797},
                                                 {"window1k_n32k_d128", 0.030791759490966797},
                                                 {"window4k_n32k_d128", 0.11721611022949219},
                                                 {"biwindow512_n16k_d64", 0.06158256530761719},
                                                 {"longformer512_n16k_d64", 0.03874087333679199},
                                                 {"strided128_n8k_d64", 0.019349098205566406},
                                                 {"blockdiag1k_n16k_d128", 0.0625},
                                                 {"dilated4_w64_n8k_d64", 0.015499114990234375},
                                                 {"prefix2k_n16k_d128", 0.5078392028808594},
                                                 {"sink_window1k_n32k_d128", 0.0326819121837616},
                                                 {"splat_window_n1k_d64", 0.2352294921875},
                                                 {"splat_window_n4k_d64", 0.1213226318359375},
                                                 {"splat_blocked_n4k_d64", 0.125},
                                                 {"splat_strided_n4k_d64", 0.023195266723632812},
                                                 {"na2d_128x128_w33_d64", 0.06646728515625},
                                                 {"gna_flux_256x256_d128", 0.09765625},
                                                 {"gna_cosmos_16x44x80_d128", 0.43636363636363634},
                                                 {"gna_hunyuan_30x48x80_d128", 0.09}};
  std::size_t found = 0;
  for (const Workload& workload : suite("all")) {
    const auto wanted = counted.find(workload.name);
    CAPTURE(workload.name);
    if (wanted == counted.end()) continue;
    ++found;
    CHECK(workload.density() == doctest::Approx(wanted->second).epsilon(1e-12));
  }
  CHECK(found == counted.size());
}

TEST_CASE("documents fill their sequence, blocks too, and random ones have about their density") {
  const std::map<std::string, double> wanted = {
      {"blocks50_n16k_d128", 0.50}, {"blocks25_n16k_d128", 0.25}, {"blocks10_n32k_d128", 0.10}};
  for (const Workload& w : suite("standard")) {
    CAPTURE(w.name);
    std::int64_t tokens = 0;
    if (w.mask.kind == "documents") {
      for (const std::int64_t length : w.mask.parameters.at("lengths")) tokens += length;
      CHECK(tokens == w.tokens);
    }
    if (w.mask.kind == "blocks") {
      const auto& rows = w.mask.parameters.at("rows");
      CHECK(static_cast<std::int64_t>(rows.size()) * w.mask.parameters.at("block").get<std::int64_t>() == w.tokens);
      if (wanted.count(w.name)) CHECK(w.density() == doctest::Approx(wanted.at(w.name)).epsilon(0.04));
    }
  }
}

TEST_CASE("useful work and bytes") {
  for (const Workload& w : suite("standard")) {
    if (w.name == "causal_gqa_n16k_d128") {
      CHECK(w.flops() == doctest::Approx(4.0 * 32 * 128 * (16384.0 * 16385 / 2)));
      CHECK(w.bytes() == 2LL * 16384 * 2 * (32 + 8) * 128);
    }
    if (w.name == "dense_n16k_d192x128") {
      CHECK(w.flops() == doctest::Approx(2.0 * 16 * 16384 * 16384 * (192 + 128)));
      CHECK(w.bytes() == 2LL * 16384 * 2 * 16 * (192 + 128));
    }
  }
}

TEST_CASE("every workload has a dense one of its dims, the longest") {
  const std::vector<Workload> all = suite("all");
  for (const Workload& w : all) {
    CAPTURE(w.name);
    const Workload* dense = dense_of(w, all);
    REQUIRE(dense);
    CHECK(dense->mask.kind == "full");
    CHECK(dense->head_dim == w.head_dim);
    CHECK(dense->value_dim == w.value_dim);
    CHECK(dense->tokens == 16384);
  }
  CHECK(dense_of(all.front(), only(all, {"causal"})) == nullptr);
}

TEST_CASE("workloads are chosen by parts of their names") {
  CHECK(names_of(only(suite("standard"), {})) == names_of(suite("standard")));
  CHECK(names_of(only(suite("standard"), {"prefix", "window4k"})) ==
        std::set<std::string>{"prefix2k_n16k_d128", "window4k_n32k_d128"});
}

TEST_CASE("views that are not contiguous have a contiguous row beside them, and lie as they say") {
  const std::vector<Workload> rows = only(suite("all"), {"n4k_d128"});
  CHECK(names_of(rows) == std::set<std::string>{"dense_n4k_d128", "dense_n4k_d128_bnhd", "dense_n4k_d128_padded",
                                                "causal_n4k_d128", "causal_n4k_d128_bnhd", "causal_n4k_d128_padded"});
  for (const Workload& row : rows) {
    const auto plain = only(rows, {row.name.substr(0, row.name.find("_d128"))}).front();
    CHECK(row.flops() == plain.flops());
    CHECK(row.mask.kind == plain.mask.kind);
    CHECK((row.order == MemoryOrder::heads_first) == (row.name == plain.name));
    CHECK(description(row).at("order") == name_of(row.order));
  }
  using Strides = std::vector<std::int64_t>;
  const auto strides = [](MemoryOrder order) { return view_in(order, DType::bf16, 2, 3, 5, 64).strides; };
  CHECK(strides(MemoryOrder::heads_first) == Strides{3 * 5 * 64, 5 * 64, 64, 1});
  CHECK(strides(MemoryOrder::tokens_first) == Strides{5 * 3 * 64, 64, 3 * 64, 1});
  CHECK(strides(MemoryOrder::padded_rows) == Strides{3 * 5 * 72, 5 * 72, 72, 1});
  CHECK(span_of(view_in(MemoryOrder::tokens_first, DType::bf16, 2, 3, 5, 64)) == 2 * 3 * 5 * 64);
  CHECK(span_of(view_in(MemoryOrder::padded_rows, DType::bf16, 2, 3, 5, 64)) == 2 * 3 * 5 * 72 - 8);
}

TEST_CASE("peers are told shapes and mask") {
  const auto d = description(only(suite("standard"), {"sink_window1k"}).front());
  CHECK(d.dump() ==
        R"({"workload":"sink_window1k_n32k_d128","batch":1,"heads":16,"kv_heads":16,"tokens":32768,"head_dim":128,)"
        R"("value_dim":128,"density":0.0326819121837616,"order":"heads_first",)"
        R"("mask":{"kind":"sinks","count":64,"left":1024}})");
}

TEST_CASE("the standard suite is planned, and visits no fewer tiles than its live pairs need") {
  for (const Workload& w : suite("standard")) {
    CAPTURE(w.name);
    const AttentionOptions options = library::resolve(w.options(), SourceLoc{});
    library::PlanInput input;
    input.shapes = library::check_shapes(w.shapes(), SourceLoc{});
    input.tile = {128, 128};
    const auto planned = library::make_planned(library::trace_attention(options, false, false), input);
    const mask::Counts counts = planned->plan.counts();
    const double area = static_cast<double>(counts.visited) * 128 * 128;
    CHECK(area * 1.0000001 >= w.density() * static_cast<double>(w.batch * w.heads * w.tokens * w.tokens));
    if (w.mask.kind == "full" || w.name.starts_with("blocks")) {
      CHECK(area == doctest::Approx(w.density() * static_cast<double>(w.batch * w.heads * w.tokens * w.tokens)));
      CHECK(counts.partial == 0);
    }
  }
}
