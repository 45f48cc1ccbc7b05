# SPDX-License-Identifier: Apache-2.0
"""A plain process beside a hand-written loop of PyTorch over the same batches."""

import copy
import math

import motley
import pytest
import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import motley.torch

SAMPLES, BATCH = 100, 24  # The last of the five steps of an epoch has 4 samples.


def data():
    draw = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(SAMPLES, 8, generator=draw), torch.randint(0, 3, (SAMPLES,), generator=draw))


def network(*extra):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), *extra, torch.nn.Linear(16, 3))


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, weight_decay=0.01),
    "nesterov": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
}


def loop(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def by_hand(model, optimizer, epochs, *, before=lambda step: None, clip=None):
    losses, (x, y) = [], data().tensors
    for step in range(epochs * -(-SAMPLES // BATCH)):
        samples = motley.batch_samples(step, samples=SAMPLES, batch=BATCH, seed=5)
        before(step)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[samples]), y[samples])
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


def both(optimizer="nesterov", *, epochs=3, before=None, **options):
    """The losses of the loader and of the hand-written loop, and their models."""
    models = [network(), network()]
    made = [OPTIMIZERS[optimizer](model.parameters()) for model in models]
    loader = motley.torch.loader(data(), models[0], made[0], batch_size=BATCH, seed=5, **options)
    for _ in range(epochs):
        loop(models[0], made[0], loader)
    wanted = by_hand(models[1], made[1], epochs, clip=options.get("clip_norm"),
                     before=before(made[1]) if before else lambda step: None)
    return loader, wanted, models


def check(found, wanted, models, error=1e-6):
    assert len(found) == len(wanted)
    assert all(abs(own - other) <= error * abs(other) for own, other in zip(found, wanted))
    for own, other in zip(models[0].parameters(), models[1].parameters()):
        assert (own - other).abs().max() <= error * other.abs().max()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("chunk", [None, 7])
def test_equals_a_loop_by_hand(optimizer, chunk):
    loader, wanted, models = both(optimizer, chunk=chunk)
    check(loader.losses, wanted, models, 1e-6 if chunk is None else 1e-5)
    assert loader.first and len(loader) == 5 and loader.step == 15 and loader.epoch == 3
    assert loader.loss == loader.losses[-1]
    assert isinstance(loader, motley.torch.Loader) and loader.job is None
    loader.close()  # Nothing to do in a plain process.
    assert len(loader.losses) == 15


def test_gradients_are_clipped():
    loader, wanted, models = both(clip_norm=0.1)
    check(loader.losses, wanted, models)


def test_rates_follow_a_function_of_the_step():
    def rate(step):
        return math.cos(step / 10)

    def before(optimizer):
        def set_rate(step):
            optimizer.param_groups[0]["lr"] = 0.1 * rate(step)
        return set_rate
    loader, wanted, models = both(schedule=rate, before=before)
    check(loader.losses, wanted, models)


def test_rates_follow_a_scheduler_that_the_loader_steps():
    models = [network(), network()]
    made = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    schedulers = [torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=20) for optimizer in made]
    loader = motley.torch.loader(data(), models[0], made[0], batch_size=BATCH, seed=5, schedule=schedulers[0])
    for _ in range(3):
        loop(models[0], made[0], loader)
    wanted = by_hand(models[1], made[1], 3, before=lambda step: schedulers[1].step() if step else None)
    check(loader.losses, wanted, models)
    with pytest.raises(motley.torch.Refused, match="another optimizer"):
        motley.torch.loader(data(), models[0], made[0], batch_size=BATCH, schedule=schedulers[1])
    with pytest.raises(TypeError, match="schedule"):
        motley.torch.loader(data(), models[0], made[0], batch_size=BATCH, schedule=0.1)


def test_schedulers_of_epochs_stay_in_the_loop():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = motley.torch.loader(data(), model, optimizer, batch_size=BATCH)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(2):
        loop(model, optimizer, loader)
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.025


def test_weights_within_a_step():
    model = network()
    other = copy.deepcopy(model)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)]
    x, y = data().tensors
    lengths = torch.arange(SAMPLES) % 4
    pairs = TensorDataset(x, y, lengths)

    def mean(model, x, y, weights):
        return (weights * F.cross_entropy(model(x), y, reduction="none")).sum() / weights.sum().clamp(min=1)

    loader = motley.torch.loader(pairs, model, optimizers[0], batch_size=BATCH, seed=5, chunk=5)
    for x_part, y_part, own in loader:
        loader.weight(int(own.sum()))
        optimizers[0].zero_grad()
        mean(model, x_part, y_part, own).backward()
        optimizers[0].step()
    for step, found in enumerate(loader.losses):
        samples = motley.batch_samples(step, samples=SAMPLES, batch=BATCH, seed=5)
        loss = mean(other, x[samples], y[samples], lengths[samples])
        assert abs(loss.item() - found) <= 1e-5 * abs(loss.item())
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()


def test_dropout_is_the_same_again():
    losses = []
    for _ in range(2):
        model = network(torch.nn.Dropout(0.5))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = motley.torch.loader(data(), model, optimizer, batch_size=BATCH)
        torch.rand(5)
        loop(model, optimizer, loader)
        losses.append(loader.losses)
    assert losses[0] == losses[1]


def test_refusals():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = motley.torch.loader(data(), model, optimizer, batch_size=BATCH)
    with pytest.raises(motley.torch.Refused, match="without optimizer.step"):
        for x, y in loader:
            F.cross_entropy(model(x), y).backward()
    with pytest.raises(motley.torch.Refused, match="GroupNorm"):
        iter(motley.torch.loader(data(), network(torch.nn.BatchNorm1d(16)), optimizer, batch_size=BATCH))
    with pytest.raises(motley.torch.Refused, match="len"):
        motley.torch.loader(iter([]), model, optimizer, batch_size=BATCH)
    with pytest.raises(TypeError, match="there is no option 'tolerates'; did you mean 'tolerate'"):
        motley.torch.loader(data(), model, optimizer, batch_size=BATCH, tolerates=1)
    with pytest.raises(motley.InvalidArgument, match="repetition"):
        motley.torch.loader(data(), model, optimizer, batch_size=BATCH, code="repeat")
    with pytest.raises(ValueError, match="batch_size"):
        motley.torch.loader(data(), model, optimizer, batch_size=0)


def test_train_is_the_loop():
    models = [network(), network()]
    made = [OPTIMIZERS["adam"](model.parameters()) for model in models]
    run = motley.torch.train(models[0], lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]), data(),
                             optimizer=made[0], batch_size=BATCH, epochs=2, seed=5)
    check(run.losses, by_hand(models[1], made[1], 2), models)


def test_a_loop_that_was_left_goes_on():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = motley.torch.loader(data(), model, optimizer, batch_size=BATCH)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        break
    loop(model, optimizer, loader)
    assert loader.step == 5 and len(loader.losses) == 5
