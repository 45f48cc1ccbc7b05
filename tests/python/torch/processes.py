# SPDX-License-Identifier: Apache-2.0
"""Starts a script as one server and several workers, by the variables that `motley run` sets."""

import contextlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys


PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"


def environment(**variables):
    """Without what a surrounding job set, and with this package and one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MOTLEY_")
            or name == "MOTLEY_LIBRARY"}
    return kept | {"PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1"} | variables


class Processes:
    """The processes of one job. Leaving the block kills what still runs."""

    def __init__(self, script, given, workers):
        """`given` is the script's argument, as JSON."""
        self._command = [sys.executable, str(script), json.dumps(given)]
        self._address = f"unix://motley-test-{secrets.token_hex(8)}"
        self._token = secrets.token_hex(16)
        self._count = workers
        self.server = None
        self.workers = []

    def __enter__(self):
        self.server = self._start("server", MOTLEY_LISTEN=self._address, MOTLEY_WORKERS=str(self._count))
        for number in range(self._count):
            self.add_worker(f"worker-{number}")
        return self

    def __exit__(self, *_exception):
        for process in [self.server, *self.workers]:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()

    def add_worker(self, name):
        self.workers.append(self._start("worker", MOTLEY_SERVER=self._address, MOTLEY_WORKER_NAME=name))

    def _start(self, role, **variables):
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment(MOTLEY_ROLE=role, MOTLEY_TOKEN=self._token, **variables))

    def wait_for(self, line):
        """Reads the server's output up to a line."""
        for found in self.server.stdout:
            if found.strip() == line:
                return
        raise AssertionError(f"the server ended before {line!r}: {self.server.communicate()[1]}")

    def pause(self, number):
        os.kill(self.workers[number].pid, signal.SIGSTOP)

    def go_on(self, number):
        os.kill(self.workers[number].pid, signal.SIGCONT)

    def result(self, timeout=120):
        """The JSON object that the server printed, once it has ended well."""
        out, errors = self.server.communicate(timeout=timeout)
        assert self.server.returncode == 0, errors
        return json.loads(out.strip().split("\n")[-1])


def run_plain(script, given):
    """The JSON object of the script in a plain process."""
    run = subprocess.run([sys.executable, str(script), json.dumps(given)], env=environment(), capture_output=True,
                         text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.strip().split("\n")[-1])


def motley_program():
    """The program `motley` of this build."""
    build = os.environ.get("MOTLEY_BUILD", PACKAGE.parent / "build" / "release")
    return str(pathlib.Path(build) / "motley")
