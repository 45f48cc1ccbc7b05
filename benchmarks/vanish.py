#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a machine that vanishes is missed, and until its replacement works.

Usage: vanish.py MOTLEY [--runs N] [--json]. Needs root and Linux network namespaces: a server and three
workers in four of them, a switch between. A worker's port is taken off the switch, so that its packets go
nowhere and nothing ends its connection. Every run's last loss must equal that of a run without loss.
Exits with 77 where namespaces cannot be made.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

DATA = pathlib.Path(__file__).parents[1] / "examples" / "data" / "digits.csv.gz"
PREFIX = f"mv{os.getpid() % 10000}"
ENVIRONMENT = {**os.environ, "MOTLEY_TOKEN": "the token of this benchmark"}
STEPS = 6000
LIMIT_S = 300


def ip(*words, inside=None):
    command = ["ip", *(["-n", inside] if inside else []), *words]
    subprocess.run(command, check=True, capture_output=True)


class Lab:
    """Machines 10.77.0.1 (the server's) to 10.77.0.4 at one switch."""

    def __init__(self, machines=4):
        self.switch = f"{PREFIX}s"
        self.machines = [f"{PREFIX}m{i}" for i in range(machines)]
        try:
            self.build()
        except (OSError, subprocess.CalledProcessError):
            self.close()
            raise

    def build(self):
        for space in [self.switch, *self.machines]:
            ip("netns", "add", space)
        ip("link", "add", "name", "sw0", "type", "bridge", inside=self.switch)
        ip("link", "set", "sw0", "up", inside=self.switch)
        for i, machine in enumerate(self.machines):
            ip("link", "add", "name", f"p{i}", "netns", self.switch, "type", "veth", "peer", "name", "eth",
               "netns", machine)
            ip("link", "set", f"p{i}", "master", "sw0", "up", inside=self.switch)
            ip("addr", "add", f"10.77.0.{i + 1}/24", "dev", "eth", inside=machine)
            ip("link", "set", "eth", "up", inside=machine)
            ip("link", "set", "lo", "up", inside=machine)

    def unplug(self, machine):
        ip("link", "set", f"p{machine}", "nomaster", inside=self.switch)

    def plug(self, machine):
        ip("link", "set", f"p{machine}", "master", "sw0", inside=self.switch)

    def close(self):
        for space in [self.switch, *self.machines]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


class Program:
    """The program on one machine, and when it said what."""

    def __init__(self, lab, machine, *arguments):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", lab.machines[machine], *map(str, arguments)], env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line))

    def wait_for(self, pattern, since=0.0):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            for when, line in list(self.lines):
                if when >= since and re.search(pattern, line):
                    return when
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        sys.exit(f"it never said {pattern}:\n" + "".join(line for _, line in self.lines))

    def stop(self):
        self.process.kill()
        self.process.wait()


def run(motley, lab, disturbed):
    """(seconds until missed, seconds from the replacement's start until it has joined, last loss)"""
    job = Program(lab, 0, motley, "train", "--data", DATA, "--remote", "--workers", 2, "--steps", STEPS,
                  "--code", "none", "--json", "--listen", "10.77.0.1:7440")
    workers = [Program(lab, i, motley, "worker", "--server", "10.77.0.1:7440", "--name", f"w{i}")
               for i in (1, 2)]
    job.wait_for(r"^step ")
    missed = replaced = 0.0
    if disturbed:
        began = time.monotonic()
        lab.unplug(1)
        missed = job.wait_for(r"w1\) has said nothing") - began
        began = time.monotonic()
        workers.append(Program(lab, 3, motley, "worker", "--server", "10.77.0.1:7440", "--name", "w3"))
        replaced = job.wait_for(r"joined; it gets a share", since=began) - began
    report = json.loads(job.process.communicate()[0])
    for program in workers:
        program.stop()
    lab.plug(1)
    return missed, replaced, report["batch_loss"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motley")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        lab = Lab()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: no network namespaces here ({error})")
        sys.exit(77)
    try:
        quiet = run(options.motley, lab, disturbed=False)[2]
        runs = []
        for _ in range(options.runs):
            missed, replaced, loss = run(options.motley, lab, disturbed=True)
            if abs(loss - quiet) > 1e-5 * abs(quiet):
                sys.exit(f"the loss is {loss}, and {quiet} in a run where nobody vanished")
            runs.append((missed, replaced))
    finally:
        lab.close()
    missed, replaced = zip(*runs)
    result = {"missed_s": {"median": statistics.median(missed), "max": max(missed)},
              "replaced_s": {"median": statistics.median(replaced), "max": max(replaced)}}
    if options.json:
        return print(json.dumps(result))
    for what, text in (("missed_s", "missed after"), ("replaced_s", "its replacement works after")):
        print(f"{text}: {result[what]['median']:.2f} s median, {result[what]['max']:.2f} s at most, "
              f"{options.runs} runs")


if __name__ == "__main__":
    main()
