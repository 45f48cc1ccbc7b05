#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a network of torch_models.py by one of several systems, with the same batches in all of them.

Usage: torch_script.py motley MODEL EPOCHS [CODE], or torch_script.py ddp MODEL EPOCHS RANK WORKERS PORT. Without
MOTLEY_ROLE, motley trains in this process alone. The first process prints "step N" after each step, and at the end a
JSON object: the time at which each step ended, and the final loss.
"""

import json
import os
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import motley
import motley.torch
import torch_models

times = []


def mark(_step=None):
    times.append(time.monotonic())
    print("step", len(times), flush=True)
    return 1.0


def mark_applied(event):
    if event.kind == motley.EventKind.STEP_APPLIED:
        mark()


def train_motley(task, epochs, code=None):
    optimizer = torch.optim.SGD(task.model.parameters(), lr=task.rate)
    # A job asks for the rates of an epoch in advance. One process alone asks before each step.
    alone = "MOTLEY_ROLE" not in os.environ
    loader = motley.torch.loader(task.samples, task.model, optimizer, batch_size=task.batch, code=code,
                                 schedule=mark if alone else None, events=None if alone else mark_applied)
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            task.loss(task.model, batch).backward()
            optimizer.step()
    return loader.first


def train_ddp(task, epochs, rank, workers, port):
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
    model = DistributedDataParallel(task.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=task.rate)
    for step in range(epochs * -(-len(task.samples) // task.batch)):
        chosen = motley.batch_samples(step, samples=len(task.samples), batch=task.batch)[rank::workers]
        batch = task.samples[torch.from_numpy(chosen)]
        optimizer.zero_grad()
        task.loss(model, batch).backward()
        optimizer.step()
        if rank == 0:
            mark()
    return rank == 0


def main():
    system, name, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    task = torch_models.make(name)
    if system == "motley":
        first = train_motley(task, epochs, *sys.argv[4:])
    else:
        first = train_ddp(task, epochs, *map(int, sys.argv[4:]))
    if first:
        print(json.dumps({"times": times, "final_loss": torch_models.final_loss(task)}), flush=True)


if __name__ == "__main__":
    main()
