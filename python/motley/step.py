# SPDX-License-Identifier: Apache-2.0
"""A training loop that the caller owns: pieces of work, and the samples of a step."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import ffi, lib, new
from .errors import check
from .trainer import CALLBACK, CANCELLED, Batch, FloatArray, IndexArray, read_samples, view

DoubleArray = npt.NDArray[np.float64]


class StepKind(enum.IntEnum):
    """Kinds of work, and what each asks for (motley/step.h)."""

    INITIALIZE = 1  #: Server, all-in-one: write new_parameters. A resumed job shows its saved ones.
    GRADIENT = 2  #: Worker, all-in-one: add to sums, losses and weights.
    APPLY = 3  #: Server, all-in-one: change new_parameters and state.
    SHOW = 5  #: Server, all-in-one: read parameters, state and losses.
    END = 4  #: The job has ended, and Job.wait() returns its result at once.


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A range of the parameters with its own numbers: from the end of the group before it to `end` (excluded)."""

    end: int
    learning_rate: float
    l2: float = 0.0
    weight_decay: float = 0.0  #: Only adamw has one.


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """The samples first..first+count-1 (positions in Step.samples) of one partition."""

    first: int
    count: int
    partition: int
    group: int  #: Runs of the same group have the same weights.
    weights: tuple[float, ...]  #: One for each of the step's vectors.


class Step:
    """One piece of work, from Job.begin() to end(). Its arrays are views of the library's memory until then.

    INITIALIZE: write new_parameters; a job that resumes shows its saved values in them. GRADIENT: for each v,
    sums[v] += the sum over runs r of r.weights[v] times the sum of the gradients of its samples; losses[i] += the sum
    of the losses of run i, unweighted; weights[i] is the number of its samples unless you set it. APPLY: change
    new_parameters and state by gradient, the mean over the batch. SHOW: parameters are those after `version` updates,
    state is a copy of the optimizer's, and losses are those of the updates `step` to version - 1. Members that a kind
    does not name are empty, 0 or None.

    `with step:` ends it: as done, or as failed if the block raises an exception.
    """

    def __init__(self, job: Any, c_step: Any) -> None:
        self._job, self._c = job, c_step
        self.ended = False
        self.kind = StepKind(c_step.kind)
        self.step: int = c_step.step  #: Number of the update, from 0. INITIALIZE: number of the steps done.
        self.job: int = c_step.job  #: Numbers one run of the server.
        self.version: int = c_step.version  #: Equal numbers mean equal parameters in one job.
        self.seed: int = c_step.seed  #: Randomness must follow from seed, step, partition and sample alone.
        self.learning_rate: float = c_step.learning_rate
        self.batch_weight: float = c_step.batch_weight
        self.batch_loss: float = c_step.batch_loss  #: Mean loss of the batch, before the update.
        count, shown = c_step.parameter_count, self.kind == StepKind.SHOW
        apply = self.kind == StepKind.APPLY
        gradient = self.kind == StepKind.GRADIENT
        self.parameters: FloatArray = view(c_step.parameters, count if gradient or shown else 0, np.float32)
        self.samples: IndexArray = view(c_step.samples, c_step.sample_count, np.int64)
        found = read_samples(c_step)
        self.batch: Batch | None = found if isinstance(found, Batch) else None
        self.runs: list[Run] = [_run(c_step.runs[i], c_step.vectors) for i in range(c_step.run_count)]
        self.sums: list[FloatArray] = [view(c_step.sums[v], count, np.float32, writable=True)
                                       for v in range(c_step.vectors)]
        losses = self.version - self.step if shown else c_step.run_count
        self.losses: DoubleArray = view(c_step.losses, losses, np.float64, writable=True)
        self.weights: DoubleArray = view(c_step.weights, c_step.run_count, np.float64, writable=True)
        self.gradient: FloatArray = view(c_step.gradient, count if apply else 0, np.float32)
        self.new_parameters: FloatArray = view(
            c_step.new_parameters, count if apply or self.kind == StepKind.INITIALIZE else 0, np.float32, writable=True)
        self.state: FloatArray = view(c_step.state, c_step.state_count, np.float32, writable=True)

    def partial(self, samples_done: int) -> bool:
        """Reports that the first samples are in the sums. False: nobody needs the work any more; call cancel()."""
        status = lib.motley_step_partial(self._job, self._c, samples_done)
        if status == CANCELLED:
            return False
        check(status)
        return True

    def ready(self, begin: int, end: int) -> None:
        """Reports that sums[v][begin:end] of all v, and losses and weights, are final. The values may be sent early."""
        check(lib.motley_step_ready(self._job, self._c, begin, end))

    def end(self, status: int = 0) -> None:
        """Hands the work back; the arrays must not be used afterwards. Any status but 0 and 1 fails it."""
        if self.kind != StepKind.END and not self.ended:
            self.ended = True
            check(lib.motley_step_end(self._job, self._c, status))

    def cancel(self) -> None:
        """Hands the work back undone: partial() returned False, or nothing of an update was written yet."""
        self.end(CANCELLED)

    def fail(self) -> None:
        """Hands the work back as failed: this ends the worker, or the job if the work was not a gradient."""
        self.end(CALLBACK)

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        self.end(0 if kind is None else CALLBACK)


def _run(run: Any, vectors: int) -> Run:
    return Run(run.first, run.count, run.partition, run.group, tuple(run.weights[v] for v in range(vectors)))


def batch_samples(step: int, *, samples: int, batch: int, seed: int = 7) -> IndexArray:
    """The numbers of the samples of a step, ascending: the batch of each job with this seed and these sizes."""
    found, count = np.empty(batch, np.int64), ffi.new("uint64_t *")
    check(lib.motley_batch_samples(seed, samples, batch, step, ffi.cast("uint64_t *", found.ctypes.data), count))
    return found[:count[0]]


def begin(job: Any, timeout: float) -> Any:
    """One motley_step_begin; None: nothing to do within the timeout in seconds."""
    made = new("motley_step")
    try:
        check(lib.motley_step_begin(job, timeout, made))
        return None if made.kind == 0 else Step(job, made)
    except BaseException:  # Ctrl-C may come after the library has given out work.
        if made.kind not in (0, StepKind.END):
            lib.motley_step_end(job, made, CALLBACK if made.kind == StepKind.GRADIENT else CANCELLED)
        raise
