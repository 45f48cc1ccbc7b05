# SPDX-License-Identifier: Apache-2.0
"""Ends of jobs."""

from __future__ import annotations

import sys

from ..job import Job
from ..step import StepKind


def leave(job: Job) -> None:
    """Takes and returns what work is left, until the job has ended. Its result does not matter any more."""
    while (work := job.begin()) is not None and work.kind != StepKind.END:
        work.fail()


def program_failed() -> bool:
    """True at the program's end if an exception ended it."""
    return getattr(sys, "last_value", None) is not None
