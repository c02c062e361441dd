"""What compare.py makes of rounds, and the whole of it around stand-ins for Tessera and its peers."""
import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

import compare

BENCH = '''#!{python}
import json, sys
if "--list" in sys.argv:
    print(json.dumps([{{"workload": "dense", "mask": {{"kind": "full"}}}}, {{"workload": "window", "mask": {{"kind": "window"}}}}]))
else:
    rows = [{{"workload": "dense", "mask": "full", "density": 1.0, "tessera_ms": 2.0, "tflops": 100.0, "first_call_ms": 9.0}},
            {{"workload": "window", "mask": "window", "density": 0.1, "tessera_ms": None, "error": "it does not fit"}}]
    print(json.dumps({{"device": "a card", "date": "2026-11-30", "commit": "abc", "suite": "standard", "rows": rows}}))
'''
PEERS = '''import json, sys
for line in sys.stdin:
    w = json.loads(line)
    if w["workload"] == "window" and "{end}" == "early":
        break
    print(json.dumps({{"workload": w["workload"], "cudnn_ms": 3.0, "cudnn_dense_ms": 3.0, "flex_ms": None}}), flush=True)
'''


def run(folder, end="late", arguments=()):
    folder = pathlib.Path(folder)
    bench = folder / "bench"
    bench.write_text(BENCH.format(python=sys.executable))
    bench.chmod(bench.stat().st_mode | stat.S_IXUSR)
    (folder / "peers").mkdir()
    (folder / "peers" / "peers.py").write_text(PEERS.format(end=end))
    out, err = io.StringIO(), io.StringIO()
    with (mock.patch.object(compare, "__file__", str(folder / "compare.py")), contextlib.redirect_stdout(out),
          contextlib.redirect_stderr(err)):
        compare.main([str(bench), "--output", str(folder / "out.json"), *arguments])
    return json.loads((folder / "out.json").read_text()), out.getvalue(), err.getvalue()


class Compare(unittest.TestCase):
    def test_middle(self):
        self.assertEqual(compare.middle([3, None, 1, 2]), 2)
        self.assertEqual(compare.middle([1, 3]), 2)
        self.assertIsNone(compare.middle([None]))

    def test_ratios_are_of_one_round(self):
        ours = [{"workload": "w", "mask": "window", "tessera_ms": t, "first_call_ms": f, "predicted_ms": 1.6}
                for t, f in ((1.0, 50), (2.0, 4), (4.0, 6))]
        peers = [{"flex_ms": 3.0}, {"flex_ms": 4.0}, {"flex_ms": 20.0}]
        row = compare.merged(ours, peers)
        self.assertEqual(row["flex_over_tessera"], 3)  # of 3, 2 and 5; the ratio of medians would be 2
        self.assertEqual((row["tessera_ms"], row["flex_ms"]), (2, 4))
        self.assertEqual((row["first_call_ms"], row["warm_first_call_ms"]), (50, 5))
        self.assertEqual(row["measured_over_predicted"], 1.25)  # of the median
        self.assertIsNone(row["cudnn_ms"])
        self.assertIsNone(row["cudnn_over_tessera"])

    def test_summary(self):
        rows = [{"workload": name, "mask": mask, "flex_over_tessera": ratio, "cudnn_over_tessera": cudnn}
                for name, mask, ratio, cudnn in (("a", "full", 8, 1.1), ("b", "window", 2, None),
                                                 ("c", "sinks", 0.5, None))]
        s = compare.summary(rows)
        self.assertAlmostEqual(s["flex_over_tessera"]["geometric_mean"], 2)
        self.assertAlmostEqual(s["flex_over_tessera"]["geometric_mean_sparse"], 1)
        self.assertEqual((s["flex_over_tessera"]["least"], s["flex_over_tessera"]["least_workload"]), (0.5, "c"))
        self.assertEqual(s["cudnn_over_tessera"]["rows"], 1)
        self.assertEqual(compare.summary([{"workload": "a", "mask": "full"}]), {})

    def test_output_is_a_file_or_goes_into_a_folder(self):
        result = {"device": "NVIDIA H200", "date": "2026-11-30", "suite": "standard"}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compare.output_path(folder, result).name, "2026-11-30-h200-standard.json")
            self.assertEqual(compare.output_path(folder + "/x.json", result).name, "x.json")

    def test_the_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            result, text, errors = run(folder)
        self.assertEqual([result[k] for k in ("device", "date", "commit", "rounds")], ["a card", "2026-11-30", "abc", 2])
        dense, window = result["rows"]
        self.assertEqual((dense["cudnn_over_tessera"], dense["flex_over_tessera"]), (1.5, None))
        self.assertEqual((window["tessera_ms"], window["cudnn_over_tessera"]), (None, None))
        self.assertIn("it does not fit", text)
        self.assertIn("cudnn_over_tessera: geometric_mean 1.500, rows 1, least 1.500, least_workload dense", text)
        self.assertEqual(errors, "")

    def test_peers_that_end_early_cost_their_figures_only(self):
        with tempfile.TemporaryDirectory() as folder:
            result, _, errors = run(folder, end="early", arguments=["--rounds", "1"])
        self.assertEqual(result["rows"][0]["cudnn_ms"], 3)
        self.assertIsNone(result["rows"][1]["cudnn_ms"])
        self.assertIn("window: the peers' process has ended", errors)

    def test_without_peers(self):
        with tempfile.TemporaryDirectory() as folder:
            result, _, _ = run(folder, arguments=["--peers", "none", "--rounds", "1"])
        self.assertEqual(result["rows"][0]["tessera_ms"], 2)
        self.assertEqual(result["summary"], {})


if __name__ == "__main__":
    unittest.main()
