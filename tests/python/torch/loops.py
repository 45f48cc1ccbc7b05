# SPDX-License-Identifier: Apache-2.0
"""Small data, a network, and a worker's loader without a library, for tests of loops."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from fakes import FakeJob
from torch.utils.data import TensorDataset

from motley.torch.loader import Settings
from motley.torch.samples import Samples
from motley.torch.worker import WorkerLoader

SAMPLES, BATCH = 96, 32


def data(seed=0):
    draw = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(SAMPLES, 8, generator=draw), torch.randint(0, 3, (SAMPLES,), generator=draw))


def network(*extra):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), *extra, torch.nn.Linear(16, 3))


def vector(model):
    return torch.cat([p.detach().float().reshape(-1) for p in model.parameters()]).numpy()


def make(works, model, *, dataset=None, optimizer=None, chunk=None, randomness=False, random_samples=False,
         check_loss=False):
    job = FakeJob(works)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    loader = WorkerLoader(Samples(dataset or data(), None, random_samples), model, optimizer,
                          Settings(BATCH, 7, None, chunk, randomness, None, check_loss), None, job)
    return loader, optimizer, job


def run(loader, optimizer, body=None, epochs=10):
    """The usual loop. Workers end it earlier, when there is no work. Returns the number of turns."""
    turns = 0
    for _ in range(epochs):
        for x, y in loader:
            if body is not None:
                body(x, y)
            else:
                optimizer.zero_grad()
                F.cross_entropy(loader.model(x), y).backward()
                optimizer.step()
            turns += 1
    return turns


def gradient(model, samples, dataset=None):
    """The sum of the samples' gradients as float64, and the sum of their losses."""
    model = copy.deepcopy(model).double()
    model.zero_grad()
    x, y = (dataset or data()).tensors
    loss = F.cross_entropy(model(x[samples].double()), y[samples], reduction="sum")
    loss.backward()
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy(), loss.item()


def check(work, model, *, error=1e-6):
    assert work.result == 0
    for v, found in enumerate(work.sums):
        wanted = sum(run.weights[v] * gradient(model, work.samples[run.first:run.first + run.count])[0]
                     for run in work.runs)
        assert np.abs(found - wanted).max() <= error * max(1, np.abs(wanted).max())
    for group in {run.group for run in work.runs}:
        runs = [number for number, run in enumerate(work.runs) if run.group == group]
        samples = np.concatenate([work.samples[run.first:run.first + run.count]
                                  for run in (work.runs[number] for number in runs)])
        assert sum(work.weights[number] for number in runs) == len(samples)
        loss = sum(work.losses[number] for number in runs)
        assert abs(loss - gradient(model, samples)[1]) <= error * abs(loss)


PARTS = [range(0, 5), range(5, 17), range(40, 41), range(50, 90)]
ROWS = {
    "plain": [(part, 0, [1.0]) for part in PARTS],
    "real": [(part, group, [weight]) for group, (part, weight) in enumerate(zip(PARTS, [0.5, -1.25, 3.0, 1 / 3]))],
    "complex": [(part, group % 2, [[0.5, 0.1], [-0.3, 2.0]][group % 2]) for group, part in enumerate(PARTS)],
    "parts": [(part, group, [1.0, float(group), -group / 7]) for group, part in enumerate(PARTS)],
}


def usual(model, optimizer, x, y, between=lambda: None):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    between()
    optimizer.step()
