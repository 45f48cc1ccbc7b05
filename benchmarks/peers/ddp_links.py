#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch DDP over gloo on a machine of its own: trains an MLP on random samples.

Usage: ddp_links.py RANK WORKERS MASTER:PORT INTERFACE BATCH STEPS WIDTH[,WIDTH...]
The widths include the inputs and the outputs. Rank 0 prints a line "step N" after each step, and
at the end one JSON object: the seconds of each step. Every rank takes BATCH / WORKERS samples a
step.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

SAMPLES = 512


def main():
    rank, workers = int(sys.argv[1]), int(sys.argv[2])
    os.environ["GLOO_SOCKET_IFNAME"] = sys.argv[4]
    batch, steps = int(sys.argv[5]), int(sys.argv[6])
    widths = [int(word) for word in sys.argv[7].split(",")]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{sys.argv[3]}", rank=rank, world_size=workers)
    torch.manual_seed(7)
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = DistributedDataParallel(nn.Sequential(*layers[:-1]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    features = torch.randn(SAMPLES, widths[0])
    labels = torch.randint(widths[-1], (SAMPLES,))
    own, times = batch // workers, []
    for step in range(steps):
        begin = time.monotonic()
        mine = [(step * batch + rank * own + i) % SAMPLES for i in range(own)]
        optimizer.zero_grad()
        functional.cross_entropy(model(features[mine]), labels[mine]).backward()
        optimizer.step()
        times.append(time.monotonic() - begin)
        if rank == 0:
            print(f"step {step + 1}", flush=True)
    if rank == 0:
        print(json.dumps({"seconds": times}))


if __name__ == "__main__":
    main()
