"""Dense and causal attention of an installed PyTorch (cuDNN, FlashAttention-2) on the workloads of forward_bench: a row of JSON each.

    python3 sdpa.py [--repeat 30]
"""
import argparse, json, torch
import torch.nn.functional as F
from torch.nn.attention import sdpa_kernel, SDPBackend

WORKLOADS = [  # name, batch, heads, kv_heads, tokens, head_dim, causal
    ("dense_n4k_d128", 4, 16, 16, 4096, 128, False), ("dense_n16k_d128", 1, 16, 16, 16384, 128, False),
    ("dense_n16k_d64", 1, 32, 32, 16384, 64, False), ("dense_n8k_d256", 1, 8, 8, 8192, 256, False),
    ("causal_n4k_d128", 4, 16, 16, 4096, 128, True), ("causal_n16k_d128", 1, 16, 16, 16384, 128, True),
    ("causal_n16k_d64", 1, 32, 32, 16384, 64, True), ("causal_gqa_n16k_d128", 1, 32, 8, 16384, 128, True),
    ("dense_n32k_d128", 1, 16, 16, 32768, 128, False),
]


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=30)
    repeat = parser.parse_args().repeat
    for name, batch, heads, kv_heads, tokens, dim, causal in WORKLOADS:
        torch.manual_seed(0)
        q = torch.randn(batch, heads, tokens, dim, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv_heads, tokens, dim, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        row = {"workload": name}
        for key, backend in (("cudnn_ms", SDPBackend.CUDNN_ATTENTION), ("flash2_ms", SDPBackend.FLASH_ATTENTION)):
            try:
                with sdpa_kernel(backend):
                    row[key] = median_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads), repeat)
            except RuntimeError as error:
                row[key] = None
                row[key + "_why"] = str(error).splitlines()[0]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
