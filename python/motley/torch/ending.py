# SPDX-License-Identifier: Apache-2.0
"""Ends of jobs."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

from ..job import Job
from ..step import StepKind


def leave(job: Job) -> None:
    """Takes and returns what work is left, until the job has ended. Its result does not matter any more."""
    while (work := job.begin()) is not None and work.kind != StepKind.END:
        work.fail()


def leave_on_sigterm() -> None:
    """Makes SIGTERM end the program by an exception, so that it leaves its job, unless it has another handler."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, _frame: Any) -> None:
    global _terminated
    if not _terminated:  # Slurm and `motley run` may both send it.
        _terminated = True
        sys.exit(128 + number)


_terminated = False


def program_failed() -> bool:
    """True at the program's end if a signal or an exception ended it."""
    return _terminated or getattr(sys, "last_value", None) is not None
