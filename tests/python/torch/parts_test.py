# SPDX-License-Identifier: Apache-2.0
"""The parts under the loaders: flat parameters, the optimizer's state as a vector, chunks, seeds, schedules."""

import copy

import numpy as np
import pytest
import torch
from fakes import FakeWork

from motley.torch.errors import Refused
from motley.torch.flat import FlatParameters
from motley.torch.randomness import Draws, mixed, seed_all
from motley.torch.state import OptimizerState
from motley.torch.work import Pace, by_partition, by_parts, cut, whole_groups


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(1)


def parameters(*shapes, dtype=torch.float32):
    return [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in shapes]


def test_flat_parameters_keep_values_types_and_order_in_memory():
    own = parameters((3, 4), (5,)) + parameters((2, 2), dtype=torch.bfloat16) + parameters((2, 3, 4, 5), ())
    own[3].data = own[3].data.contiguous(memory_format=torch.channels_last)
    before = copy.deepcopy(own)
    flat = FlatParameters(own)
    assert flat.count == 12 + 5 + 4 + 120 + 1 and len(flat.segments) == 3 and not flat.all_float32
    for parameter, old in zip(own, before):
        assert torch.equal(parameter, old) and parameter.dtype == old.dtype and parameter.stride() == old.stride()
    vector = np.empty(flat.count, np.float32)
    flat.store(vector)
    assert np.array_equal(vector[:12], before[0].detach().reshape(-1).numpy())
    flat.load(2 * vector)
    for parameter, old in zip(own, before):
        assert torch.equal(parameter, 2 * old)
    flat.load_gradients(vector)
    for parameter, old in zip(own, before):
        assert torch.equal(parameter.grad, old) and parameter.grad.dtype == old.dtype
    sums = np.ones(flat.count, np.float32)
    flat.add_gradients(sums, 3.0)
    # 1 + 3v may cancel, so what rounding leaves is measured against the addends.
    assert np.allclose(sums, 1 + 3 * vector, rtol=0, atol=1e-6 * (1 + 3 * np.abs(vector).max()))


OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, lr=0.1),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    lambda p: torch.optim.AdamW(p, lr=0.1),
    lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    lambda p: torch.optim.Rprop(p, lr=0.1),
    lambda p: torch.optim.Adadelta(p, lr=0.1),
    lambda p: torch.optim.Adagrad(p, lr=0.1),
    lambda p: torch.optim.NAdam(p, lr=0.1),
    lambda p: torch.optim.ASGD(p, lr=0.1),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_state_survives_its_vector(make):
    def steps(own, optimizer, count):
        for step in range(count):
            for number, parameter in enumerate(own):
                parameter.grad = torch.sin(parameter.detach() + step + number)
            optimizer.step()

    torch.manual_seed(1)
    own = parameters((3, 4), (5,))
    optimizer = make(own)
    state = OptimizerState(optimizer, own)
    assert not optimizer.state or all("momentum_buffer" not in kept for kept in optimizer.state.values())
    steps(own, optimizer, 3)
    vector = np.empty(state.count, np.float32)
    state.store(vector)
    other = [torch.nn.Parameter(parameter.detach().clone()) for parameter in own]
    resumed = make(other)
    restored = OptimizerState(resumed, other)
    assert restored.count == state.count
    restored.load(vector)
    steps(own, optimizer, 3)
    steps(other, resumed, 3)
    for left, right in zip(own, other):
        assert torch.equal(left, right)


def test_state_that_no_vector_holds_is_refused():
    class Odd(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for group in self.param_groups:
                for parameter in group["params"]:
                    self.state[parameter]["history"] = []

    own = parameters((2,))
    with pytest.raises(Refused, match="'history' as list"):
        OptimizerState(Odd(own, lr=0.1), own)


def test_chunks_cover_each_sample_once():
    rows = [(range(0, 50), 0, [1.0]), (range(60, 61), 1, [2.0]), (range(70, 70), 0, [1.0]), (range(80, 93), 0, [1.0])]
    work = FakeWork(np.zeros(3), rows)
    for chunks in (whole_groups(work, Pace(7)), by_partition(work, 7), by_partition(work, None),
                   whole_groups(work, Pace(None))):
        chunks = list(chunks)
        assert sorted(np.concatenate([chunk.positions for chunk in chunks])) == sorted(work.samples)
        assert all(chunk.weights == ((2.0,) if 60 in chunk.positions else (1.0,)) for chunk in chunks)
    assert [len(piece) for piece in cut(np.arange(10), 4)] == [3, 3, 4]
    seeds = [chunk.draws for chunk in by_partition(work, 20)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("samples, partitions, sizes", [(10, 4, [3, 3, 2, 2]), (3, 3, [1, 1, 1]), (7, 1, [7])])
def test_parts_of_a_batch_follow_from_the_cut_of_the_data_set(samples, partitions, sizes):
    assert [len(part) for part in by_parts(np.arange(samples), samples, partitions)] == sizes
    batch = np.arange(0, samples, 3)
    parts = by_parts(batch, samples, partitions)
    ends = np.cumsum(sizes)
    assert np.array_equal(np.concatenate(parts), batch)
    assert all(part.size == 0 or end - size <= part[0] <= part[-1] < end
               for part, size, end in zip(parts, sizes, ends))


def test_chunks_take_about_as_long_as_they_should():
    pace = Pace(None)
    assert pace.samples == 32
    for _ in range(50):
        pace.took(32, 32 * 0.0001)
    assert 400 < pace.samples < 600
    pace.took(10, 10.0)
    assert pace.samples == 32
    assert Pace(5).samples == 5


def test_seeds():
    numbers = [(seed, step, partition) for seed in range(8) for step in range(8) for partition in range(8)]
    assert len({mixed(*number) for number in numbers}) == 512
    draws = Draws(set())
    assert not draws.drawn()
    torch.rand(1)
    assert draws.drawn()
    seed_all(1, 2)
    first = torch.rand(2), np.random.rand()
    seed_all(1, 2)
    assert torch.equal(first[0], torch.rand(2)) and first[1] == np.random.rand()
