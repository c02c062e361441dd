#include <tessera/library/bench/measure.h>

#include <algorithm>
#include <chrono>
#include <map>

#include <tessera/library/attention.h>
#include <tessera/library/bench/tensors.h>
#include <tessera/runtime/error.h>

namespace tessera::bench {

std::vector<TileWork> tiles_of(const nlohmann::ordered_json& explained) {
  const auto& shapes = explained.at("shapes");
  const std::int64_t queries = shapes.at("query_length"),
                     heads = shapes.at("batch").get<std::int64_t>() * shapes.at("heads").get<std::int64_t>();
  std::vector<TileWork> all;
  for (const auto& pass : explained.at("passes")) {
    const int query_tile = pass.at("query_tile");
    std::int64_t query_tiles = heads * ((queries + query_tile - 1) / query_tile);
    for (const auto& source : pass.at("sources")) {
      all.push_back({source.at("tiles").at("visited"), query_tiles, query_tile, source.at("key_tile")});
      query_tiles = 0;
    }
  }
  return all;
}

Measured measure(const runtime::Device& device, const Workload& workload, int launches) {
  using Clock = std::chrono::steady_clock;
  const LaunchTimer timer(device);
  const Tensors tensors(device, workload.options(), workload.shapes(), timer.stream(), workload.order);
  const Clock::time_point start = Clock::now();
  Attention attend(workload.options());
  attend(tensors.call());
  Measured result;
  result.first_call_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  device.synchronize();

  const auto launch = [&] { attend(tensors.call()); };
  result.single = timer.single(launch, launches);
  result.sustained_ms = timer.sustained_ms(launch, result.single.median_ms);
  result.explained = nlohmann::ordered_json::parse(attend.explain_json());
  result.tiles = tiles_of(result.explained);
  return result;
}

namespace {

Row row_of(const runtime::Device& device, const Workload& workload, int launches) {
  Row row{workload, std::nullopt, {}, std::nullopt};
  try {
    row.measured = measure(device, workload, launches);
  } catch (const UserError& error) {
    row.failure = error.what();
  } catch (const runtime::Error& error) {
    row.failure = error.what();
  }
  return row;
}

}  // namespace

std::vector<Row> measure_all(const runtime::Device& device, const std::vector<Workload>& workloads,
                             const std::vector<Workload>& everything, int launches) {
  std::map<std::string, Row> rows;
  const auto measured = [&](const Workload& workload) -> const Row& {
    const auto found = rows.find(workload.name);
    return found != rows.end() ? found->second
                               : rows.emplace(workload.name, row_of(device, workload, launches)).first->second;
  };
  std::vector<Row> result;
  for (const Workload& workload : workloads) {
    Row row = measured(workload);
    const Workload* dense = dense_of(workload, everything);
    if (row.measured && dense) {
      const Row& reference = measured(*dense);
      if (reference.measured)
        row.bound_ms =
            tile_bound_ms(row.measured->tiles, reference.measured->tiles.front(), reference.measured->single.median_ms);
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace tessera::bench
