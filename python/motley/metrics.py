# SPDX-License-Identifier: Apache-2.0
"""Numbers of a job and of its workers, while it runs and afterwards."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from .errors import text


@dataclasses.dataclass(frozen=True, slots=True)
class Metrics:
    """Numbers of the whole job."""

    workers: int  #: Workers that joined and were not lost.
    steps: int  #: Steps that were applied.
    discarded_steps: int  #: Steps that were opened but never applied.
    wall_seconds: float  #: From the first step's start to the last update.
    batch_loss: float  #: Mean over the newest step's batch, before its update.
    max_decode_error: float  #: Relative to the gradient, over all audited steps.
    checkpoint_step: int  #: Number of steps in the newest safe checkpoint; 0: none.
    steps_wanted: int  #: Length of the whole job; 0: not known yet.
    steps_per_epoch: int  #: 0: not known yet.
    workers_wanted: int
    ends_early: bool  #: The job may end before steps_wanted, when progress ends.
    approximate_steps: int  #: Steps decoded with an error.
    approximate_error: float  #: Mean error of the approximate steps.
    max_approximate_error: float  #: Largest error of them.
    learning_rate: float  #: The rate of the newest update.


class WorkerState(enum.IntEnum):
    """What a worker is doing."""

    UP = 1
    LEFT = 2  #: It said goodbye.
    LOST = 3
    LATE = 4  #: It is connected, but the job no longer waits for it.


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """Numbers of one worker in this run."""

    state: WorkerState
    samples: int  #: Samples computed, used or not.
    in_time: int  #: Answers that came while their step was open.
    late: int  #: Steps that ended without an answer that it owed.
    name: str


def read_metrics(metrics: Any) -> Metrics:
    """The Python object of a motley_metrics."""
    values = {field.name: getattr(metrics, field.name) for field in dataclasses.fields(Metrics)}
    return Metrics(**values | {"ends_early": bool(metrics.ends_early)})


def read_worker_metrics(metrics: Any) -> WorkerMetrics:
    """The Python object of a motley_worker_metrics."""
    return WorkerMetrics(WorkerState(metrics.state), metrics.samples, metrics.in_time, metrics.late, text(metrics.name))
