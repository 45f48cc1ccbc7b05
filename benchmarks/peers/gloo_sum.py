#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's gloo: sums the vectors of N processes at all of them. Prints one JSON object.

Usage: gloo_sum.py WORKERS MEGABYTES REPETITIONS
"""

import json
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank_main(rank, workers, length, repetitions, port, results):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
    own = torch.arange(length, dtype=torch.float32).remainder_(1021).add_(rank)
    wanted = torch.arange(length, dtype=torch.float32).remainder_(1021).mul_(workers) + workers * (workers - 1) // 2
    vector = torch.empty_like(own)
    seconds = []
    for _ in range(repetitions + 2):
        vector.copy_(own)
        dist.barrier()
        begin = time.monotonic()
        dist.all_reduce(vector)
        span = torch.tensor([-begin, time.monotonic()], dtype=torch.float64)
        if not torch.equal(vector, wanted):
            sys.exit("gloo: the sum is wrong")
        dist.all_reduce(span, op=dist.ReduceOp.MAX)  # The time from the first start to the last end.
        seconds.append((span[0] + span[1]).item())
    if rank == 0:
        results.put(seconds[2:])
    dist.barrier()


def main():
    workers, megabytes, repetitions = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    context = mp.get_context("spawn")
    results = context.SimpleQueue()
    port = 20000 + os.getpid() % 10000
    ranks = [context.Process(target=rank_main,
                             args=(r, workers, int(megabytes * 1e6 / 4), repetitions, port, results))
             for r in range(workers)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    if any(rank.exitcode != 0 for rank in ranks):
        sys.exit("gloo: a process failed")
    seconds = results.get()
    print(json.dumps({"median_ms": statistics.median(seconds) * 1e3, "best_ms": min(seconds) * 1e3}))


if __name__ == "__main__":
    main()
