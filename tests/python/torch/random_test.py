# SPDX-License-Identifier: Apache-2.0
"""Random numbers in loops: workers and a plain process draw the same."""

import copy

import numpy as np
import pytest
import torch
from fakes import FakeWork
from loops import BATCH, ROWS, SAMPLES, data, make, network, run, vector
from torch.utils.data import TensorDataset

import motley.torch
from motley.torch.errors import Refused
from motley.torch.work import by_parts


def test_dropout_follows_from_step_and_partition():
    sums = []
    for rest in (0, 1):  # Another worker computes the same partitions after other work.
        model = network(torch.nn.Dropout(0.5))
        works = [FakeWork(vector(model), ROWS["real"], step=step) for step in range(rest, 4)]
        run(*make(works, model, randomness=None)[:2])
        sums.append([work.sums[0] for work in works[-2:]])
        torch.rand(17)
    for own, other in zip(*sums):
        assert np.array_equal(own, other)
    assert np.abs(sums[0][0] - sums[0][1]).max() > 0.01  # Other steps have other masks.


@pytest.mark.parametrize("chunk", [None, 3, 50])
@pytest.mark.parametrize("partitions", [5, 8])
def test_a_plain_process_draws_the_same_as_workers(partitions, chunk):
    dataset, model = TensorDataset(*data()[:BATCH]), network(torch.nn.Dropout(0.5))
    start, plain = vector(model), copy.deepcopy(model)
    optimizer = torch.optim.SGD(plain.parameters(), lr=1.0)
    run(motley.torch.loader(dataset, plain, optimizer, batch_size=BATCH, partitions=partitions, chunk=chunk),
        optimizer, epochs=1)
    parts = by_parts(np.arange(BATCH), BATCH, partitions)
    found = np.zeros_like(start)
    for own in (0, 1, 2):  # Each partition is at one of three workers.
        rows = [(part if number % 3 == own else [], number, [1.0]) for number, part in enumerate(parts)]
        work = FakeWork(start, rows)
        run(*make([work], model, dataset=dataset, chunk=chunk, randomness=None)[:2])
        found += work.sums[0] / BATCH
    assert np.abs(start - vector(plain) - found).max() <= 1e-6


def test_a_plain_process_without_random_numbers_computes_whole_batches():
    for extra, turns in (((), 8 + 1), ((torch.nn.Dropout(0.5),), 8 + 8)):
        model = network(*extra)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = motley.torch.loader(TensorDataset(*data()[:2 * BATCH]), model, optimizer, batch_size=BATCH,
                                     partitions=8)
        assert run(loader, optimizer, epochs=1) == turns and len(loader.losses) == 2
    with pytest.raises(ValueError, match="partitions=9: from 1 to 8"):
        motley.torch.loader(TensorDataset(*data()[:8]), model, optimizer, batch_size=8, partitions=9)


def test_the_first_step_shows_randomness():
    drawing = network(torch.nn.Dropout(0.5))
    calm = network()
    for model, draws in ((drawing, True), (calm, False)):
        loader, optimizer, _ = make([FakeWork(vector(model), ROWS["plain"])], model, randomness=None)
        run(loader, optimizer)
        assert loader._draws is draws


class Augmented(torch.utils.data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return torch.randn(8) + index, index % 3


def test_augmented_samples_follow_from_step_and_sample():
    sums = []
    for order in (slice(None), slice(None, None, -1)):
        model = network()
        work = FakeWork(vector(model), ROWS["plain"][order])
        run(*make([work], model, dataset=Augmented(), random_samples=True)[:2])
        sums.append(work.sums[0])
    assert np.abs(sums[0] - sums[1]).max() <= 1e-4
    model = network()
    loader, optimizer, _ = make([FakeWork(vector(model), ROWS["plain"])], model, dataset=Augmented(), randomness=None)
    with pytest.raises(Refused, match="random_samples=True"):
        run(loader, optimizer)


class AugmentedByNumPy(Augmented):
    def __getitem__(self, index):
        return torch.zeros(8) + float(np.random.rand()), index % 3


def test_numbers_that_numpy_draws_are_noticed():
    model = network()
    work = FakeWork(vector(model), ROWS["plain"])
    loader, optimizer, _ = make([work], model, dataset=AugmentedByNumPy())
    with pytest.raises(Refused, match="random_samples=True"):
        run(loader, optimizer)
    loader, optimizer, _ = make([FakeWork(vector(model), ROWS["plain"])], model, randomness=None)

    def body(x, y):
        optimizer.zero_grad()
        (model(x).mean() * float(np.random.rand())).backward()
        optimizer.step()

    run(loader, optimizer, body)
    assert loader._draws is True
