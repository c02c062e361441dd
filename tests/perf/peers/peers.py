"""Attention of an installed PyTorch on Tessera's workloads: reads one workload of `tessera bench --list --json` a line, and
writes one line of JSON for each, as often as it is asked. What was compiled for a workload is kept until the end.

    cudnn   scaled_dot_product_attention by cuDNN: with the mask where it has it (none, causal), and dense for all
    flash2  the same by FlashAttention-2, where it has the mask
    flex    flex_attention, compiled, with the block mask of the predicate; building either is not measured

A figure that cannot be had is null, and standard error says why.
"""
import argparse
import gc
import json
import sys
import types

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from masks import mask_mod
from timing import Timer

# Beyond this the block mask is compiled, which takes long but never holds all pairs at once.
MOST_TOKENS_AT_ONCE = 40000


def table(values):
    return torch.tensor(values, device="cuda", dtype=torch.int32)


def in_order(order, batch, heads, tokens, dim):
    """Normal numbers as a view of (batch, heads, tokens, dim), laid out as tensors.h of library/bench says."""
    normal = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    if order == "tokens_first":
        return normal(batch, tokens, heads, dim).transpose(1, 2)
    if order == "padded_rows":
        return normal(batch, heads, tokens, dim + 8)[..., :dim]
    return normal(batch, heads, tokens, dim)


def _flex(q, k, v, block_mask, grouped):
    return flex_attention(q, k, v, block_mask=block_mask, enable_gqa=grouped)


def _flex_of_its_own(name):
    """Compiled apart from those of other workloads: a call checks the guards of one, not of all that were compiled."""
    code = _flex.__code__.replace(co_name="flex_" + "".join(c if c.isalnum() else "_" for c in name))
    return torch.compile(types.FunctionType(code, _flex.__globals__, code.co_name), dynamic=False)


def _say(workload, what, error):
    lines = str(error).splitlines() or [""]
    print(f"{workload}: {what}: {type(error).__name__}: {lines[0]}", file=sys.stderr)


class Peers:
    def __init__(self, wanted, repeat):
        self.wanted, self.repeat, self.timer = wanted, repeat, Timer()
        self.compiled, self.refused = {}, set()  # by workload; by workload and figure

    def flex_of(self, w):
        if w["workload"] not in self.compiled:
            tokens, mod = w["tokens"], mask_mod(w["mask"], table)
            mask = None
            if mod is not None:
                mask = create_block_mask(mod, None, None, tokens, tokens, device="cuda",
                                         _compile=tokens > MOST_TOKENS_AT_ONCE)
            torch.cuda.empty_cache()
            self.compiled[w["workload"]] = _flex_of_its_own(w["workload"]), mask
        return self.compiled[w["workload"]]

    def figures(self, w):
        """Name and function of every figure, in order; a function returns milliseconds."""
        torch.manual_seed(0)
        normal = lambda heads, dim: in_order(w["order"], w["batch"], w[heads], w["tokens"], w[dim])
        q, k, v = (normal(*of) for of in (("heads", "head_dim"), ("kv_heads", "head_dim"), ("kv_heads", "value_dim")))
        grouped, kind = w["heads"] != w["kv_heads"], w["mask"]["kind"]

        def sdpa(backend, causal, how):
            with sdpa_kernel(backend):
                return how(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped))

        def flex():
            run, mask = self.flex_of(w)
            return single(lambda: run(q, k, v, mask, grouped))

        single = lambda run: self.timer.single(run, self.repeat)
        if "cudnn" in self.wanted:
            if kind in ("full", "causal"):
                yield "cudnn_ms", lambda row: sdpa(SDPBackend.CUDNN_ATTENTION, kind == "causal", single)
                yield "cudnn_sustained_ms", lambda row: sdpa(SDPBackend.CUDNN_ATTENTION, kind == "causal",
                                                             lambda run: self.timer.sustained(run, row["cudnn_ms"]))
            yield "cudnn_dense_ms", lambda row: (row["cudnn_ms"] if kind == "full" else
                                                 sdpa(SDPBackend.CUDNN_ATTENTION, False, single))
        if "flash2" in self.wanted and kind in ("full", "causal"):
            yield "flash2_ms", lambda row: sdpa(SDPBackend.FLASH_ATTENTION, kind == "causal", single)
        if "flex" in self.wanted:
            yield "flex_ms", lambda row: flex()

    def measure(self, w):
        row = {"workload": w["workload"]}
        try:
            for name, figure in self.figures(w):
                row[name] = None
                if (w["workload"], name) in self.refused:
                    continue
                try:
                    row[name] = figure(row)
                except Exception as error:  # whatever a peer does not support, in whatever way it says so
                    self.refused.add((w["workload"], name))
                    _say(w["workload"], f"no {name}", error)
        except Exception as error:
            _say(w["workload"], "no tensors", error)
        gc.collect()
        torch.cuda.empty_cache()
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="cudnn,flash2,flex")
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    results = sys.stdout
    sys.stdout = sys.stderr  # what a compiler prints is no result
    peers = Peers(args.peers.split(","), args.repeat)
    for line in sys.stdin:
        print(json.dumps(peers.measure(json.loads(line))), file=results, flush=True)


if __name__ == "__main__":
    main()
