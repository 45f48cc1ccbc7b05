#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the answers of a code cost on a thin link: bytes and seconds of a step, with and without held answers.

Usage: wire_coded.py MOTLEY [--json] [--links MBITS,...] [--hidden N,N] [--batch B] [--steps N] [--code NAME]
[--tolerate S] [--reduce HOW] [--congestion NAME]. Run by `./dev bench coded`.

Each machine is a network namespace, and its link to the switch is limited in both directions. Every worker has a
machine of its own, and so has Motley's server. The work is small, so a step is communication: parameters go to all n
workers, and any n - s of their answers are needed. A job first measures its links. From the step that its notice
announces, only the answers that are needed travel (docs/decisions/0065-answers-that-wait-for-a-grant.md). So the steps
before it show what the code costs without that, and those behind it what it costs with it.

Prints for both the mean time of a step, and how much the server's machine received, in units of the n - s vectors. The
latter counts whole Ethernet frames, and also the acknowledgements of the parameters: on packets of 1500 bytes these are
5 and 2 % more than the vectors. JSON: an object with `links, megabytes, code, before, held`, where the last two have
`steps, seconds, received`.

The losses of all steps are compared with those of a job without a code on one machine.

Needs root, `ip` and `tc`; exits with 77 where it cannot make limited links, and with 1 if a run fails, a loss is wrong
or no answers were held.
"""

import argparse
import bisect
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import peer_tools
from wire import CONGESTION, Case, Lab, congestion, numbers
from wire_training import CLASSES, INPUTS, PORT, Failed, samples, start

LIMIT_S = 600
FIRST = 2  # Steps that do not count: data are sent, and TCP looks for its rate.
HELD = "are held"  # In the notice of the step with which it begins.


class NoMachines(Exception):
    """Machines with limited links cannot be made here."""


def reason(error):
    """What an OSError says, or the program that failed."""
    said = getattr(error, "stderr", None) or str(error)
    return (said.decode(errors="replace") if isinstance(said, bytes) else said).strip()


def bytes_received(lab, machine):
    read = "cat /sys/class/net/eth/statistics/rx_bytes"
    return int(subprocess.run([*lab.on(machine), "sh", "-c", read], check=True, capture_output=True).stdout)


class Meter:
    """Samples what a machine has received, until it is closed."""

    def __init__(self, lab, machine):
        self.began = time.monotonic()
        self._samples = []  # (seconds, bytes)
        self._lab, self._machine = lab, machine
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._done.wait(0.05):
            self._samples.append((self.now(), bytes_received(self._lab, self._machine)))

    def now(self):
        return time.monotonic() - self.began

    def at(self, seconds):
        """The bytes received by then, between two samples in proportion."""
        at = min(max(bisect.bisect(self._samples, (seconds,)), 1), len(self._samples) - 1)
        (t0, b0), (t1, b1) = self._samples[at - 1:at + 1]
        return b0 + (b1 - b0) * (seconds - t0) / (t1 - t0)

    def close(self):
        self._done.set()
        self._thread.join()


def train(lab, flags, data, folder):
    """Returns for each step its number, its end and what the server had received by then; the losses; and how many
    steps were done when answers were held first."""
    workers = len(flags.links)
    server = f"{lab.addresses[workers]}:{PORT}"
    log = pathlib.Path(folder) / "steps.jsonl"
    joined, notices, held_at = threading.Semaphore(0), [], []
    with contextlib.ExitStack() as ends:
        meter = Meter(lab, workers)  # Its time begins with the job's.
        ends.callback(meter.close)
        job = start(lab, workers, [*job_words(flags, data), "--workers", workers, "--remote", "--no-local-worker",
                                   "--listen", server, "--reduce", flags.reduce, "--code", flags.code, "--tolerate",
                                   flags.tolerate, "--log", log], ends, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE)

        def read():
            for line in job.stderr:
                notices.append(line)
                if " joined from " in line:
                    joined.release()
                if HELD in line:
                    held_at.append(meter.now())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        time.sleep(0.5)
        for i in range(workers):
            start(lab, i, [flags.program, "worker", "--server", server, "--name", f"w{i}"], ends,
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if not joined.acquire(timeout=30):
                raise Failed("a worker did not join")
        try:
            job.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done within {LIMIT_S} s") from None
        reader.join()
        if job.returncode != 0:
            raise Failed("ended: " + "".join(notices[-1:]).strip())
    steps = steps_of(log)
    if len(steps) != flags.steps:
        raise Failed(f"{len(steps)} steps of {flags.steps} were logged")
    marks = [(step["step"], step["seconds"], meter.at(step["seconds"])) for step in steps]
    held_from = sum(step["seconds"] < at for at in held_at[:1] for step in steps) if held_at else flags.steps
    return marks, [step["loss"] for step in steps], held_from


def steps_of(log):
    return [line for line in map(json.loads, log.read_text().splitlines()) if line["kind"] == "step"]


def job_words(flags, data):
    return [flags.program, "train", "--data", data, "--model", "mlp:" + ",".join(map(str, flags.hidden)), "--batch",
            flags.batch, "--steps", flags.steps, "--optimizer", "sgd", "--lr", 0.01, "--seed", 7]


def direct_losses(flags, data, folder):
    """Those of the same job on this machine, without a code and without links."""
    log = pathlib.Path(folder) / "direct.jsonl"
    subprocess.run([*map(str, job_words(flags, data)), "--workers", str(len(flags.links)), "--code", "none", "--quiet",
                    "--log", str(log)], check=True, capture_output=True, env=peer_tools.ENVIRONMENT)
    return [step["loss"] for step in steps_of(log)]


def figures(marks, needed_bytes):
    if len(marks) < 2:
        return None
    steps = marks[-1][0] - marks[0][0]
    return {"steps": steps, "seconds": (marks[-1][1] - marks[0][1]) / steps,
            "received": (marks[-1][2] - marks[0][2]) / steps / needed_bytes}


def machines(case, congestion_control, ends):
    """One for each worker, and the server's."""
    try:
        lab = ends.enter_context(contextlib.closing(
            Lab(case.workers + 1, "10.79.0.1", [*case.links, max(case.links)])))
        for machine in range(case.workers + 1 if congestion_control else 0):
            subprocess.run([*lab.on(machine), "sysctl", "-qw", f"{CONGESTION}={congestion_control}"], check=True,
                           capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoMachines(reason(error)) from None
    return lab


def run(flags):
    widths = [INPUTS, *flags.hidden, CLASSES]
    megabytes = sum((a + 1) * b for a, b in zip(widths, widths[1:])) * 4 / 1e6
    case = Case(megabytes, tuple(flags.links))
    needed_bytes = (len(flags.links) - flags.tolerate) * megabytes * 1e6
    with contextlib.ExitStack() as ends, tempfile.TemporaryDirectory() as folder:
        lab = machines(case, flags.congestion, ends)
        data = samples(pathlib.Path(folder))
        marks, losses, held_from = train(lab, flags, data, folder)
        for step, (loss, direct) in enumerate(zip(losses, direct_losses(flags, data, folder), strict=True)):
            if abs(loss - direct) > 1e-4 * abs(direct):
                raise Failed(f"step {step} has the loss {loss}, and without a code {direct}")
    return {"links": case.link_text, "megabytes": round(megabytes, 1),
            "code": f"{flags.code} tolerate {flags.tolerate}",
            "before": figures(marks[FIRST - 1:held_from], needed_bytes),
            "held": figures(marks[held_from:], needed_bytes)}


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="motley")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--links", type=numbers, default=(100.0,) * 8, help="Mbit/s of each worker's machine")
    parser.add_argument("--hidden", type=lambda text: [int(word) for word in text.split(",")], default=[512, 512])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--code", default="cyclic")
    parser.add_argument("--tolerate", type=int, default=2)
    parser.add_argument("--reduce", default="star")
    parser.add_argument("--congestion", type=congestion, help="TCP's congestion control; the system's if not given")
    return parser.parse_args(words)


def main():
    flags = parse(sys.argv[1:])
    # Ends by an exception, so that processes and namespaces are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        row = run(flags)
    except NoMachines as error:
        print(f"wire_coded.py: skipped: machines with limited links need root, ip and tc: {error}", file=sys.stderr)
        sys.exit(77)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"wire_coded.py: {reason(error)}")
    except Failed as error:
        sys.exit(f"wire_coded.py: {error}")
    show(row, flags.json)
    if row["held"] is None:
        sys.exit("wire_coded.py: no answers were held, so nothing shows what that saves")


def show(row, as_json):
    if as_json:
        print(json.dumps(row, indent=2))
        return
    print(f"{row['links']} Mbit/s, vectors of {row['megabytes']} MB, {row['code']}")
    for name in ("before", "held"):
        found = row[name]
        print(f"{name:<7}" + (f"{found['steps']:>4} steps  {found['seconds']:6.3f} s  received "
                              f"{found['received']:.3f} of the vectors needed" if found else "no steps"))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
