# SPDX-License-Identifier: Apache-2.0
"""Learning rates as functions of the step, where the optimizer runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .errors import Refused

Schedule = Callable[[int], float]


class Rates:
    """Sets the rates of an optimizer's groups before each update.

    A schedule is a function that returns a factor of each group's rate for a step (from 0), or a scheduler of
    torch.optim.lr_scheduler, whose step() is called after each update.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, schedule: Schedule | Any | None) -> None:
        self._optimizer = optimizer
        self._function: Schedule | None = None
        self._scheduler: Any = None
        self._stepped = 0
        if schedule is None:
            return
        if hasattr(schedule, "step"):
            if getattr(schedule, "optimizer", optimizer) is not optimizer:
                raise Refused("schedule: the scheduler belongs to another optimizer than the loader")
            self._scheduler = schedule
        elif callable(schedule):
            self._function = schedule
            self._initial = [group["lr"] for group in optimizer.param_groups]
        else:
            raise TypeError("schedule: a function of the step or a scheduler of torch.optim.lr_scheduler is needed, "
                            f"not {type(schedule).__name__}")

    @property
    def constant(self) -> bool:
        """No schedule was given."""
        return self._function is None and self._scheduler is None

    def before_update(self, step: int) -> None:
        while self._scheduler is not None and self._stepped < step:  # Steps of an earlier run that this one resumed.
            self._scheduler.step()
            self._stepped += 1
        if self._function is not None:
            factor = float(self._function(step))
            for group, rate in zip(self._optimizer.param_groups, self._initial):
                group["lr"] = rate * factor

    def after_update(self, step: int) -> None:
        if self._scheduler is not None:
            self._scheduler.step()
            self._stepped = step + 1
