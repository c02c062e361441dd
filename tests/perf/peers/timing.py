"""Times of launches of an installed PyTorch, taken as `tessera bench` takes its own (library/bench/launch_timer.h)."""
import time

import torch

WARM_UP, LEAST, BUDGET_MS = 5, 7, 250


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def launches_within(one_ms, most):
    return most if one_ms <= 0 else max(int(min(BUDGET_MS / one_ms, most)), min(LEAST, most))


class Timer:
    def __init__(self):
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 50 << 20)
        self.flush = torch.empty(4 * l2, dtype=torch.uint8, device="cuda")
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.zero_()
        self.flush_ms = median(self._between(self.flush.zero_) for _ in range(5))

    def _between(self, run):
        self.begin.record()
        run()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end)

    def _once(self, run, flushes):
        for _ in range(flushes):  # until the host, which is slower here than in C++, is done with the launch
            self.flush.zero_()
        return self._between(run)

    def single(self, run, most):
        host_ms = []
        for _ in range(WARM_UP):
            torch.cuda.synchronize()
            before = time.perf_counter()
            run()
            host_ms.append(1000 * (time.perf_counter() - before))
        torch.cuda.synchronize()
        flushes = 1 + int(1.5 * median(host_ms) / self.flush_ms) if self.flush_ms > 0 else 1
        flushes = min(flushes, 40)
        count = launches_within(median(self._once(run, flushes) for _ in range(3)), most)
        return median(self._once(run, flushes) for _ in range(count))

    def sustained(self, run, single_ms):
        count = launches_within(single_ms, 1000)

        def all_of_them():
            for _ in range(count):
                run()

        return self._between(all_of_them) / count
