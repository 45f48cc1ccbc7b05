#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's gloo: sums the vectors of N processes at all of them. The first prints one JSON object.

Usage: gloo_sum.py WORKERS MEGABYTES REPETITIONS [--warmups N] [--rank R --master HOST:PORT --interface NAME]
Starts all processes here, unless --rank makes it one of them.
"""

import argparse
import json
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank_main(rank, flags):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = flags.interface
    length, workers = int(flags.megabytes * 1e6 / 4), flags.workers
    dist.init_process_group("gloo", init_method=f"tcp://{flags.master}", rank=rank, world_size=workers)
    own = torch.arange(length, dtype=torch.float32).remainder_(1021).add_(rank)
    wanted = torch.arange(length, dtype=torch.float32).remainder_(1021).mul_(workers) + workers * (workers - 1) // 2
    vector = torch.empty_like(own)
    seconds = []
    for _ in range(flags.warmups + flags.repetitions):
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
        seconds = seconds[flags.warmups:]
        print(json.dumps({"median_ms": statistics.median(seconds) * 1e3, "best_ms": min(seconds) * 1e3}), flush=True)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("repetitions", type=int)
    parser.add_argument("--warmups", type=int, default=2)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--master", default=f"127.0.0.1:{20000 + os.getpid() % 10000}")
    parser.add_argument("--interface", default="lo")
    flags = parser.parse_args()
    if flags.rank is not None:
        rank_main(flags.rank, flags)
        return
    context = mp.get_context("spawn")
    ranks = [context.Process(target=rank_main, args=(r, flags)) for r in range(flags.workers)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    if any(rank.exitcode != 0 for rank in ranks):
        sys.exit("gloo: a process failed")


if __name__ == "__main__":
    main()
