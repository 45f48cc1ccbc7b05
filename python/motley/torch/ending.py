# SPDX-License-Identifier: Apache-2.0
"""Ends of jobs."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from ..job import Job
from ..step import StepKind


def leave(job: Job) -> None:
    """Takes and returns what work is left, until the job has ended. Its result does not matter any more."""
    while (work := job.begin()) is not None and work.kind != StepKind.END:
        if work.kind == StepKind.GRADIENT:
            work.fail()
        else:
            work.cancel()


def leave_on_signals() -> None:
    """Makes SIGTERM end the program by an exception, so that it leaves its job, unless it has another handler.

    SIGTERM and Ctrl-C then wait for the end of whole_update().
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


@contextlib.contextmanager
def whole_update() -> Iterator[None]:
    """Holds SIGTERM and Ctrl-C back until the block has ended: an update in parts would be of no use to anybody."""
    global _held, _waiting
    _held = threading.current_thread() is threading.main_thread()
    try:
        yield
    finally:
        _held = False
    if _waiting is not None:
        error, _waiting = _waiting, None
        raise error


def _terminate(number: int, _frame: Any) -> None:
    global _terminated
    if not _terminated:  # Slurm and `motley run` may both send it.
        _terminated = True
        _end(SystemExit(128 + number))


def _interrupt(_number: int, _frame: Any) -> None:
    _end(KeyboardInterrupt())


def _end(error: BaseException) -> None:
    global _waiting
    if not _held or _waiting is not None:  # A second Ctrl-C does not wait.
        raise error
    _waiting = error


_held = False
_waiting: BaseException | None = None
_terminated = False


def program_failed() -> bool:
    """True at the program's end if a signal or an exception ended it."""
    return _terminated or getattr(sys, "last_value", None) is not None
