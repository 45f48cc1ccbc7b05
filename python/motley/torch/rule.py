# SPDX-License-Identifier: Apache-2.0
"""SGD, Adam and AdamW as optimizers of the library, which updates each part of the vector where it is held."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ..step import Group
from ..trainer import FloatArray
from .errors import Refused
from .flat import over, view_of

#: Options of a job that are numbers of its optimizer.
NUMBERS = frozenset({"optimizer", "learning_rate", "l2", "momentum", "beta1", "beta2", "epsilon", "weight_decay",
                     "clip"})


@dataclasses.dataclass(frozen=True)
class Rule:
    """What the library calls the optimizer."""

    options: dict[str, Any]  #: Of the job.
    state: tuple[str, ...]  #: What the optimizer keeps of each parameter, in the order of the library's vectors.
    counts: bool  #: It keeps the number of updates as well.
    decoupled: bool  #: weight_decay is apart from the gradient.


def rule_of(optimizer: torch.optim.Optimizer, schedule: Any, options: Mapping[str, Any]) -> Rule | str:
    """The library's name of an optimizer of PyTorch, or why it has none."""
    kind, groups = type(optimizer), optimizer.param_groups
    if kind not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        return f"the optimizer is {kind.__name__}, and not exactly SGD, Adam or AdamW of torch.optim"
    given = sorted(NUMBERS & options.keys())
    if given:
        return f"the option {given[0]} is given beside the optimizer"
    if any(optimizer.state.values()):
        return "the optimizer has a state already"
    if _has_hooks(optimizer):
        return "the optimizer's step() is wrapped or has hooks"
    if _cycles_momentum(schedule):
        return "the schedule changes the momentum"
    if any(parameter.dtype != torch.float32 for parameter in _trained(groups)):
        return "some parameters are not float32"
    for name in ("maximize", "amsgrad", "differentiable"):
        if any(group.get(name) for group in groups):
            return f"a group has {name}=True"
    return _sgd(groups) if kind is torch.optim.SGD else _adam(groups, kind is torch.optim.AdamW)


def _trained(groups: Iterable[dict[str, Any]]) -> list[torch.nn.Parameter]:
    return [parameter for group in groups for parameter in group["params"] if parameter.requires_grad]


def _has_hooks(optimizer: torch.optim.Optimizer) -> bool:
    hooks = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")  # Since PyTorch 2.0.
    of_all = ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")
    module = sys.modules[torch.optim.Optimizer.__module__]
    if any(getattr(optimizer, name, None) for name in hooks) or any(getattr(module, name, None) for name in of_all):
        return True
    step = optimizer.__dict__.get("step")  # Schedulers, and this package, wrap it to count its calls.
    return step is not None and getattr(step, "__wrapped__", None) is not type(optimizer).step


def _cycles_momentum(schedule: Any) -> bool:
    parts = getattr(schedule, "_schedulers", ())
    return bool(getattr(schedule, "cycle_momentum", False)) or any(_cycles_momentum(part) for part in parts)


def _same(groups: list[dict[str, Any]], name: str) -> bool:
    return all(group.get(name) == groups[0].get(name) for group in groups)


def _sgd(groups: list[dict[str, Any]]) -> Rule | str:
    for name in ("momentum", "nesterov"):
        if not _same(groups, name):
            return f"the groups differ in {name}"
    momentum, nesterov = groups[0]["momentum"], groups[0]["nesterov"]
    if momentum == 0:
        return Rule({"optimizer": "sgd"}, (), counts=False, decoupled=False)
    if any(group["dampening"] != 0 for group in groups):
        return "a group has a dampening"
    if not 0 < momentum < 1:
        return f"the momentum is {momentum}"
    return Rule({"optimizer": "nag" if nesterov else "momentum", "momentum": float(momentum)}, ("momentum_buffer",),
                counts=False, decoupled=False)


def _adam(groups: list[dict[str, Any]], decoupled: bool) -> Rule | str:
    for name in ("betas", "eps"):
        if not _same(groups, name):
            return f"the groups differ in {name}"
    if any(group.get("decoupled_weight_decay", decoupled) != decoupled for group in groups):
        return "a group has decoupled_weight_decay=True"
    beta1, beta2, epsilon = (float(number) for number in (*groups[0]["betas"], groups[0]["eps"]))
    if not (0 < beta1 < 1 and 0 < beta2 < 1 and epsilon > 0):
        return f"betas and eps are {beta1}, {beta2} and {epsilon}"
    options = {"optimizer": "adamw" if decoupled else "adam", "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return Rule(options, ("exp_avg", "exp_avg_sq"), counts=True, decoupled=decoupled)


def _mark(name: str, value: Any) -> int:
    if value is None:  # SGD keeps no momentum of 0.
        return 0
    bits = torch.as_tensor(value, dtype=torch.float32).view(torch.int32)
    return len(name) * (int(bits.sum()) + 1)


class Groups:
    """The groups of an optimizer as those of the library, and its state."""

    def __init__(self, optimizer: torch.optim.Optimizer, rule: Rule) -> None:
        self._optimizer, self._rule = optimizer, rule
        self._fixed = self._numbers()
        self._parameters = _trained(optimizer.param_groups)

    def _numbers(self) -> list[dict[str, Any]]:
        """What a job cannot change."""
        names = ("weight_decay", "momentum", "dampening", "nesterov", "betas", "eps", "maximize", "amsgrad")
        return [{name: group[name] for name in names if name in group} | {"params": len(group["params"])}
                for group in self._optimizer.param_groups]

    def check(self) -> None:
        """Refuses other changes than those of the rates."""
        for number, (was, now) in enumerate(zip(self._fixed, self._numbers())):
            changed = [name for name in was if was[name] != now[name]]
            if changed:
                raise Refused(f"{changed[0]} of group {number} of the optimizer was changed after the loader was made, "
                              "which only its own step() would notice: give server_step=True to the loader")
        if _has_hooks(self._optimizer):
            raise Refused("the optimizer's step() was wrapped or got hooks after the loader was made, and nobody would "
                          "call them: give server_step=True to the loader")
        if len(self._fixed) != len(self._optimizer.param_groups):
            raise Refused("the optimizer got another group after the loader was made: make the loader later")

    def check_untouched(self) -> None:
        """Refuses a state that was loaded before the first update."""
        if any(self._optimizer.state.values()):
            raise Refused("the optimizer's state was loaded after the loader was made: make the loader later")

    def mark(self) -> int:
        """A number that almost surely is another one after any change of the optimizer's state."""
        return sum(_mark(name, value) for parameter in self._parameters
                   for name, value in self._optimizer.state.get(parameter, {}).items())

    def rates(self) -> list[float]:
        """The learning rate of each group, as it is now."""
        return [float(group["lr"]) for group in self._optimizer.param_groups]

    def of_job(self) -> list[Group]:
        """As motley.Job.set_groups takes them."""
        made, end = [], 0
        for group in self._optimizer.param_groups:
            end += sum(parameter.numel() for parameter in group["params"] if parameter.requires_grad)
            decay = float(group["weight_decay"])
            made.append(Group(end, float(group["lr"]), l2=0.0 if self._rule.decoupled else decay,
                              weight_decay=decay if self._rule.decoupled else 0.0))
        return made

    def load_state(self, vector: FloatArray, updates: int) -> None:
        """Gives the optimizer the state that its own step() would have left after so many updates."""
        source, at = over(vector), 0
        for name in self._rule.state:
            for parameter in self._parameters:
                found = view_of(source, at, parameter)
                kept = self._optimizer.state[parameter]
                if isinstance(kept.get(name), torch.Tensor):
                    kept[name].copy_(found)
                else:
                    kept[name] = found.to(device=parameter.device, copy=True)
                at += parameter.numel()
        if self._rule.counts:
            for group in self._optimizer.param_groups:
                on_device = group.get("capturable") or group.get("fused")
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        device = parameter.device if on_device else torch.device("cpu")
                        self._optimizer.state[parameter]["step"] = torch.tensor(float(updates), device=device)
