# SPDX-License-Identifier: Apache-2.0
"""Starts a script as one server and several workers, by the variables that `motley run` sets."""

import concurrent.futures
import ctypes
import functools
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import time


PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"


def environment(**variables):
    """Without what a surrounding job set, and with this package and one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MOTLEY_")
            or name == "MOTLEY_LIBRARY"}
    return kept | {"PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1"} | variables


@functools.cache
def starter():
    """The socket of a starter.py, whose children become those of this process."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER
    if ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0) != 0:
        raise OSError("this process cannot take over the children of another")
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("starter.py"), str(there.fileno())],
                         pass_fds=[there.fileno()], env=environment())
    return here


class Process:
    """A script that runs in a process of its own, with as much of subprocess.Popen as tests need."""

    def __init__(self, command, variables):
        out, out_of_child = os.pipe()
        errors, errors_of_child = os.pipe()
        asked = json.dumps({"command": [str(word) for word in command], "environment": variables})
        socket.send_fds(starter(), [asked.encode()], [out_of_child, errors_of_child])
        for stream in (out_of_child, errors_of_child):
            os.close(stream)
        self.pid = int(starter().recv(64))
        starter().recv(64)  # From now on it is a child of this process.
        self.returncode = None
        self.stdout, self.stderr = open(out, encoding="utf-8"), open(errors, encoding="utf-8")

    def poll(self):
        if self.returncode is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout):
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.pid} still runs after {timeout} s")
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=30):
        """The rest of both streams, and the end of the process."""
        with concurrent.futures.ThreadPoolExecutor(2) as readers:
            both = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except TimeoutError:
                self.kill()  # So that the streams end.
                raise
            return tuple(found.result() for found in both)


class Processes:
    """The processes of one job. Leaving the block kills what still runs."""

    def __init__(self, script, given, workers):
        """`given` is the script's argument, as JSON."""
        self._command = [script, json.dumps(given)]
        self._address = f"unix://motley-test-{secrets.token_hex(8)}"
        self._token = secrets.token_hex(16)
        self._count = workers
        self.server = None
        self.workers = []
        self.shard_servers = []

    def __enter__(self):
        self.server = self._start("server", MOTLEY_LISTEN=self._address, MOTLEY_WORKERS=str(self._count))
        for number in range(self._count):
            self.add_worker(f"worker-{number}")
        return self

    def __exit__(self, *_exception):
        for process in [self.server, *self.workers, *self.shard_servers]:
            process.kill()
            process.communicate()

    def add_worker(self, name):
        self.workers.append(self._start("worker", MOTLEY_SERVER=self._address, MOTLEY_WORKER_NAME=name))

    def add_shard_server(self):
        self.shard_servers.append(Process([pathlib.Path(__file__).with_name("shard_server.py")], environment(
            MOTLEY_SERVER=self._address, MOTLEY_TOKEN=self._token)))

    def _start(self, role, **variables):
        return Process(self._command, environment(MOTLEY_ROLE=role, MOTLEY_TOKEN=self._token, **variables))

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
    run = Process([script, json.dumps(given)], environment())
    out, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    return json.loads(out.strip().split("\n")[-1])


def motley_program():
    """The program `motley` of this build."""
    build = os.environ.get("MOTLEY_BUILD", PACKAGE.parent / "build" / "release")
    return str(pathlib.Path(build) / "motley")
