# SPDX-License-Identifier: Apache-2.0
"""Events that a running job reports."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, TypeAlias

from ._library import ALL_ROWS
from .errors import text


class EventKind(enum.IntEnum):
    """Kinds of events, and the members of Event that each sets (motley/event.h)."""

    LISTENING = 1  #: text: the address; then a blank and the token if the server generated it
    WORKER_JOINED = 2  #: worker, text: its name
    WORKER_LOST = 3  #: worker, text: the reason
    STEP_OPENED = 4  #: step
    ROW_ASSIGNED = 5  #: step, row, worker
    ROW_ARRIVED = 6  #: step, row, worker
    ROW_CANCELLED = 7  #: step, worker, row: one row, or None for everything
    STEP_DECODED = 8  #: step, error
    STEP_APPLIED = 9  #: step, loss
    NOTICE = 10  #: text, for the user
    CHECKPOINT = 11  #: step: number of steps that the safe checkpoint has
    WARNING = 12  #: text: why results may be wrong, or which worker answered wrongly
    JUDGED = 13  #: step: steps done; loss: mean since the last judgement; text: JSON
    DETAIL = 14  #: text, for users who ask for more


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One event. Members that a kind does not set are 0 or ""."""

    kind: int  #: An EventKind, or a number that only a newer library knows.
    time: float  #: Seconds since the job started.
    step: int  #: From 0.
    row: int | None  #: None: everything that the worker was given.
    worker: int
    loss: float
    text: str
    error: float  #: 0 if the step's sum is exact.


Events: TypeAlias = Callable[[Event], object]

_KINDS = {int(kind): kind for kind in EventKind}


def read_event(event: Any) -> Event:
    """The Python object of a motley_event."""
    row = event.row
    return Event(_KINDS.get(event.kind, event.kind), event.time_ns * 1e-9, event.step, None if row == ALL_ROWS else row,
                 event.worker, event.loss, text(event.text), event.error)
