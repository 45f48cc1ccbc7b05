#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains linear layers, and counts the copies of whole vectors.

Usage: torch_large_script.py LAYERS WIDTH BATCH STEPS. MOTLEY_ROLE says whether the process is a server, a worker, or
trains alone. Prints a JSON object at the end: `parameters`, `times` at which steps ended, `final_loss`, `steps`,
`backward`: seconds of each step's forward and backward, and `copies`: how often each place copied the vector.
"""

import json
import os
import pathlib
import sys
import time

import torch
from torch.utils.data import TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import motley
import motley.torch
from motley.torch import flat

PLACES = {"load": "parameters to module", "add_gradients": "gradients to answer", "store": "module to parameters",
          "load_gradients": "sum to gradients"}


def count_copies():
    """Counts the calls of the package's functions that copy a whole vector."""
    copies = dict.fromkeys(PLACES.values(), 0)

    def counted(original, place):
        def call(*words):
            copies[place] += 1
            return original(*words)
        return call

    for name, place in PLACES.items():
        setattr(flat.FlatParameters, name, counted(getattr(flat.FlatParameters, name), place))
    return copies


def loss_of(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def main():
    layers, width, batch_size, steps = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    torch.manual_seed(7)
    copies, times, backward, begun = count_copies(), [], [], set()
    model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])
    inputs = torch.randn(batch_size * steps, width)
    samples = TensorDataset(inputs, inputs.roll(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def watch(event):
        if event.kind == motley.EventKind.STEP_APPLIED:
            times.append(time.monotonic())

    in_job = "MOTLEY_ROLE" in os.environ
    # One chunk: smaller ones would make plain PyTorch's matrix products slower as well.
    loader = motley.torch.loader(samples, model, optimizer, batch_size=batch_size, chunk=batch_size, randomness=False,
                                 events=watch if in_job else None)
    for batch in loader:
        begun.add(loader.step)
        began = time.monotonic()
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        backward.append(time.monotonic() - began)
        optimizer.step()
    loader.close()
    with torch.no_grad():
        final = loss_of(model, samples[:batch_size]).item()
    print(json.dumps({"parameters": sum(parameter.numel() for parameter in model.parameters()), "times": times,
                      "final_loss": final, "steps": len(begun), "backward": backward, "copies": copies}), flush=True)


if __name__ == "__main__":
    main()
