# SPDX-License-Identifier: Apache-2.0
"""What an optimizer keeps between updates, as one vector of float32 for checkpoints."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import torch

from ..trainer import FloatArray
from .errors import Refused
from .flat import over


@dataclasses.dataclass(frozen=True)
class Kept:
    """One thing that the optimizer keeps for a parameter: a tensor, or a number of Python's."""

    key: str
    number: type | None  #: None: a tensor.
    shape: torch.Size = torch.Size()
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")

    @property
    def count(self) -> int:
        return math.prod(self.shape)


class OptimizerState:
    """Momenta, step counts and the like of an optimizer's parameters, in a fixed order.

    A trial update of a copy of the optimizer shows what there is. For this moment the parameters and their state take
    up memory twice.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, parameters: list[torch.nn.Parameter]) -> None:
        self._optimizer = optimizer
        self._parameters = parameters
        trial, copies = copy.deepcopy((optimizer, parameters))
        for parameter in copies:
            parameter.grad = torch.zeros_like(parameter)
        type(trial).step(trial)
        self._kept = [[_kept(key, value) for key, value in sorted(trial.state.get(parameter, {}).items())
                       if value is not None] for parameter in copies]
        self.count = sum(kept.count for entries in self._kept for kept in entries)

    def store(self, vector: FloatArray) -> None:
        """Writes the state into `count` floats."""
        target, at = over(vector), 0
        for parameter, entries in zip(self._parameters, self._kept):
            for kept in entries:
                value = torch.as_tensor(self._optimizer.state[parameter][kept.key])
                target[at:at + kept.count].copy_(value.reshape(-1))
                at += kept.count

    def load(self, vector: FloatArray) -> None:
        """Sets the state from what store() wrote."""
        source, at = over(vector), 0
        for parameter, entries in zip(self._parameters, self._kept):
            for kept in entries:
                part = source[at:at + kept.count]
                self._optimizer.state[parameter][kept.key] = (
                    kept.number(part.item()) if kept.number is not None
                    else part.reshape(kept.shape).to(dtype=kept.dtype, device=kept.device, copy=True))
                at += kept.count


def _kept(key: str, value: Any) -> Kept:
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_complex():
        return Kept(key, None, value.shape, value.dtype, value.device)
    if isinstance(value, (bool, int, float)):
        return Kept(key, type(value))
    raise Refused(f"the optimizer keeps {key!r} as {type(value).__name__}, and a checkpoint holds real numbers alone: "
                  "train without checkpoint=")
