# SPDX-License-Identifier: Apache-2.0
"""Random numbers in loops: workers and a plain process draw the same."""

import copy
import types

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


class DropoutThere(torch.nn.Module):
    """Draws its masks from the generator of another device."""

    def __init__(self, generator):
        super().__init__()
        self._generator = generator

    def forward(self, x):
        return 2 * x * (torch.rand(x.shape, generator=self._generator) < 0.5)


def of_one_device(generator):
    """As torch.mps."""
    return types.SimpleNamespace(get_rng_state=lambda: generator.get_state(), manual_seed=generator.manual_seed)


def of_many_devices(generator):
    """As torch.cuda and torch.xpu: manual_seed is for the current device only."""
    def get_rng_state(device):
        assert device == torch.device("hpu", 0)
        return generator.get_state()

    return types.SimpleNamespace(get_rng_state=get_rng_state, manual_seed=None, manual_seed_all=generator.manual_seed)


@pytest.mark.parametrize("module", [of_one_device, of_many_devices])
def test_numbers_of_another_device_are_noticed_and_seeded(module, monkeypatch):
    generator = torch.Generator()
    monkeypatch.setattr(torch, "hpu", module(generator), raising=False)
    sums, losses = [], []
    for turn in range(2):
        model = network(DropoutThere(generator))
        work = FakeWork(vector(model), ROWS["real"], step=3)
        first = FakeWork(vector(model), ROWS["plain"], step=turn)
        loader, optimizer, _ = make([first, work], model, randomness=None)
        loader._devices = {torch.device("hpu", 0), torch.device("cpu")}
        run(loader, optimizer)
        assert loader._draws is True
        sums.append(work.sums[0])
        plain = motley.torch.loader(data(), model, optimizer, batch_size=BATCH)
        plain._devices = loader._devices
        run(plain, optimizer, epochs=1)
        losses.append(plain.losses)
    assert np.array_equal(*sums) and losses[0] == losses[1]


def made_on_meta(**options):
    model = torch.nn.Linear(8, 3, device="meta")  # PyTorch has no torch.meta.
    return motley.torch.loader(data(), model, torch.optim.SGD(model.parameters(), lr=0.1), batch_size=BATCH, **options)


def test_a_device_without_a_generator_is_for_loops_that_draw_nothing():
    for randomness in (None, True):
        with pytest.raises(Refused, match="the model is on meta, and there is no torch.meta.manual_seed.*it must draw "
                                          "none, and say so by randomness=False"):
            made_on_meta(randomness=randomness)
    made_on_meta(randomness=False)


def test_a_generator_that_cannot_be_watched_needs_an_answer(monkeypatch):
    monkeypatch.setattr(torch, "meta", types.SimpleNamespace(manual_seed=int), raising=False)
    with pytest.raises(Refused, match="there is no torch.meta.get_rng_state.*give randomness=True to the loader if it "
                                      "draws some, and randomness=False if it draws none"):
        made_on_meta()
    made_on_meta(randomness=True)
    made_on_meta(randomness=False)
