# SPDX-License-Identifier: Apache-2.0
"""One turn of the user's loop: from a chunk of samples to optimizer.step()."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import torch

from .errors import Refused


@dataclasses.dataclass
class Turn:
    """What the loop's body did with one chunk."""

    samples: int
    weight: float
    losses: list[torch.Tensor] = dataclasses.field(default_factory=list)
    stepped: bool = False
    drew: bool = False  #: Random numbers, if anybody looked.

    def loss(self) -> float:
        """The sum of the losses of this turn's backward() calls: a mean over the chunk."""
        return sum(float(loss) for loss in self.losses)

    def check(self) -> None:
        """Refuses a body that left something out: the gradient would lack these samples."""
        if not self.losses:
            raise Refused("the loop's body ended without backward(), so the gradient of the step would lack these "
                          f"{self.samples} samples: do not skip chunks")
        if not self.stepped:
            raise Refused("the loop's body ended without optimizer.step(): call it in every turn, and make batch_size "
                          "larger instead of accumulating gradients")


class OptimizerCalls:
    """Replaces step() and zero_grad() of one optimizer, and zero_grad() of the model, while a turn runs.

    Between turns the replaced methods do what they did before. Schedulers may wrap step() before or after this.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[], Any],
                 zero_grad: Callable[[], bool]) -> None:
        """`zero_grad` returns True if the gradients are to be cleared as usual."""
        self.active = False
        self.original_step = optimizer.step
        calls = self

        def replaced_step(optimizer: Any, closure: Any = None) -> Any:
            # Schedulers warn if they have not seen a step.
            optimizer._opt_called = True
            optimizer._step_count = getattr(optimizer, "_step_count", 0) + 1
            if not calls.active:
                return calls.original_step() if closure is None else calls.original_step(closure)
            if closure is not None:
                raise Refused("optimizer.step(closure) computes the loss again, and a step here has one gradient: call "
                              "backward() in the loop's body, and step() without a closure")
            return step()

        # Schedulers of PyTorch 1 and 2 need not wrap it again to count its calls.
        replaced_step.__wrapped__ = getattr(  # type: ignore[attr-defined]
            self.original_step, "__wrapped__", getattr(self.original_step, "__func__", None))
        replaced_step._with_counter = replaced_step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        optimizer.step = types.MethodType(replaced_step, optimizer)  # type: ignore[method-assign]
        for owner in (optimizer, model):
            self._replace_zero_grad(owner, zero_grad)

    def _replace_zero_grad(self, owner: Any, zero_grad: Callable[[], bool]) -> None:
        original, calls = owner.zero_grad, self

        def replaced(_owner: Any, *arguments: Any, **named: Any) -> None:
            if not calls.active or zero_grad():
                original(*arguments, **named)

        owner.zero_grad = types.MethodType(replaced, owner)
