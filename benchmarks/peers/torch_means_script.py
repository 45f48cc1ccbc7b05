#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on sequences of unequal length by one of several systems, with the same batches in all of them.

Usage: torch_means_script.py motley EPOCHS, or torch_means_script.py ddp|accelerate EPOCHS RANK WORKERS PORT. Without
MOTLEY_ROLE, motley trains in this process alone. DDP and Accelerate get the loop that their own guides show: each
process takes the mean over its own tokens. The first process prints a JSON list with the mean loss over the tokens of
each step's batch, before the update.
"""

import json
import os
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python" / "torch")]

import motley
import motley.torch
from tokens_script import SEQUENCES, TOKENS, WIDTH, Sequences, collate, token_losses

BATCH = 64


def train_motley(model, optimizer, sequences, epochs):
    loader = motley.torch.loader(sequences, model, optimizer, batch_size=BATCH, collate_fn=collate)
    for _ in range(epochs):
        for batch in loader:
            losses, count = token_losses(model, batch)
            loader.weight(count)
            optimizer.zero_grad()
            (losses / count).backward()
            optimizer.step()
    return loader.losses if loader.first else None


def steps_of(rank, workers, sequences, epochs):
    for step in range(epochs * SEQUENCES // BATCH):
        chosen = motley.batch_samples(step, samples=SEQUENCES, batch=BATCH)[rank::workers]
        yield collate([sequences[i] for i in chosen])


def mean_loss(losses, count):
    """The mean over the tokens of all processes. It is only reported."""
    both = torch.tensor([losses.item(), count], dtype=torch.float64)
    torch.distributed.all_reduce(both)
    return (both[0] / both[1]).item()


def train_ddp(model, optimizer, batches, rank, workers, port):
    from torch.nn.parallel import DistributedDataParallel

    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
    model = DistributedDataParallel(model)
    found = []
    for batch in batches:
        losses, count = token_losses(model, batch)
        found.append(mean_loss(losses, count))
        optimizer.zero_grad()
        (losses / count).backward()
        optimizer.step()
    return found


def train_accelerate(model, optimizer, batches, rank, workers, port):
    import accelerate

    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(workers), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    accelerator = accelerate.Accelerator(cpu=True)
    if accelerator.num_processes != workers:
        sys.exit(f"accelerate sees {accelerator.num_processes} processes of {workers}")
    model, optimizer = accelerator.prepare(model, optimizer)
    found = []
    for batch in batches:
        losses, count = token_losses(model, batch)
        found.append(mean_loss(losses, count))
        optimizer.zero_grad()
        accelerator.backward(losses / count)
        optimizer.step()
    return found


def main():
    system, epochs = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(TOKENS, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, TOKENS))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    sequences = Sequences()
    if system == "motley":
        found = train_motley(model, optimizer, sequences, epochs)
    else:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        rank, workers, port = map(int, sys.argv[3:])
        train = {"ddp": train_ddp, "accelerate": train_accelerate}[system]
        found = train(model, optimizer, steps_of(rank, workers, sequences, epochs), rank, workers, port)
        found = found if rank == 0 else None
    if found is not None:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
