"""Runs forward_bench and its peers by turns on one GPU, and prints one table of ratios; --output keeps it as JSON.

    python3 compare.py PATH/TO/forward_bench [--rounds 3] [--commit HASH] [--output FILE]
"""
import argparse, datetime, json, pathlib, subprocess, sys


def rows(command, text=None):
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=text).stdout
    return {row["workload"]: row for row in map(json.loads, out.splitlines())}


def middle(values):
    values = sorted(v for v in values if v is not None)
    return values[len(values) // 2] if values else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commit", default="")
    parser.add_argument("--output")
    args = parser.parse_args()
    peer_script = str(pathlib.Path(__file__).parent / "peers" / "sdpa.py")
    workloads = subprocess.run([args.bench, "--list", "1"], check=True, stdout=subprocess.PIPE, text=True).stdout
    ours, peers = [], []
    for _ in range(args.rounds):  # by turns: the clock moves with temperature
        ours.append(rows([args.bench]))
        peers.append(rows([sys.executable, peer_script], workloads))
    table = []
    for name in ours[0]:
        row = dict(ours[0][name])
        for key in ("tessera_ms", "tflops", "host_us"):
            row[key] = middle([o[name][key] for o in ours])
        row["second_process_first_call_ms"] = middle([o[name]["first_call_ms"] for o in ours[1:]])
        for key in ("cudnn_ms", "cudnn_dense_ms", "flash2_ms"):
            row[key] = middle([p[name].get(key) for p in peers])
        if row["cudnn_ms"]:
            row["cudnn_over_tessera"] = row["cudnn_ms"] / row["tessera_ms"]
        row["cudnn_dense_over_tessera"] = row["cudnn_dense_ms"] / row["tessera_ms"]
        table.append(row)
    device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True).stdout.strip()
    result = {"device": device, "date": datetime.date.today().isoformat(), "commit": args.commit, "rows": table}
    if args.output:
        pathlib.Path(args.output).write_text(json.dumps(result, indent=1) + "\n")
    show = lambda x, f="{:9.3f}": f.format(x) if isinstance(x, (int, float)) else " " * 8 + "-"
    print(f"{'workload':26} {'tessera':>9} {'TFLOP/s':>9} {'cuDNN':>9} {'ratio':>9} {'dense':>9} {'ratio':>9} {'FA-2':>9} {'host us':>9} {'cold ms':>9} {'warm ms':>9}")
    columns = ("tessera_ms", "tflops", "cudnn_ms", "cudnn_over_tessera", "cudnn_dense_ms", "cudnn_dense_over_tessera", "flash2_ms", "host_us",
               "first_call_ms", "second_process_first_call_ms")
    for r in table:
        print(f"{r['workload']:26} " + " ".join(show(r.get(c)) for c in columns))


if __name__ == "__main__":
    main()
