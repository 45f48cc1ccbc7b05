# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on the digits of examples/data: the script that all processes of a test run.

Usage: digits_script.py JSON, an object with optimizer and schedule (names below), epochs, and options of
motley.torch.loader. The process that is first prints a line for each epoch, and at the end a JSON object. `fail_at`
raises an exception in the loop's body of the worker named by `fails`, and `spoils` changes the parameters after the
first epoch. The schedule "epochs" is one that the script itself steps. `dropout` is a probability, and `bf16` makes the
parameters bfloat16. In the epoch `saved_by`, the first process waits for a checkpoint.
"""

import gzip
import json
import math
import os
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import motley.checkpoint
import motley.torch

DIGITS = pathlib.Path(__file__).parents[3] / "examples" / "data" / "digits.csv.gz"


def groups(model):
    """The last layer learns slower, and nothing decays but its weight."""
    return [{"params": model[0].parameters()}, {"params": [model[2].weight], "lr": 0.003, "weight_decay": 0.1},
            {"params": [model[2].bias], "lr": 0.003}]


OPTIMIZERS = {
    "sgd": lambda model: torch.optim.SGD(groups(model), lr=0.05, weight_decay=0.01),
    "momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
    "nesterov": lambda model: torch.optim.SGD(groups(model), lr=0.02, momentum=0.9, nesterov=True),
    "adam": lambda model: torch.optim.Adam(groups(model), lr=0.001, weight_decay=0),
    "adamw": lambda model: torch.optim.AdamW(groups(model), lr=0.001, weight_decay=0),
    "rmsprop": lambda model: torch.optim.RMSprop(model.parameters(), lr=0.001, momentum=0.5),
}


SCHEDULES = {
    "cosine": lambda optimizer: lambda step: math.cos(step / 30),
    "steps": lambda optimizer: torch.optim.lr_scheduler.LambdaLR(
        optimizer, [lambda step, rate=rate: rate ** step for rate in (0.99, 0.9, 1.01)[:len(optimizer.param_groups)]]),
    "cycle": lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=100),
}


def state_of(optimizer):
    """The norm of each thing that the optimizer keeps, over all parameters."""
    squares = {}
    for entries in optimizer.state.values():
        for name, value in ((name, value) for name, value in entries.items() if value is not None):
            squares[name] = squares.get(name, 0.0) + float(torch.as_tensor(value).double().square().sum())
    return {name: square ** 0.5 for name, square in sorted(squares.items())}


def wait_for_checkpoint(folder):
    while True:
        try:
            if motley.checkpoint.list_checkpoints(folder):
                return
        except motley.NotFound:
            time.sleep(0.01)


def main():
    given = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rows = torch.tensor([[float(number) for number in line.split(",")]
                         for line in gzip.open(DIGITS, "rt").read().split()])
    images, digits = rows[:, :-1] / 16, rows[:, -1].long()
    middle = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Dropout(given.pop("dropout", 0.0)))
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), middle, torch.nn.Linear(64, 10))
    if given.pop("bf16", False):
        model, images = model.bfloat16(), images.bfloat16()
    optimizer = OPTIMIZERS[given.pop("optimizer", "momentum")](model)
    epochs, fails, fail_at = given.pop("epochs"), given.pop("fails", None), given.pop("fail_at", 0)
    saved_by = given.pop("saved_by", None)
    schedule, spoils = given.pop("schedule", None), given.pop("spoils", False)
    by_epoch = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7) if schedule == "epochs" else None
    if schedule in SCHEDULES:
        given["schedule"] = SCHEDULES[schedule](optimizer)
    loader = motley.torch.loader(TensorDataset(images[:1280], digits[:1280]), model, optimizer, batch_size=128, **given)
    for epoch in range(epochs):
        for x, y in loader:
            if fails is not None and os.environ.get("MOTLEY_WORKER_NAME") == fails and loader.step >= fail_at:
                raise ZeroDivisionError("the loop's body failed")
            optimizer.zero_grad()
            F.cross_entropy(model(x).float(), y).backward()
            optimizer.step()
        if by_epoch is not None:
            by_epoch.step()
        if spoils:
            model[0].weight.data[0, 0] += 1
        if loader.first and epoch == saved_by:
            wait_for_checkpoint(given["checkpoint"])
        if loader.first:
            print("epoch", epoch, flush=True)
    if loader.first:
        model.eval()
        right = (model(images[1280:]).argmax(1) == digits[1280:]).float().mean().item()
        norm = sum(p.detach().double().square().sum() for p in model.parameters()).sqrt().item()
        print(json.dumps({"losses": loader.losses, "right": right, "norm": norm, "step": loader.step,
                          "state": state_of(optimizer)}), flush=True)


if __name__ == "__main__":
    main()
