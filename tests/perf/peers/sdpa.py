"""Attention of an installed PyTorch on forward_bench's workloads, a row of JSON each: cuDNN and FlashAttention-2 where they have
the mask (none, causal), and dense attention of the same size for every workload.

    forward_bench --list 1 | python3 sdpa.py [--repeat 30]
"""
import argparse, json, sys
import torch
import torch.nn.functional as F
from torch.nn.attention import sdpa_kernel, SDPBackend


def median_ms(run, repeat):
    for _ in range(5):
        run()
    times = []
    for _ in range(repeat):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def measure(w, repeat):
    torch.manual_seed(0)
    shape = lambda heads: (w["batch"], heads, w["tokens"], w["head_dim"])
    q = torch.randn(shape(w["heads"]), device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(shape(w["kv_heads"]), device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def attention(backend, causal):
        with sdpa_kernel(backend):
            return median_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=w["heads"] != w["kv_heads"]), repeat)

    row = {"workload": w["workload"], "cudnn_dense_ms": attention(SDPBackend.CUDNN_ATTENTION, False)}
    if w["mask"] in ("full", "causal"):
        causal = w["mask"] == "causal"
        row["cudnn_ms"] = attention(SDPBackend.CUDNN_ATTENTION, True) if causal else row["cudnn_dense_ms"]
        row["flash2_ms"] = attention(SDPBackend.FLASH_ATTENTION, causal)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=30)
    repeat = parser.parse_args().repeat
    for line in sys.stdin:
        print(json.dumps(measure(json.loads(line), repeat)), flush=True)


if __name__ == "__main__":
    main()
