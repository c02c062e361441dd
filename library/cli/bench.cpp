// tessera bench: the project's workloads, measured on the device.
#include <fstream>

#include <fmt/format.h>

#include <tessera/library/bench/plans.h>
#include <tessera/library/bench/report.h>
#include <tessera/library/cli/commands.h>
#include <tessera/library/cli/measuring.h>

namespace tessera::cli {

std::string bench(const Arguments& arguments) {
  const std::vector<bench::Workload> everything = bench::suite(arguments.suite);
  const std::vector<bench::Workload> chosen = bench::only(everything, parts_of(arguments.only));
  if (arguments.list) return arguments.json ? bench::list_json(chosen).dump() + "\n" : bench::list_text(chosen);
  if (arguments.plans) {
    std::vector<bench::PlanRow> rows;
    for (const bench::Workload& workload : chosen) rows.push_back(bench::plan_of(workload));
    return arguments.json ? bench::plans_json(rows).dump(1) + "\n" : bench::plans_text(rows);
  }

  const runtime::Device& device = device_to_measure_on();
  std::ofstream file;
  if (!arguments.output.empty()) {  // opened first: a measurement is not lost to a name that cannot be written
    file.open(arguments.output);
    if (!file) throw UserError({}, fmt::format("--output {} cannot be written", arguments.output), "check the path");
  }
  const bench::RunInfo info{device.info().name, bench::today(), arguments.commit, arguments.suite};
  const auto rows = bench::measure_all(device, chosen, everything, arguments.repeat);
  const std::string json = bench::to_json(info, rows).dump(1) + "\n";
  if (file.is_open() && !(file << json << std::flush))
    throw UserError({}, fmt::format("--output {} cannot be written", arguments.output), "free space there");
  return arguments.json ? json : bench::to_text(info, rows);
}

}  // namespace tessera::cli
