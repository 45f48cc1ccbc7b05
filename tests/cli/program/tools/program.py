# SPDX-License-Identifier: Apache-2.0
"""Runs the built program as a user does. MOTLEY_PROGRAM names it."""

import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

PROGRAM = os.environ["MOTLEY_PROGRAM"]
SANITIZED = bool(os.environ.get("MOTLEY_SANITIZE"))
TOKEN = "sixteen characters or more"
PATIENCE_S = 600 if SANITIZED else 60  # Timeout of all waits, even on a slow machine.


def write_samples(path, rows=600, features=12, classes=4, seed=1):
    """Writes a CSV file of Gaussian clouds, with the label in the last column."""
    draw = random.Random(seed)
    centres = [[draw.gauss(0, 1) for _ in range(features)] for _ in range(classes)]
    with open(path, "w") as file:
        for row in range(rows):
            label = row % classes
            values = [centre + draw.gauss(0, 0.7) for centre in centres[label]]
            file.write(",".join(f"{v:.4f}" for v in values) + f",{label}\n")


def free_port(consecutive=1):
    """The first of consecutive ports below those that the system gives to connections. Other tests, or workers that
    look for a server, could take one of those before the server does."""
    while True:
        first = random.randrange(20_000, 32_000 - consecutive)
        try:
            for port in range(first, first + consecutive):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first


def process_state(pid):
    """(state letter, parent), or None if there is no such process."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = stat.rsplit(")", 1)[1].split()[:2]
    return state, int(parent)


def alive(pid):
    """True if a process runs. A zombie does not."""
    found = process_state(pid)
    return found is not None and found[0] not in "ZX"


def stopped(pid):
    """True if a signal such as SIGSTOP keeps the process from running."""
    found = process_state(pid)
    return found is not None and found[0] == "T"


def ignores_interrupt(pid):
    """True if the process ignores Ctrl-C. A worker does from its start, because its parent handles Ctrl-C."""
    return has_signal(pid, "SigIgn:", signal.SIGINT)


def catches(pid, number):
    return has_signal(pid, "SigCgt:", number)


def has_signal(pid, which, number):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    mask = next((line for line in status.split("\n") if line.startswith(which)), f"{which} 0")
    return bool(int(mask.split()[1], 16) & 1 << (number - 1))


def children_of(pid):
    pids = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    found = [(child, process_state(child)) for child in pids]
    return sorted(child for child, state in found if state is not None and state[1] == pid)


def wait_until(condition, what):
    """Waits until the condition holds, up to the timeout."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE_S} s: {what}")
        select.select([], [], [], 0.01)


class Running:
    """A process of the program, and all lines that it has written to standard error so far. `inside` is a
    command that runs another, such as one for a network namespace. `folder` is the working folder."""

    def __init__(self, test, *arguments, token=TOKEN, inside=(),
                 folder=None):
        environment = {key: value for key, value in os.environ.items() if key != "MOTLEY_TOKEN"}
        if token:
            environment["MOTLEY_TOKEN"] = token
        self.test = test
        self.process = subprocess.Popen(
            [*inside, PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        test.addCleanup(self.end)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def text(self):
        return "\n".join(self.lines)

    def said(self, pattern, times=1):
        return len(re.findall(pattern, self.text(), re.M)) >= times

    def wait_for(self, pattern, times=1):
        wait_until(lambda: self.said(pattern, times) or self.process.poll() is not None,
                   f"{pattern}\n{self.text()}")
        self.reader.join(timeout=0 if self.process.poll() is None else PATIENCE_S)
        self.test.assertTrue(self.said(pattern, times), f"{pattern}\n{self.text()}")
        return re.search(pattern, self.text(), re.M)

    def step(self):
        """The last step that the program reported."""
        steps = [int(found[1]) for line in list(self.lines)
                 if (found := re.match(r"step (\d+)", line))]
        return steps[-1] if steps else 0

    def send(self, number):
        self.process.send_signal(number)

    def finish(self):
        """Waits for the end. Returns the exit code and standard output."""
        out = self.process.stdout.read()
        code = self.process.wait(timeout=PATIENCE_S)
        self.reader.join(timeout=PATIENCE_S)
        return code, out

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="motley-cli-"))
        cls.data = cls.folder / "clouds.csv"
        write_samples(cls.data)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_program(self, *arguments, expect=0, patience_s=PATIENCE_S):
        """Runs the program and checks its exit code. Returns the finished process."""
        done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                              timeout=patience_s, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def run_json(self, *arguments):
        return json.loads(self.run_program(*arguments, "--json").stdout)

    def start_training(self, *arguments, steps=100000, hangup=signal.SIG_DFL):
        """Starts a run of three workers in the background that is too long to end by itself. `hangup` is the
        action for SIGHUP that it inherits."""
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), "--steps", str(steps),
             "--worker-speeds", "1,1,1", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup))
        self.addCleanup(self.end, process)
        return process

    def wait_for_steps(self, process):
        for line in process.stderr:
            if line.startswith("step "):
                return
        self.fail("training ended without a step")

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
