# SPDX-License-Identifier: Apache-2.0
"""A process that trains alone: the reference for all others, with the same batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..step import batch_samples
from ..trainer import IndexArray
from .backward import BackwardCalls
from .checks import watch
from .loader import Loader, Settings
from .randomness import Draws, check_draws, seed_all
from .rates import Schedule
from .samples import Samples
from .turns import OptimizerCalls, Turn
from .work import by_parts, cut, within

Piece = tuple[IndexArray, tuple[int, ...]]  # Samples, and what seeds the random numbers beside the job's seed.


class PlainLoader(Loader):
    """Yields the whole batch of each step, or, with `chunk`, pieces of it. The user's optimizer applies the update.

    With `partitions`, a loop that draws random numbers gets the chunks that workers would get, with the same seeds.
    """

    def __init__(self, samples: Samples, model: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: Settings,
                 schedule: Schedule | Any | None) -> None:
        super().__init__(samples, model, optimizer, settings, schedule)
        self._turn: Turn | None = None
        self._last = True  # This turn's piece is the last of its step.
        self._pieces = 1
        # None: the first step shows whether the loop draws random numbers.
        self._draws: bool | None = settings.randomness if settings.partitions is not None else False
        self._done: list[Turn] = []  # Earlier turns of the same step.
        self._backward = BackwardCalls(self._caught)
        self._calls = OptimizerCalls(model, optimizer, self._stepped, lambda: not self._done)

    def weight(self, weight: float) -> None:
        if self._turn is not None:
            self._turn.weight = float(weight)

    def _epoch(self) -> Iterator[Any]:
        watches = watch(self.model)
        self._backward.install()
        try:
            for _ in range(self.step % len(self), len(self)):
                yield from self._step(self._batch())
        finally:
            self._backward.remove()
            self._calls.active, self._turn = False, None
            for found in watches:
                found.remove()

    def _batch(self) -> IndexArray:
        return batch_samples(self.step, samples=len(self._samples), batch=self.settings.batch_size,
                             seed=self.settings.seed)

    def _cut(self, positions: IndexArray) -> list[Piece]:
        chunk, partitions = self.settings.chunk, self.settings.partitions
        if self._draws is False or partitions is None:
            pieces = cut(positions, chunk or len(positions))
            return [(piece, (self.step, number)) for number, piece in enumerate(pieces)]
        return [piece for partition, own in enumerate(by_parts(positions, len(self._samples), partitions))
                for piece in within(own, self.step, partition, chunk)]

    def _step(self, positions: IndexArray) -> Iterator[Any]:
        pieces = self._cut(positions)
        self._done, self._pieces, drawn = [], len(pieces), False
        for number, (piece, seeds) in enumerate(pieces):
            batch = self._samples.load(piece, self.settings.seed, self.step)
            seed_all(self.settings.seed, *seeds, devices=self._devices)
            draws = Draws(self._devices) if self.settings.partitions is not None else None
            self._turn, self._last = Turn(len(piece), float(len(piece))), number + 1 == len(pieces)
            self._calls.active = True
            try:
                yield batch
            except GeneratorExit:  # The loop was left by break.
                if self._turn.stepped and self._last:
                    self._finish(self._turn)
                raise
            drawn = drawn or (draws is not None and draws.drawn())
            check_draws(drawn and self._draws is False)
            self._finish(self._turn)
        if self._draws is None:
            self._draws = drawn

    def _finish(self, turn: Turn) -> None:
        self._calls.active, self._turn = False, None
        turn.check()
        self._done.append(turn)
        if self._last:
            weight = sum(part.weight for part in self._done)
            loss = sum(part.weight * part.loss() for part in self._done)
            self.losses.append(loss / weight if weight > 0 else 0.0)
            self.step += 1

    def _caught(self, loss: torch.Tensor) -> float | None:
        if self._turn is None:
            return None
        self._turn.losses.append(loss.detach())
        return None if self._pieces == 1 else self._turn.weight

    def _stepped(self) -> Any:
        assert self._turn is not None
        self._turn.stepped = True
        if not self._last:
            return None
        if self._pieces > 1:
            weight = self._turn.weight + sum(part.weight for part in self._done)
            for group in self.optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None and weight > 0:
                        parameter.grad.div_(weight)
        self._calls.active = False  # The optimizer's own step() may be wrapped.
        return self._update(self._calls.original_step)
