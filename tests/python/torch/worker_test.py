# SPDX-License-Identifier: Apache-2.0
"""A worker's loader beside direct sums: what it adds for each row, and what it refuses."""

import copy
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from fakes import FakeWork
from loops import ROWS, SAMPLES, check, data, gradient, make, network, run, usual, vector

from motley.torch.errors import Refused
from motley.torch.flat import FlatParameters


@pytest.mark.parametrize("randomness", [True, False, None])
@pytest.mark.parametrize("chunk", [None, 7])
@pytest.mark.parametrize("rows", ROWS)
def test_sums(rows, chunk, randomness):
    model = network()
    works = [FakeWork(vector(model), ROWS[rows], step=step) for step in (0, 1, 2, 3)]
    loader, optimizer, job = make(works, model, chunk=chunk, randomness=randomness)
    run(loader, optimizer)
    for work in works:
        check(work, model)
        assert len(work.reported) > 3 or chunk is None
    assert job.parameter_count == len(works[0].parameters)


def test_parameters_follow_job_and_version():
    first, second = network(), network()
    with torch.no_grad():
        for parameter in second.parameters():
            parameter.mul_(-2)
    models = {(1, 0): first, (1, 1): second, (2, 1): first}
    works = [FakeWork(vector(model), ROWS["plain"], job=job, version=version)
             for (job, version), model in models.items()]
    run(*make(works, network())[:2])
    for work, model in zip(works, models.values()):
        check(work, model)


def test_epochs_end_where_work_of_the_next_begins():
    model = network()
    steps = [0, 1, 1, 2, 3, 4, 7]  # Three steps are an epoch; nothing came for this worker in step 5 and 6.
    works = [FakeWork(vector(model), ROWS["plain"], step=step) for step in steps]
    loader, optimizer, _ = make(works, model, chunk=SAMPLES)
    seen = []
    for epoch in range(5):
        for x, y in loader:
            seen.append((epoch, loader.step))
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert seen == [(0, 0), (0, 1), (0, 1), (0, 2), (1, 3), (1, 4), (2, 7)]


def test_work_that_nobody_needs_ends_early():
    model = network()
    works = [FakeWork(vector(model), ROWS["plain"], wanted=20), FakeWork(vector(model), ROWS["plain"])]
    run(*make(works, model, chunk=10)[:2])
    assert works[0].result == 1 and works[0].reported[-1] < len(works[0].samples)
    check(works[1], model)


def test_weights_of_tokens():
    model, works = network(), []
    works.append(FakeWork(vector(model), ROWS["real"]))
    loader, optimizer, _ = make(works, model, chunk=4)
    weights = torch.arange(SAMPLES) % 5
    x, y = data().tensors

    def body(chunk, labels):
        own = torch.stack([weights[(x == row).all(1).nonzero()[0, 0]] for row in chunk])
        loader.weight(int(own.sum()))
        optimizer.zero_grad()
        losses = F.cross_entropy(model(chunk), labels, reduction="none")
        ((own * losses).sum() / own.sum().clamp(min=1)).backward()
        optimizer.step()

    run(loader, optimizer, body)
    work = works[0]
    wanted = sum(run.weights[0] * int(weights[sample]) * gradient(model, [sample])[0]
                 for run in work.runs for sample in work.samples[run.first:run.first + run.count])
    assert np.abs(work.sums[0] - wanted).max() <= 1e-5
    assert [float(w) for w in work.weights] == [
        float(weights[list(work.samples[run.first:run.first + run.count])].sum()) for run in work.runs]


@pytest.mark.parametrize("clear", ["optimizer", "model", "none", "each", "not"])
def test_ways_to_clear_gradients(clear):
    model = network()
    work = FakeWork(vector(model), ROWS["real"])
    loader, optimizer, _ = make([work], model, chunk=4)

    def body(x, y):
        if clear == "optimizer":
            optimizer.zero_grad(set_to_none=False)
        elif clear == "model":
            model.zero_grad(set_to_none=False)
        elif clear == "none":
            model.zero_grad(set_to_none=True)
        elif clear == "each":
            for parameter in model.parameters():
                parameter.grad = None
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    run(loader, optimizer, body)
    check(work, model)


def inside(tensor, array):
    first = array.ctypes.data
    return first <= tensor.data_ptr() < first + array.nbytes


@pytest.mark.parametrize("rows", ["plain", "real"])
def test_gradients_are_views_of_the_sum(rows, monkeypatch):
    copies = []
    original = FlatParameters.add_gradients
    monkeypatch.setattr(FlatParameters, "add_gradients", lambda *words: (copies.append(1), original(*words)))
    model = network()
    works = [FakeWork(vector(model), ROWS[rows], step=step, wanted=20 if step == 2 else None) for step in range(4)]
    loader, optimizer, _ = make(works, model, chunk=8)

    def body(x, y):
        usual(model, optimizer, x, y)
        if loader.step > 0:  # The first work shows that the loop keeps no gradient.
            assert all(inside(parameter.grad, works[loader.step].sums[0]) for parameter in model.parameters())

    run(loader, optimizer, body)
    assert len(copies) == 1 and all(parameter.grad is None for parameter in model.parameters())
    for number in (0, 1, 3):
        check(works[number], model)
    assert works[2].result == 1


@pytest.mark.parametrize("first", [0, 2])
def test_gradients_that_a_loop_keeps_have_memory_of_their_own(first):
    model, kept, values, seen = network(), [], [], []
    works = [FakeWork(vector(model), ROWS["plain"], step=step) for step in range(5)]
    loader, optimizer, _ = make(works, model, chunk=SAMPLES)

    def body(x, y):
        usual(model, optimizer, x, y)
        seen.append(inside(model[0].weight.grad, works[loader.step].sums[0]))
        if loader.step >= first:
            kept.append(model[0].weight.grad.view(-1))
            values.append(kept[-1].clone())

    run(loader, optimizer, body)
    for gradient, value in zip(kept, values):
        assert not any(inside(gradient, work.sums[0]) for work in works)
        assert torch.equal(gradient, value)
    assert seen == ([False] * 5 if first == 0 else [False, True, True, False, False])
    for work in works:
        check(work, model)


def test_two_losses_in_a_turn():
    model = network()
    work = FakeWork(vector(model), ROWS["real"])
    loader, optimizer, _ = make([work], model, chunk=4)

    def body(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        (0.25 * loss).backward(retain_graph=True)
        torch.autograd.backward([loss], [torch.tensor(0.75)])
        optimizer.step()

    run(loader, optimizer, body)
    check(work, model)


def refused(body, match, *, model=None, **options):
    model = model or network()
    loader, optimizer, job = make([FakeWork(vector(model), ROWS["plain"])], model, **options)
    with pytest.raises(Refused, match=match):
        run(loader, optimizer, lambda x, y: body(model, optimizer, x, y))
    return loader, job


def test_refusals_name_what_to_do():
    refused(lambda model, optimizer, x, y: usual(
        model, optimizer, x, y, lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)), "clip_norm=")
    refused(lambda model, optimizer, x, y: F.cross_entropy(model(x), y).backward(), "without optimizer.step")
    refused(lambda model, optimizer, x, y: None, "without backward")
    refused(lambda model, optimizer, x, y: F.cross_entropy(model(x), y, reduction="none").backward(), "take the mean")
    refused(lambda model, optimizer, x, y: F.cross_entropy(model(x), y).backward(create_graph=True), "autograd.grad")
    refused(lambda model, optimizer, x, y: optimizer.step(lambda: 0), "closure")
    refused(lambda model, optimizer, x, y: usual(model, optimizer, x + 0 * torch.rand(1), y), "randomness=True",
            chunk=4)


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="this PyTorch scales gradients on CUDA alone")
def test_scaled_gradients_are_refused():
    def body(model, optimizer, x, y):
        scaler = torch.amp.GradScaler("cpu")
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x), y)).backward()
        scaler.step(optimizer)
    refused(body, "autocast with bfloat16")


def test_batch_norm_is_refused_in_training_mode_alone():
    model = network(torch.nn.BatchNorm1d(16))
    refused(usual, "1d.* is in training mode", model=model)
    model[2].eval()
    work = FakeWork(vector(model), ROWS["plain"])
    run(*make([work], model)[:2])
    check(work, model)

    def thaw(model, optimizer, x, y):
        model.train()
        usual(model, optimizer, x, y)
    refused(thaw, "GroupNorm", model=model)


@pytest.mark.parametrize("make_optimizer, match", [
    (lambda model: torch.optim.LBFGS(model.parameters()), "LBFGS"),
    (lambda model: torch.optim.SparseAdam(list(model.parameters())), "SparseAdam"),
])
def test_optimizers_that_cannot_be(make_optimizer, match):
    model = network()
    with pytest.raises(Refused, match=match):
        make([], model, optimizer=make_optimizer(model))


def test_parameters_that_cannot_be():
    for model, match in ((network().double(), "float64"), (network().half(), "float16"),
                         (torch.nn.LazyLinear(3), "no shape yet")):
        with pytest.raises(Refused, match=match):
            make([], model)
    model = network()
    for parameter in model.parameters():
        parameter.requires_grad = False
    with pytest.raises(Refused, match="no parameter"):
        make([], model)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    model[1].weight.data = model[0].weight.data
    with pytest.raises(Refused, match="same memory"):
        make([], model)
    embedding = torch.nn.Embedding(4, 8, sparse=True)
    loader, _, _ = make([], embedding)
    with pytest.raises(Refused, match="sparse=False"):
        iter(loader)


def test_shared_and_frozen_parameters():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.Linear(8, 3))
    model[2].weight = model[0].weight
    model[3].weight.requires_grad = False
    trained = [p for p in model.parameters() if p.requires_grad]
    values = torch.cat([p.detach().reshape(-1) for p in trained]).numpy()
    work = FakeWork(values, ROWS["plain"])
    loader, optimizer, _ = make([work], model)
    run(loader, optimizer)
    copied = copy.deepcopy(model).double()
    copied.zero_grad()
    x, y = data().tensors
    F.cross_entropy(copied(x[work.samples].double()), y[work.samples], reduction="sum").backward()
    wanted = torch.cat([p.grad.reshape(-1) for p in copied.parameters() if p.requires_grad]).numpy()
    assert np.abs(work.sums[0] - wanted).max() <= 1e-5


def test_bfloat16_parameters_and_autocast():
    model = network().bfloat16()
    work = FakeWork(vector(model), ROWS["real"])
    loader, optimizer, _ = make([work], model, chunk=6)

    def check_types():
        assert all(p.dtype == torch.bfloat16 and p.grad.dtype == torch.bfloat16 for p in model.parameters())

    run(loader, optimizer, lambda x, y: usual(lambda x: model(x.bfloat16()), optimizer, x, y, check_types))
    check(work, model, error=0.02)
    model = network()
    work = FakeWork(vector(model), ROWS["real"])

    def body(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    loader, optimizer, _ = make([work], model, chunk=6)
    run(loader, optimizer, body)
    check(work, model, error=0.02)


def test_losses_of_16_bits_are_not_multiplied():
    """A weight of 129 would be 128 in bfloat16."""
    model = torch.nn.Linear(8, 1)
    work = FakeWork(vector(model), [(range(43), 0, [3.0]), (range(43, 86), 0, [3.0])])
    loader, optimizer, _ = make([work], model)

    def body(x, y):
        optimizer.zero_grad()
        model(x).mean().bfloat16().backward()
        optimizer.step()

    run(loader, optimizer, body)
    x = data().tensors[0][:86]
    assert np.allclose(work.sums[0], np.append(3 * x.sum(0).numpy(), 3 * 86), rtol=1e-5)


def test_an_exception_leaves_the_loop_and_hands_the_work_back():
    model = network()
    work = FakeWork(vector(model), ROWS["plain"])
    loader, optimizer, job = make([work], model)
    with pytest.raises(ZeroDivisionError):
        run(loader, optimizer, lambda x, y: 1 / 0)
    loader.close()
    loader.close()
    assert job.stopped and work.result == 11


def test_a_loop_that_was_left_goes_on():
    model = network()
    works = [FakeWork(vector(model), ROWS["plain"], step=step) for step in (0, 1)]
    loader, optimizer, _ = make(works, model, chunk=4)
    for x, y in loader:
        usual(model, optimizer, x, y)
        break
    run(loader, optimizer)
    for work in works:
        check(work, model)


def test_schedulers_may_wrap_the_optimizer_before_and_after():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    work = FakeWork(vector(model), ROWS["plain"])
    loader, optimizer, _ = make([work], model, optimizer=optimizer)
    second = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(loader, optimizer)
        first.step()
        second.step()
    check(work, model)


class Interrupted(FakeWork):
    """A signal ends the program just before or just after the work is handed back."""

    def __init__(self, *arguments, before):
        super().__init__(*arguments)
        self._before, self._interrupted = before, False

    def end(self, status=0):
        if self._interrupted and self.result is not None:  # As motley.Step.
            return
        first, self._interrupted = not self._interrupted, True
        if not (first and self._before):
            super().end(status)
        if first:
            raise SystemExit(143)


@pytest.mark.parametrize("before, result", [(True, 11), (False, 0)])
def test_a_signal_while_work_is_handed_back_ends_the_program(before, result):
    model = network()
    work = Interrupted(vector(model), ROWS["plain"], before=before)
    loader, optimizer, _ = make([work], model)
    with pytest.raises(SystemExit):
        run(loader, optimizer)
    assert work.result == result
    assert all(parameter.grad is None for parameter in model.parameters())
