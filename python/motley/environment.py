# SPDX-License-Identifier: Apache-2.0
"""What `motley run` says to the processes that it starts, by environment variables.

MOTLEY_ROLE is server or worker, and missing in a process that nobody started for a job. MOTLEY_LISTEN is where a
server listens, MOTLEY_SERVER where a worker finds it, and MOTLEY_TOKEN what admits it. MOTLEY_WORKERS is the number of
workers that are started, and MOTLEY_WORKER_NAME a worker's name in messages.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Literal

from .errors import InvalidArgument
from .options import JobOptions


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """The role of this process, and the options of Job that follow from it."""

    role: Literal["server", "worker"] | None  #: None: a plain process.
    options: JobOptions


def read_environment(variables: Mapping[str, str] = os.environ) -> Environment:
    """Reads the variables above; InvalidArgument names one that is missing or wrong.

    A worker has no options: a job of the role worker without `server` reads the variables by itself.
    """
    role = variables.get("MOTLEY_ROLE")
    if not role:
        return Environment(None, {})
    if role not in ("server", "worker"):
        raise InvalidArgument(f"MOTLEY_ROLE is {role!r}; server or worker is needed")
    if role == "worker":
        if not variables.get("MOTLEY_SERVER"):
            raise InvalidArgument("MOTLEY_ROLE is worker, and MOTLEY_SERVER is missing: the server's address")
        return Environment("worker", {})
    workers = variables.get("MOTLEY_WORKERS", "")
    if workers and (not workers.isdigit() or int(workers) == 0):
        raise InvalidArgument(f"MOTLEY_WORKERS is {workers!r}; a number from 1 is needed")
    count = int(workers) if workers else None
    # Without min_workers, a worker that fails at its start does not block the job: it begins after 30 s.
    return Environment("server", {"listen": variables.get("MOTLEY_LISTEN"), "token": variables.get("MOTLEY_TOKEN"),
                                  "workers": count})
