#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch DDP over gloo: trains an MLP 784-256-10 on the samples of an .npz file. Prints one JSON object.

Usage: ddp_train.py SAMPLES.npz WORKERS BATCH LR SEED STEPS[,STEPS...]
Reports the loss over all samples after each number of STEPS; computing it is not part of the time.
"""

import json
import os
import statistics
import sys
import time

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


def rank_main(rank, path, workers, batch, lr, seed, marks, port, results):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
    samples = numpy.load(path)
    features = torch.from_numpy(samples["features"])
    labels = torch.from_numpy(samples["labels"])
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    for layer in (net[0], net[2]):  # Initialised like Motley's: normal, variance 2 / inputs; bias 0.
        nn.init.normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)
        nn.init.zeros_(layer.bias)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    shuffle = torch.Generator().manual_seed(seed)
    own = batch // workers
    order, at, losses, seconds = torch.randperm(len(labels), generator=shuffle), 0, {}, []
    last = None
    for step in range(1, marks[-1] + 1):
        if at + batch > len(labels):
            order, at = torch.randperm(len(labels), generator=shuffle), 0
        mine = order[at + rank * own:at + (rank + 1) * own]
        at += batch
        optimizer.zero_grad()
        functional.cross_entropy(model(features[mine]), labels[mine]).backward()
        optimizer.step()
        now = time.monotonic()
        if last is not None:
            seconds.append(now - last)
        last = now
        if step in marks:
            with torch.no_grad():
                losses[step] = functional.cross_entropy(net(features), labels).item()
            dist.barrier()
            last = None
    if rank == 0:
        results.put((losses, seconds))
    dist.barrier()


def main():
    path, workers, batch, lr = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    seed = int(sys.argv[5])
    marks = [int(mark) for mark in sys.argv[6].split(",")]
    context = mp.get_context("spawn")
    results = context.SimpleQueue()
    port = 20000 + os.getpid() % 10000
    ranks = [context.Process(target=rank_main, args=(r, path, workers, batch, lr, seed, marks, port, results))
             for r in range(workers)]
    for rank in ranks:
        rank.start()
    losses, seconds = results.get()
    for rank in ranks:
        rank.join()
    print(json.dumps({"steps_per_second": len(seconds) / sum(seconds),
                      "median_step_ms": statistics.median(seconds) * 1e3,
                      "losses": [losses[mark] for mark in marks]}))


if __name__ == "__main__":
    main()
