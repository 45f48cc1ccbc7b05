# SPDX-License-Identifier: Apache-2.0
"""The check that a loss is a mean over samples: what it refuses, and what it lets pass."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from fakes import FakeWork
from loops import ROWS, check, make, network, run, vector

from motley.torch.errors import Refused

CODES = ["plain", "real", "complex", "parts"]


def trained(loss, *, model=None, rows="plain", steps=2, weigh=None, dtype=None, **options):
    """Runs the loop with the check, and returns its works."""
    model = model or network()
    works = [FakeWork(vector(model), ROWS[rows], step=step) for step in range(steps)]
    loader, optimizer, _ = make(works, model, check_loss=True, **options)

    def body(x, y):
        if weigh is not None:
            loader.weight(weigh(y))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is not None):
            value = loss(model(x), y)
        value.backward()
        optimizer.step()

    run(loader, optimizer, body)
    return model, works


def contrastive(scores, _labels):
    """Each sample is to be like itself, and unlike the others of the chunk."""
    scores = F.normalize(scores, dim=1)
    return F.cross_entropy(scores @ scores.T / 0.5, torch.arange(len(scores)))


@pytest.mark.parametrize("rows", CODES)
@pytest.mark.parametrize("randomness", [None, False])
def test_losses_across_samples_are_refused(rows, randomness):
    for loss in (contrastive, lambda scores, y: F.cross_entropy(scores, y, reduction="sum"),
                 lambda scores, y: -scores.std(0).sum()):
        with pytest.raises(Refused, match="it is no mean over samples.*check_loss=False"):
            trained(loss, rows=rows, randomness=randomness)


@pytest.mark.parametrize("rows", CODES)
@pytest.mark.parametrize("randomness", [None, False, True])
def test_means_pass_and_their_trial_does_not_count(rows, randomness):
    model, works = trained(F.cross_entropy, rows=rows, randomness=randomness)
    for work in works:
        check(work, model)


def tokens(y):
    return 1 + 3 * y


def token_mean(scores, y):
    own = tokens(y)
    return (own * F.cross_entropy(scores, y, reduction="none")).sum() / own.sum()


def test_means_over_something_else_need_their_weight():
    trained(token_mean, weigh=lambda y: int(tokens(y).sum()))
    with pytest.raises(Refused, match="loader.weight"):
        trained(lambda scores, y: 5 * token_mean(scores * 20, y))


MODELS = {
    "dropout": lambda: network(torch.nn.Dropout(0.5)),
    "batch norm in eval": lambda: network(torch.nn.BatchNorm1d(16).eval()),
    "power iteration": lambda: torch.nn.utils.spectral_norm(network()[0]),  # Each forward pass changes it.
    "relu": lambda: network(torch.nn.ReLU()),
}


@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_no_alarm_is_false(name, autocast):
    for seed in range(20):
        torch.manual_seed(seed)
        scale = 10.0 ** (seed % 4 - 2)
        for loss in (lambda scores, y: F.cross_entropy(scale * scores, y),
                     lambda scores, y: (scale * scores).square().mean() + 3,
                     lambda scores, y: (scale * scores).mean(),  # The terms nearly cancel.
                     lambda scores, y: scores.mean() * 0):
            model = MODELS[name]()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.1)
            trained(loss, model=model, randomness=None, dtype=autocast, steps=1)


def test_parameters_in_bfloat16_pass():
    model = network().bfloat16()
    works = [FakeWork(vector(model), ROWS["plain"])]
    loader, optimizer, _ = make(works, model, check_loss=True)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.bfloat16()), y).backward()
        optimizer.step()
    check(works[0], model, error=0.02)


def test_a_check_is_left_out_on_demand():
    model = network()
    work = FakeWork(vector(model), ROWS["plain"])
    loader, optimizer, _ = make([work], model, check_loss=False)
    for x, y in loader:
        optimizer.zero_grad()
        contrastive(model(x), y).backward()
        optimizer.step()
    assert work.result == 0 and np.isfinite(work.sums[0]).all()
