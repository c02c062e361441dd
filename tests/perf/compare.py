"""Measures Tessera and the attention of an installed PyTorch on one GPU, by turns, and prints one table of ratios.

    python3 tests/perf/compare.py build/bin/tessera [--suite standard] [--only TEXT] [--rounds 2] [--output FILE]

A round is the whole suite by Tessera, then by the peers. Times are medians over rounds; a ratio is the median of the
ratios within each round, a peer's time over Tessera's: above 1 Tessera is faster.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

PEER_TIMES = ("cudnn_ms", "cudnn_dense_ms", "flash2_ms", "flex_ms")
OUR_MEDIANS = ("tessera_ms", "tflops", "tile_bound_ms", "tile_bound_share", "best_ms", "sustained_ms", "host_us")


def middle(values):
    """The median, of what there is; the mean of the two in the middle where the number is even."""
    values = sorted(v for v in values if v is not None)
    half = len(values) // 2
    return None if not values else values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def ratio_name(peer_time):
    return peer_time.removesuffix("_ms") + "_over_tessera"


def merged(ours, peers):
    """One row of a workload from its rows of each round."""
    row = dict(ours[0])
    for name in OUR_MEDIANS:
        row[name] = middle(r.get(name) for r in ours)
    if len(ours) > 1:  # the first one compiled, a later process found the kernel on disk
        row["warm_first_call_ms"] = middle(r.get("first_call_ms") for r in ours[1:])
    if row.get("predicted_ms") and row["tessera_ms"]:
        row["measured_over_predicted"] = row["tessera_ms"] / row["predicted_ms"]
    for name in (*PEER_TIMES, "cudnn_sustained_ms"):
        row[name] = middle(r.get(name) for r in peers)
    for name in PEER_TIMES:
        row[ratio_name(name)] = middle(p[name] / o["tessera_ms"] for o, p in zip(ours, peers)
                                       if p.get(name) and o.get("tessera_ms"))
    return row


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(rows):
    """What the peers' ratios come to over all rows that have them, and where the worst one is."""
    result = {}
    for peer_time in PEER_TIMES:
        name = ratio_name(peer_time)
        having = [r for r in rows if r.get(name)]
        if having:
            worst = min(having, key=lambda r: r[name])
            result[name] = {"geometric_mean": geometric_mean(r[name] for r in having), "rows": len(having),
                            "least": worst[name], "least_workload": worst["workload"]}
    sparse = geometric_mean(r.get("flex_over_tessera") for r in rows if r["mask"] not in ("full", "causal"))
    if sparse:
        result["flex_over_tessera"]["geometric_mean_sparse"] = sparse
    return result


def table(rows):
    columns = (("ms", "tessera_ms", 4), ("TFLOP/s", "tflops", 1), ("of bound", "tile_bound_share", 3),
               ("predicted", "predicted_ms", 4), ("of it", "measured_over_predicted", 3),
               ("cuDNN", "cudnn_ms", 4), ("ratio", "cudnn_over_tessera", 3),
               ("dense", "cudnn_dense_ms", 4), ("ratio", "cudnn_dense_over_tessera", 2),
               ("FA-2", "flash2_ms", 4), ("ratio", "flash2_over_tessera", 2),
               ("flex", "flex_ms", 4), ("ratio", "flex_over_tessera", 2))
    show = lambda value, digits: f"{value:9.{digits}f}" if isinstance(value, (int, float)) else f"{'-':>9}"
    lines = [f"{'workload':27}" + "".join(f" {title:>9}" for title, _, _ in columns)]
    for row in rows:
        lines.append(f"{row['workload']:27}" + "".join(" " + show(row.get(name), digits) for _, name, digits in columns))
        if row.get("error"):
            lines.append(f"    {row['error']}")
    return "\n".join(lines)


def output_path(output, result):
    """The file itself; in a folder, one named by date, device and suite."""
    path = pathlib.Path(output)
    device = result["device"].lower().removeprefix("nvidia ").replace(" ", "-")
    return path / f"{result['date']}-{device}-{result['suite']}.json" if path.is_dir() else path


class PeerProcess:
    """The peers of one Python process, asked workload by workload; once it has died, it knows of no figure."""

    def __init__(self, arguments):
        script = pathlib.Path(__file__).parent / "peers" / "peers.py"
        self.process = subprocess.Popen([sys.executable, str(script), *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def measure(self, workload):
        try:
            self.process.stdin.write(json.dumps(workload) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            print(f"{workload['workload']}: the peers' process has ended", file=sys.stderr)
            return {}

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera", help="the tessera command")
    parser.add_argument("--suite", default="standard")
    parser.add_argument("--only", default="", help="workloads with this in their names; several with commas between")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=30, help="launches that are timed, at most")
    parser.add_argument("--peers", default="cudnn,flash2,flex", help="some of these, or none")
    parser.add_argument("--commit", default="", help="commit to name in the results")
    parser.add_argument("--output", help="file to write the results to, as JSON, or folder for it")
    args = parser.parse_args(arguments)
    if args.rounds < 1:
        parser.error("--rounds: give 1 or more")
    return args


def main(arguments=None):
    args = parse(arguments)
    bench = [args.tessera, "bench", "--json", "--suite", args.suite] + (["--only", args.only] if args.only else [])

    def tessera(*more):
        done = subprocess.run([*bench, *more], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.returncode)  # it has said why
        return json.loads(done.stdout)

    workloads = tessera("--list")
    peers = None if args.peers == "none" else PeerProcess(["--peers", args.peers, "--repeat", str(args.repeat)])
    ours, theirs, result = {w["workload"]: [] for w in workloads}, {w["workload"]: [] for w in workloads}, {}

    def keep():
        result["rows"] = [merged(ours[w["workload"]], theirs[w["workload"]]) for w in workloads]
        result["summary"] = summary(result["rows"])
        if args.output:
            output_path(args.output, result).write_text(json.dumps(result, indent=1) + "\n")

    for done in range(args.rounds):
        result = tessera("--repeat", str(args.repeat), *(["--commit", args.commit] if args.commit else []))
        result["rounds"] = done + 1
        for row in result["rows"]:
            ours[row["workload"]].append(row)
        keep()
        for workload in workloads if peers else []:
            theirs[workload["workload"]].append(peers.measure(workload))
            keep()  # as far as it got: whoever ends this early has that much
    if peers:
        peers.close()
    print(f"{result['device']}, {result['date']} {result['commit']}".rstrip())
    print(table(result["rows"]))
    for name, value in result["summary"].items():
        print(f"{name}: " + ", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items()))


if __name__ == "__main__":
    main()
