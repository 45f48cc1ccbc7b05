# SPDX-License-Identifier: Apache-2.0
"""A worker: yields its chunks of each step's batch, and adds up their gradients."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import torch

from ..job import Job
from ..step import Step, StepKind
from ..trainer import FloatArray
from .backward import BackwardCalls
from .checks import FEWEST_TO_HALVE, MOST_TRIALS, check_mean, watch
from .ending import leave
from .errors import Refused
from .flat import FlatParameters, Loan, trained_parameters
from .loader import Loader, Settings
from .randomness import Draws, check_draws, seed_all
from .rates import Schedule
from .samples import Samples
from .turns import OptimizerCalls, Turn
from .work import Chunk, Pace, by_partition, halves, whole_groups


class GradientSum:
    """Adds the gradients of chunks to the sums of a piece of work.

    With one vector, backward() itself multiplies by the chunk's weight, and p.grad gathers all chunks of a step.
    If the vector travels as it is, p.grad are views of the sum itself. Otherwise each chunk's gradient is added to the
    sums after its turn.
    """

    def __init__(self, flat: FlatParameters) -> None:
        self._flat = flat
        self._work: Any = None
        self._gathers = False
        self._may_gather = flat.all_float32
        # The sum's memory is gone with the work, so p.grad are views of it only in loops that keep no gradient. None:
        # the first work, which has memory of its own, shows it. Of a gradient that is kept later, a copy is made.
        self._may_place: bool | None = None if flat.travels_as_it_is else False
        self._place: FloatArray | None = None  # Where p.grad are placed.
        self._loan: Loan | None = None
        self._changes = 0

    def begin(self, work: Step) -> None:
        self._work = work
        self._gathers = self._may_gather and len(work.sums) == 1
        if self._gathers and self._may_place is not False:
            self._place = work.sums[0] if self._may_place else np.zeros_like(work.sums[0])
            self._loan = self._flat.place_gradients(self._place)
        else:
            self._flat.own_gradients()
        self._changes = self._flat.changes()

    def end(self) -> None:
        """Called before the work is handed back, whatever became of it."""
        self._work = self._place = None
        self._flat.drop_gradients()
        loan, self._loan = self._loan, None
        if loan is not None:
            kept = loan.kept()
            if kept and self._may_place:  # Otherwise the memory is that of the gradients alone.
                loan.copy()
            self._may_place = not kept

    def caught(self, chunk: Chunk, weight: float, loss: torch.Tensor) -> float | None:
        """Called before backward(). Returns the factor of its gradient."""
        if self._flat.changes() != self._changes:
            raise Refused("the gradients were changed in the loop's body before backward(): leave that to "
                          "optimizer.zero_grad()")
        if self._gathers and loss.dtype not in (torch.float32, torch.float64):
            # A weight would be rounded in such a type.
            self.finish()
            self._flat.own_gradients()
            self._may_gather = self._gathers = False
        return weight * chunk.weights[0] if self._gathers else None

    def passed(self) -> None:
        """Called after backward()."""
        self._changes = self._flat.changes()

    def stepped(self) -> None:
        """Called by optimizer.step()."""
        if self._flat.changes() != self._changes:
            raise Refused("the gradients were changed between backward() and optimizer.step(), where they are those of "
                          "a part of the batch: for clipping, give clip_norm= to the loader")
        self._flat.bind_gradients()
        self._changes = self._flat.changes()

    def finish_chunk(self, chunk: Chunk, weight: float) -> None:
        if self._gathers:
            return
        for buffer, own in zip(self._work.sums, chunk.weights):
            self._flat.add_gradients(buffer, weight * own)
        self._flat.clear_gradients()
        self._changes = self._flat.changes()

    def finish(self) -> None:
        """Makes the sums whole."""
        if self._gathers and self._place is not self._work.sums[0]:
            self._flat.add_gradients(self._work.sums[0], 1.0)


class WorkerLoader(Loader):
    """Yields chunks of whatever the job gives this worker, until the epoch or the job ends."""

    first = False

    def __init__(self, samples: Samples, model: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: Settings,
                 schedule: Schedule | Any | None, job: Job) -> None:
        super().__init__(samples, model, optimizer, settings, schedule)
        self._flat = FlatParameters(trained_parameters(model, optimizer))
        self._sum = GradientSum(self._flat)
        self._job = job
        self._loaded: tuple[int, int] | None = None  # Job and version of the module's parameters.
        self._work: Step | None = None  # The work that is out, begun or not.
        self._turns: Iterator[Any] | None = None  # Those of this work that are left.
        self._started = self._ended = self._closed = False
        self._chunk: Chunk | None = None
        self._turn: Turn | None = None
        self._pace = Pace(settings.chunk)
        # None: the first work shows whether the loop draws random numbers.
        self._draws: bool | None = settings.randomness
        self._trials = MOST_TRIALS if settings.check_loss else 0  # That are left.
        self._backward = BackwardCalls(self._caught, self._passed)
        self._calls = OptimizerCalls(model, optimizer, self._stepped, lambda: False)

    @property
    def job(self) -> Job:
        return self._job

    def weight(self, weight: float) -> None:
        if self._turn is None:
            return
        if self._turn.losses:
            raise Refused("loader.weight() must be called before backward()")
        if not 0 <= weight < float("inf"):
            raise ValueError(f"loader.weight({weight}): a weight must be finite and not negative")
        self._turn.weight = float(weight)

    def _epoch(self) -> Iterator[Any]:
        if not self._started:
            self._started = True
            self._job.set_loop(self._flat.count)
            self._job.start()
        self._flat.check()
        watches = watch(self.model)
        self._backward.install()
        epoch: int | None = None
        try:
            while True:
                if self._turns is None:
                    work = self._take(epoch)
                    if work is None:
                        return
                    epoch = work.step // len(self)
                    self._turns = self._turns_of(work)
                for batch in self._turns:
                    self._calls.active = True
                    yield batch
                    self._calls.active = False
                self._turns = None
        finally:
            self._calls.active = False
            self._backward.remove()
            for found in watches:
                found.remove()

    def _take(self, epoch: int | None) -> Step | None:
        """The next work of this epoch or an earlier one (None: of any); None: there is none."""
        if self._ended:
            return None
        if self._work is None:
            self._work = self._job.begin()
            assert self._work is not None
        if self._work.kind == StepKind.END:
            self._work, self._ended = None, True
            self._job.wait()
            return None
        return self._work if epoch is None or self._work.step // len(self) <= epoch else None

    def _turns_of(self, work: Step) -> Iterator[Any]:
        try:
            yield from self._chunks_of(work)
        except GeneratorExit:
            raise
        except BaseException:  # Its sums hold a part of the samples, so nobody can go on with it.
            self._work = None
            self._sum.end()
            work.fail()  # Nothing, if a signal came when it was just handed back.
            raise

    def _chunks_of(self, work: Step) -> Iterator[Any]:
        self.step = work.step
        if (work.job, work.version) != self._loaded:
            self._flat.load(work.parameters)
            self._loaded = work.job, work.version
        for number in range(len(work.runs)):
            work.weights[number] = 0.0
        self._sum.begin(work)
        done, drawn = 0, False
        whole = self._draws is False
        for chunk in whole_groups(work, self._pace) if whole else by_partition(work, self.settings.chunk):
            trial = yield from self._try(work, chunk)
            began, turns = time.monotonic(), []
            for part in [chunk] if trial is None else halves(chunk):
                turns.append((yield from self._turn_of(work, part)))
                drawn = drawn or turns[-1].drew
            if trial is not None:
                self._trials = 0 if check_mean(trial, turns) else self._trials - 1
            done += len(chunk.positions)
            if whole:
                self._pace.took(len(chunk.positions), time.monotonic() - began)
                check_draws(drawn)
            if done < len(work.samples) and not work.partial(done):
                self._release().cancel()
                return
        if self._draws is None and done > 0:
            self._draws = drawn
        self._sum.finish()
        self._release().end()

    def _release(self) -> Step:
        """The work, which the caller hands back: its memory must not be used any more."""
        work, self._work = self._work, None
        assert work is not None
        self._sum.end()
        return work

    def _try(self, work: Step, chunk: Chunk) -> Generator[Any, None, Turn | None]:
        """Shows the loop one chunk that does not count, before its halves. None: there is nothing to compare."""
        if self._trials == 0 or self._draws is True or len(chunk.positions) < FEWEST_TO_HALVE:
            return None
        nothing = dataclasses.replace(chunk, weights=(0.0,) * len(chunk.weights))
        before = self._buffer_changes()
        trial = yield from self._turn_of(work, nothing, counts=False)
        if trial.drew or self._buffer_changes() != before:  # The halves would have other losses anyway.
            self._trials = 0
            return None
        return trial

    def _buffer_changes(self) -> int:
        return sum(buffer._version for buffer in self.model.buffers())

    def _turn_of(self, work: Step, chunk: Chunk, counts: bool = True) -> Generator[Any, None, Turn]:
        """One turn of the loop."""
        batch = self._samples.load(chunk.positions, work.seed, work.step)
        if chunk.draws is not None:
            seed_all(work.seed, *chunk.draws, devices=self._devices)
        turn = Turn(len(chunk.positions), float(len(chunk.positions)))
        self._chunk, self._turn = chunk, turn
        draws = None if self._draws is True else Draws(self._devices)
        yield batch
        self._chunk = self._turn = None
        turn.drew = draws is not None and draws.drawn()
        turn.check()
        self._sum.finish_chunk(chunk, turn.weight)
        if counts:
            work.weights[chunk.run] += turn.weight
            work.losses[chunk.run] += turn.weight * turn.loss()
        return turn

    def _caught(self, loss: torch.Tensor) -> float | None:
        if self._turn is None or self._chunk is None:
            return None
        self._turn.losses.append(loss.detach())
        return self._sum.caught(self._chunk, self._turn.weight, loss)

    def _passed(self) -> None:
        if self._turn is not None:
            self._sum.passed()

    def _stepped(self) -> None:
        if self._turn is not None:
            self._turn.stepped = True
            self._sum.stepped()

    def close(self) -> None:
        """Leaves the job. What this worker has not finished goes to others."""
        if self._closed or not self._started or self._ended:
            return
        self._closed = True
        self._job.stop()
        if self._work is not None:
            self._release().fail()
        leave(self._job)
