# SPDX-License-Identifier: Apache-2.0
"""Which optimizers the library has, and what it makes of them."""

import copy
import types

import motley
import numpy as np
import pytest
import torch

import motley.torch
from motley.torch.flat import FlatParameters, trained_parameters
from motley.torch.rule import Groups, Rule, rule_of


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))


def groups(model, **last):
    return [{"params": model[0].parameters()}, {"params": model[1].parameters(), **last}]


@pytest.mark.parametrize("made, wanted", [
    (lambda p: torch.optim.SGD(p, lr=0.1, dampening=0.5), {"optimizer": "sgd"}),
    (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, weight_decay=0.1), {"optimizer": "momentum", "momentum": 0.8}),
    (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True), {"optimizer": "nag", "momentum": 0.8}),
    (lambda p: torch.optim.Adam(p, betas=(0.8, 0.99), eps=1e-6),
     {"optimizer": "adam", "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6}),
    (lambda p: torch.optim.AdamW(p), {"optimizer": "adamw", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}),
])
def test_the_library_has_the_usual_optimizers(made, wanted):
    rule = rule_of(made(network().parameters()), None, {"checkpoint": "runs"})
    assert isinstance(rule, Rule) and rule.options == wanted
    motley.Job("server", sample_count=10, **rule.options).close()


class MySGD(torch.optim.SGD):
    pass


def with_state(parameters):
    parameters = list(parameters)
    made = torch.optim.Adam(parameters)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    made.step()
    return made


def wrapped(parameters):
    made = torch.optim.SGD(parameters, lr=0.1)
    original = made.step
    made.step = types.MethodType(lambda _self, closure=None: original(closure), made)
    return made


def wrapped_twice(parameters):
    made = wrapped(parameters)
    torch.optim.lr_scheduler.ExponentialLR(made, 0.5)
    return made


@pytest.mark.parametrize("made, why", [
    (lambda p: MySGD(p, lr=0.1), "the optimizer is MySGD"),
    (torch.optim.RMSprop, "the optimizer is RMSprop"),
    (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1), "dampening"),
    (lambda p: torch.optim.SGD(p, lr=0.1, maximize=True), "maximize=True"),
    (lambda p: torch.optim.Adam(p, amsgrad=True), "amsgrad=True"),
    (lambda p: torch.optim.Adam(p, betas=(0.0, 0.9)), "betas and eps are 0.0"),
    (with_state, "a state already"),
    (wrapped, "wrapped"),
    (wrapped_twice, "wrapped"),
])
def test_others_run_at_the_server(made, why):
    model = network()
    optimizer = made(model.parameters())
    assert why in rule_of(optimizer, None, {})
    data = torch.utils.data.TensorDataset(torch.zeros(10, 4))
    with pytest.raises(motley.torch.Refused, match="reduce='direct'.*Leave reduce out"):
        motley.torch.loader(data, model, optimizer, batch_size=5, reduce="direct")
    motley.torch.loader(data, model, optimizer, batch_size=5, reduce="star").close()


@pytest.mark.parametrize("made, why", [
    (lambda model: torch.optim.SGD(groups(model, momentum=0.5), lr=0.1), "differ in momentum"),
    (lambda model: torch.optim.SGD(groups(model, nesterov=True), lr=0.1, momentum=0.5), "differ in nesterov"),
    (lambda model: torch.optim.Adam(groups(model, betas=(0.5, 0.9))), "differ in betas"),
    (lambda model: torch.optim.AdamW(groups(model, eps=1e-3)), "differ in eps"),
    (lambda model: torch.optim.SGD(model.bfloat16().parameters(), lr=0.1), "not float32"),
])
def test_groups_that_the_library_lacks_run_at_the_server(made, why):
    assert why in rule_of(made(network()), None, {})


def test_schedules_and_options_that_the_library_lacks_run_at_the_server():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plain = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    assert isinstance(rule_of(optimizer, plain, {}), Rule)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=20)
    assert "changes the momentum" in rule_of(optimizer, cycle, {})
    both = torch.optim.lr_scheduler.SequentialLR(optimizer, [plain, cycle], [5])
    assert "changes the momentum" in rule_of(optimizer, both, {})
    assert "the option l2" in rule_of(optimizer, None, {"l2": 0.1})
    data = torch.utils.data.TensorDataset(torch.zeros(10, 4))
    with pytest.raises(motley.torch.Refused, match="server_step=True is given"):
        motley.torch.loader(data, model, optimizer, batch_size=5, reduce="direct", server_step=True)
    motley.torch.loader(data, model, optimizer, batch_size=5, reduce="direct").close()


def test_groups_are_ranges_of_the_vector():
    model = network()
    model[0].bias.requires_grad_(False)
    optimizer = torch.optim.AdamW(groups(model, lr=0.5, weight_decay=0.0), lr=0.1, weight_decay=0.3)
    rule = rule_of(optimizer, None, {})
    assert Groups(optimizer, rule).of_job() == [motley.Group(12, 0.1, weight_decay=0.3), motley.Group(20, 0.5)]
    optimizer = torch.optim.Adam(groups(model, lr=0.5), lr=0.1, weight_decay=0.3)
    found = Groups(optimizer, rule_of(optimizer, None, {})).of_job()
    assert found == [motley.Group(12, 0.1, l2=0.3), motley.Group(20, 0.5, l2=0.3)]


@pytest.mark.parametrize("made", [
    lambda model: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    lambda model: torch.optim.Adam(model.parameters(), lr=0.1),
])
def test_the_state_is_that_of_the_optimizers_own_step(made):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.Linear(3, 2)).to(memory_format=torch.channels_last)
    flat = FlatParameters(list(model.parameters()))
    other = copy.deepcopy(model)
    optimizers = [made(model), made(other)]
    rule = rule_of(optimizers[0], None, {})
    own = Groups(optimizers[0], rule)
    for updates in (1, 2):
        for parameter in other.parameters():
            parameter.grad = torch.rand_like(parameter)
        optimizers[1].step()
        vectors = []
        for name in rule.state:
            for mine, parameter in zip(model.parameters(), other.parameters()):
                mine.data.copy_(optimizers[1].state[parameter][name])
            vectors.append(np.empty(flat.count, np.float32))
            flat.store(vectors[-1])
        own.load_state(np.concatenate(vectors), updates)
        for mine, parameter in zip(model.parameters(), other.parameters()):
            wanted, found = optimizers[1].state[parameter], optimizers[0].state[mine]
            assert wanted.keys() == found.keys()
            for name, value in wanted.items():
                assert torch.equal(found[name], value) and found[name].dtype == value.dtype
    optimizers[0].load_state_dict(optimizers[1].state_dict())


def test_changes_that_nobody_would_notice_are_refused():
    model = network()
    optimizer = torch.optim.AdamW(groups(model))
    own = Groups(optimizer, rule_of(optimizer, None, {}))
    optimizer.param_groups[1]["lr"] = 7.0
    own.check()
    assert own.rates() == [0.001, 7.0]
    optimizer.param_groups[1]["weight_decay"] = 7.0
    with pytest.raises(motley.torch.Refused, match="weight_decay of group 1 .* server_step=True"):
        own.check()
    optimizer.param_groups[1]["weight_decay"] = 0.01
    own.check()
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(3))]})
    with pytest.raises(motley.torch.Refused, match="another group"):
        own.check()
    del optimizer.param_groups[2]
    optimizer.step = types.MethodType(lambda _self, closure=None: None, optimizer)
    with pytest.raises(motley.torch.Refused, match="wrapped or got hooks"):
        own.check()
    own.check_untouched()
    optimizer.state[model[0].weight]["step"] = torch.tensor(1.0)
    with pytest.raises(motley.torch.Refused, match="state was loaded"):
        own.check_untouched()


def test_hooks_run_at_the_server():
    module = pytest.importorskip("torch.optim.optimizer")
    if not hasattr(module, "register_optimizer_step_post_hook"):
        pytest.skip("PyTorch 1 has no hooks of optimizers")
    optimizer = torch.optim.SGD(network().parameters(), lr=0.1)
    own = Groups(optimizer, rule_of(optimizer, None, {}))
    for register in (module.register_optimizer_step_post_hook, optimizer.register_step_pre_hook):
        handle = register(lambda *_: None)
        assert "hooks" in rule_of(optimizer, None, {})
        with pytest.raises(motley.torch.Refused, match="hooks"):
            own.check()
        handle.remove()
    own.check()


def test_a_change_of_the_state_is_noticed():
    model = network()
    optimizer = with_state(model.parameters())
    own = Groups(optimizer, Rule({}, ("exp_avg", "exp_avg_sq"), counts=True, decoupled=False))
    before, kept = own.mark(), copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(kept)
    assert own.mark() == before
    optimizer.state[model[0].weight]["exp_avg"][1, 1] += 1e-6
    assert own.mark() != before
    optimizer.state.clear()
    assert own.mark() == 0
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    plain.step()  # It may keep a momentum of None.
    assert Groups(plain, Rule({}, (), counts=False, decoupled=False)).mark() == 0


def test_parameters_with_other_memory_are_refused():
    model = network()
    flat = FlatParameters(trained_parameters(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    flat.check()
    values = torch.nn.utils.parameters_to_vector(model.parameters())
    with torch.no_grad():
        model[1].bias.copy_(torch.ones(2))
    flat.check()
    torch.nn.utils.vector_to_parameters(values, model.parameters())
    with pytest.raises(motley.torch.Refused, match="parameter 0 .* other memory"):
        flat.check()


def test_a_second_loader_of_a_plain_process_has_the_same_rule():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    data = torch.utils.data.TensorDataset(torch.zeros(10, 4))
    for _ in range(2):
        motley.torch.loader(data, model, optimizer, batch_size=5, reduce="direct", clip_norm=float("inf")).close()
    assert isinstance(rule_of(optimizer, None, {}), Rule)


def test_a_change_of_the_parameters_is_noticed():
    model = network()
    flat = FlatParameters(trained_parameters(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    before = flat.mark()
    kept = model[1].weight.data.clone()
    model[1].weight.data[0, 0] += 1e-6
    assert flat.mark() != before
    model[1].weight.data.copy_(kept)
    assert flat.mark() == before
