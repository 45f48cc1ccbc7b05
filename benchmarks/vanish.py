#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long it takes until a vanished machine is noticed, and until its replacement works.

Usage: vanish.py MOTLEY [--runs N] [--json]. A server and three workers run in network namespaces of
their own, with a switch between them. Two workers train. Then one of them vanishes in one of three
ways, and the third is started in its place. A run ends when the replacement has sent a gradient, or
after 30 s.

Needs root and Linux network namespaces; exits with 77 if they cannot be created. Exits with 1 if
nothing was noticed, the replacement did no work, or the last loss differs from that of as many
undisturbed steps.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "cli" / "program" / "tools"))
from lab import Lab, ip  # noqa: E402

DATA = pathlib.Path(__file__).parents[1] / "examples" / "data" / "digits.csv.gz"
ENVIRONMENT = {**os.environ, "MOTLEY_TOKEN": "the token of this benchmark"}
MODEL = ["--data", DATA, "--model", "mlp:256", "--optimizer", "sgd", "--lr", "0.01", "--code", "none", "--json"]
GRADIENT_BYTES = 4 * 19210
STEPS = 10**9  # More than any run does; the benchmark stops its jobs.
LIMIT_S = 30   # Seconds that a run has to produce its figures.
NOTICED_S = REPLACED_S = 3  # Seconds; a slower run fails the benchmark.


class Failed(Exception):
    pass


class Program:
    """The program on one machine, and its output with times. Waiting for it ends at `end`."""

    def __init__(self, lab, machine, end, *arguments):
        self.end = end
        self.process = subprocess.Popen(
            [*lab.on(machine), *map(str, arguments)], env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line))

    def wait_for(self, pattern):
        while time.monotonic() < self.end:
            for when, line in list(self.lines):
                if re.search(pattern, line):
                    return when
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        raise Failed(f"a program did not say {pattern!r}")

    def report(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            output = self.process.stdout.read() if self.process.wait(timeout=10) is not None else ""
        except subprocess.TimeoutExpired:
            raise Failed("the job did not end within 10 s of SIGTERM") from None
        return json.loads(output)

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def unplug(lab, _):
    """Takes the port off the switch: packets are lost, and both ends keep their carrier."""
    ip("link", "set", "p1", "nomaster", inside=lab.switch)
    return lambda: ip("link", "set", "p1", "master", "sw0", inside=lab.switch)


def link_down(lab, _):
    ip("link", "set", "p1", "down", inside=lab.switch)
    return lambda: ip("link", "set", "p1", "up", inside=lab.switch)


def freeze(_, worker):
    """Stops the process; its kernel still acknowledges packets."""
    worker.process.send_signal(signal.SIGSTOP)
    return lambda: None


SCENARIOS = {"unplugged": unplug, "link down": link_down, "frozen": freeze}


def serial_loss(motley, steps):
    done = subprocess.run([motley, "train", *MODEL, "--workers", "2", "--steps", str(steps), "--quiet"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)["batch_loss"]


def disturbed_run(motley, lab, vanish):
    """Returns (seconds until noticed, seconds from the replacement's start to its first gradient, report)."""
    end = time.monotonic() + LIMIT_S
    programs = []
    restore = lambda: None

    def start(machine, *arguments):
        programs.append(Program(lab, machine, end, motley, *arguments))
        return programs[-1]

    def worker(machine):
        return start(machine, "worker", "--server", "10.77.0.1:7440", "--name", f"w{machine}")

    def first_gradient(machine, before):
        while lab.sent_by(machine) < before + 1.5 * GRADIENT_BYTES:
            if time.monotonic() > end:
                raise Failed("the replacement sent no gradient")
            time.sleep(0.005)
        return time.monotonic()

    try:
        before = [lab.sent_by(i) for i in range(4)]
        job = start(0, "train", *MODEL, "--remote", "--no-local-worker", "--workers", 2,
                    "--steps", STEPS, "--listen", "10.77.0.1:7440")
        victim = worker(1)
        worker(2)
        for program in programs[1:]:
            program.wait_for("joined the job")
        first_gradient(2, before[2])
        began = time.monotonic()
        restore = vanish(lab, victim)
        noticed = job.wait_for(r"w1\) has said nothing for \d+ s: ") - began
        began = time.monotonic()
        worker(3)
        replaced = first_gradient(3, before[3]) - began
        return noticed, replaced, job.report()
    except Failed as error:
        said = "".join(f"  {i}: {line}" for i, p in enumerate(programs) for _, line in p.lines)
        raise Failed(f"{error}; the programs said:\n{said}") from None
    finally:
        restore()
        for program in programs:
            program.stop()


def check(motley, report):
    """Checks that the replacement worked, and that the loss is that of undisturbed steps."""
    replacement = [w for w in report["workers"] if w["name"] == "w3"]
    if not replacement or replacement[0]["steps_in_time"] == 0:
        raise Failed(f"the replacement answered no step: {report['workers']}")
    loss, serial = report["batch_loss"], serial_loss(motley, report["steps"])
    if not abs(loss - serial) <= 1e-3 * abs(serial):
        raise Failed(f"the loss after {report['steps']} steps is {loss}, and {serial} without a disturbance")


def measure(motley, lab, runs):
    figures = {}
    for name, vanish in SCENARIOS.items():
        pairs = []
        for _ in range(runs):
            noticed, replaced, report = disturbed_run(motley, lab, vanish)
            check(motley, report)
            pairs.append((noticed, replaced))
        figures[name] = {what: {"median": statistics.median(seconds), "max": max(seconds)}
                         for what, seconds in zip(("noticed_s", "replaced_s"), zip(*pairs))}
    return figures


def show(figures, runs):
    print(f"seconds, median and worst of {runs} runs: until a machine that vanishes is noticed (promised: "
          f"{NOTICED_S}),\nand from the start of its replacement to that one's first gradient (promised: "
          f"{REPLACED_S})\n")
    print(f"{'scenario':12} {'noticed':>8} {'worst':>6}   {'replaced':>8} {'worst':>6}")
    for name, of in figures.items():
        noticed, replaced = of["noticed_s"], of["replaced_s"]
        print(f"{name:12} {noticed['median']:8.2f} {noticed['max']:6.2f}   "
              f"{replaced['median']:8.2f} {replaced['max']:6.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motley")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        lab = Lab(4, "10.77.0.1")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: network namespaces cannot be made here, which needs root ({error})")
        sys.exit(77)
    try:
        figures = measure(options.motley, lab, options.runs)
    except Failed as error:
        print(f"vanish: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        lab.close()
    if options.json:
        print(json.dumps(figures))
    else:
        show(figures, options.runs)


if __name__ == "__main__":
    main()
