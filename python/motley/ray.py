# SPDX-License-Identifier: Apache-2.0
"""Starts a program that trains with Motley on the nodes of a Ray cluster.

The server is a process beside the caller, and each worker is a process of one actor. Ray starts and places them, and
carries nothing else: gradients and parameters travel between the processes directly. Each process learns from
environment variables what it is, as under `motley run`.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import ray as package
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ray: Any = package  # Its own types are incomplete.

_FAREWELL_S = 5.0  # Workers leave by themselves when the server has said goodbye.
_GRACE_S = 30.0  # From SIGTERM to SIGKILL, for the server.
_LOOK_S = 0.05


def _die_with_parent() -> None:
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _start(command: Sequence[str], folder: str, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    program = [sys.executable] if command[0].endswith(".py") else []
    return subprocess.Popen([*program, *command], cwd=folder, env={**os.environ, **variables},
                            stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)


class _Worker:
    """The actor: runs one worker process at a time. The process ends with the actor."""

    def run(self, command: Sequence[str], folder: str, variables: Mapping[str, str]) -> int:
        return _start(command, folder, variables).wait()


class _Workers:
    """The actors of one job, and what each of them runs."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], resources: Mapping[str, Any],
                 restarts: int) -> None:
        self._command = command
        self._variables = variables
        self._actor = ray.remote(**resources)(_Worker)
        self._restarts = restarts
        self._running: dict[Any, tuple[int, Any, int]] = {}  # By its result: number, actor, restarts that are left.
        self.failed = 0

    def start(self, number: int, node: str, restarts: int | None = None) -> None:
        """Starts a worker on a node, or anywhere if that node is gone."""
        place = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
        actor = self._actor.options(scheduling_strategy=place).remote()
        variables = {**self._variables, "MOTLEY_WORKER_NAME": f"ray-{number}"}
        result = actor.run.remote(self._command, os.getcwd(), variables)
        self._running[result] = (number, actor, self._restarts if restarts is None else restarts)

    def look(self) -> None:
        """Reports workers that have failed, and starts them again where that is wanted."""
        ended, _ = ray.wait(list(self._running), timeout=_LOOK_S) if self._running else ([], [])
        for result in ended:
            number, actor, restarts = self._running.pop(result)
            try:
                code = ray.get(result)
                how = f"ended with exit code {code}" if code >= 0 else f"ended by signal {-code}"
            except RayError as error:
                code, how = 1, f"was lost: {str(error).splitlines()[0]}"
            ray.kill(actor)
            if code == 0:
                continue
            again = "; starting it again" if restarts > 0 else ""
            print(f"motley: worker {number} {how}{again}", file=sys.stderr, flush=True)
            if restarts > 0:
                nodes = _nodes()
                self.start(number, nodes[number % len(nodes)], restarts - 1)
            else:
                self.failed += 1

    def running(self) -> bool:
        return bool(self._running)

    def end(self) -> None:
        for _, actor, _ in self._running.values():
            ray.kill(actor)


def _nodes() -> list[str]:
    return [node["NodeID"] for node in ray.nodes() if node["Alive"]]


def run(command: Sequence[str], *, workers: int | None = None, cpus: float = 1, gpus: float = 0, restarts: int = 0,
        address: str | None = None) -> None:
    """Runs a program, such as ["train.py", "--epochs", "3"], until its server ends.

    A program that ends in .py is run by this interpreter. Every node needs it in this process's folder.

    workers: their number; None: one for each node. More than nodes: in turn.
    cpus, gpus: what Ray reserves for each worker.
    restarts: how often each worker starts again after it failed. The job goes on without a worker that does not.
    address: by which the nodes reach this machine; None: Ray's address of it.

    Raises subprocess.CalledProcessError with the server's exit code if that is not 0.
    """
    if not ray.is_initialized():
        ray.init()
    nodes = _nodes()
    count = workers if workers is not None else len(nodes)
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="motley-run-") as folder:
        file = pathlib.Path(folder) / "address"
        server = _start(command, os.getcwd(), {
            "MOTLEY_ROLE": "server", "MOTLEY_LISTEN": "0.0.0.0:0", "MOTLEY_ADDRESS_FILE": str(file),
            "MOTLEY_TOKEN": token, "MOTLEY_WORKERS": str(count)})
        started: _Workers | None = None
        try:
            while server.poll() is None and not file.exists():
                time.sleep(_LOOK_S)
            if file.exists():
                port = file.read_text().strip().rpartition(":")[2]
                host = address or ray.util.get_node_ip_address()
                started = _Workers(
                    list(command), {"MOTLEY_ROLE": "worker", "MOTLEY_SERVER": f"{host}:{port}", "MOTLEY_TOKEN": token},
                    {"num_cpus": cpus, "num_gpus": gpus}, restarts)
                for number in range(count):
                    started.start(number, nodes[number % len(nodes)])
            _serve(server, started, count)
        finally:
            _end(server, started)
    if server.returncode != 0:
        raise subprocess.CalledProcessError(server.returncode, list(command))


def _serve(server: subprocess.Popen[bytes], workers: _Workers | None, count: int) -> None:
    """Returns when the server has ended, or when all workers have failed."""
    while server.poll() is None:
        if workers is None or not workers.running():
            time.sleep(_LOOK_S)
        else:
            workers.look()
            if workers.failed == count:
                print("motley: no worker is left, so the server is asked to stop", file=sys.stderr, flush=True)
                return


def _end(server: subprocess.Popen[bytes], workers: _Workers | None) -> None:
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    if workers is None:
        return
    end = time.monotonic() + _FAREWELL_S
    while workers.running() and time.monotonic() < end:
        workers.look()
    workers.end()
