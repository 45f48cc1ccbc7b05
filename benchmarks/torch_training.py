#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains three small PyTorch networks with four processes, beside PyTorch DDP over gloo, undisturbed and with faults.

Usage: torch_training.py LIBMOTLEY [--json] [--models NAME,...] [--systems NAME,...] [--faults NAME,...] [--code NAME]
[--seconds S]. Run by `./dev bench torch`; about ten minutes. Both systems run the same script (peers/torch_script.py)
with one thread per process, on the same batches. The faults strike one process of four after ten steps:

    none    nothing
    slow    it has a fifth of its time (SIGSTOP for 80 of every 100 ms)
    stops   it stands still for 2 s in every 6 s
    kill    it is killed
    freeze  it stands still for good

JSON: an array of `model, system, fault, workers, steps_per_second, lost_steps, outcome`. Steps per second count from
the tenth step to the last. Before a figure is printed, the final loss must equal that of one process that trains alone,
to 1e-4. A run hangs if no step ends within 20 s.
"""

import argparse
import contextlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time

import peer_tools

SCRIPT = pathlib.Path(__file__).parent / "peers" / "torch_script.py"
MODELS = {"mlp": 16, "resnet": 16, "transformer": 32}  # And the steps of an epoch.
FAULTS = ("none", "slow", "stops", "kill", "freeze")
WORKERS = 4
WARM_UP = 10  # Steps.
HANGS = 20.0  # Seconds without a step.
LOSS_TOLERANCE = 1e-4


def strike(fault, process):
    striker = peer_tools.Striker(process, {"slow": (0, 0.08, 0.02), "stops": (0, 2, 4)}.get(fault))
    if fault in ("kill", "freeze"):
        striker.signal(signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
    return striker


class Output:
    """The lines of a process as they come, with the time of the newest."""

    def __init__(self, process):
        self.lines, self.newest = [], time.monotonic()
        self._process = process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line)
            self.newest = time.monotonic()

    def result(self):
        self._thread.join()
        return json.loads(self.lines[-1])


def commands(system, model, epochs, code):
    """The environment and the arguments of each process. The first one reports, and the last one is struck."""
    words = [system, model, str(epochs)]
    if system == "ddp":
        port = str(20000 + os.getpid() % 10000)
        return [({}, [*words, str(rank), str(WORKERS), port]) for rank in range(WORKERS)]
    address, token = f"unix://motley-bench-{secrets.token_hex(8)}", secrets.token_hex(16)
    server = {"MOTLEY_ROLE": "server", "MOTLEY_LISTEN": address, "MOTLEY_TOKEN": token, "MOTLEY_WORKERS": str(WORKERS)}
    worker = {"MOTLEY_ROLE": "worker", "MOTLEY_SERVER": address, "MOTLEY_TOKEN": token}
    words += [code] if code else []
    return [(server, words), *[(worker | {"MOTLEY_WORKER_NAME": f"w{i}"}, words) for i in range(WORKERS)]]


def run(flags, system, model, fault, epochs):
    """Returns the result that the first process printed (None: there is none), the steps it did, and the outcome."""
    with contextlib.ExitStack() as ends:
        errors = ends.enter_context(tempfile.TemporaryFile("w+"))
        processes = []
        for variables, words in commands(system, model, epochs, flags.code):
            processes.append(subprocess.Popen([flags.python, SCRIPT, *words], stdin=subprocess.DEVNULL, text=True,
                                              stdout=subprocess.PIPE if not processes else subprocess.DEVNULL,
                                              stderr=errors if not processes else subprocess.DEVNULL,
                                              env=flags.environment | variables))
            ends.callback(processes[-1].wait)
            ends.callback(processes[-1].kill)
        output, striker = Output(processes[0]), None
        while processes[0].poll() is None:
            time.sleep(0.02)
            if striker is None and len(output.lines) >= WARM_UP:
                striker = strike(fault, processes[-1])
                ends.callback(striker.close)
            if time.monotonic() - output.newest > HANGS:
                return None, len(output.lines), "hangs"
        if processes[0].returncode != 0:
            errors.seek(0)
            why = (errors.read().strip() or f"status {processes[0].returncode}").split("\n")[-1]
            return None, len(output.lines), f"ended: {why[:100]}"
        return output.result(), len(output.lines) - 1, "done"


def alone(flags, model, epochs):
    return peer_tools.run_json([flags.python, "-c", "import subprocess, sys; print(subprocess.run(sys.argv[1:], "
                                "stdout=-1, text=True, check=True).stdout.strip().split(chr(10))[-1])", flags.python,
                                str(SCRIPT), "motley", model, str(epochs)], flags.environment)


def measure(flags, model):
    """Yields a row for each system and fault."""
    reference = alone(flags, model, 2)
    rate = (len(reference["times"]) - 1) / (reference["times"][-1] - reference["times"][0])
    epochs = max(2, round(flags.seconds * rate / MODELS[model]))
    reference = alone(flags, model, epochs)
    for system in flags.systems:
        for fault in flags.faults:
            result, done, outcome = run(flags, system, model, fault, epochs)
            row = {"model": model, "system": system, "fault": fault, "workers": WORKERS, "steps_per_second": None,
                   "lost_steps": epochs * MODELS[model] - done, "outcome": outcome}
            if result is not None:
                off = abs(result["final_loss"] - reference["final_loss"])
                if not off <= LOSS_TOLERANCE * reference["final_loss"]:
                    sys.exit(f"{model}, {system}, {fault}: the final loss is {result['final_loss']}, and "
                             f"{reference['final_loss']} in one process alone")
                times = result["times"][WARM_UP:]
                row["steps_per_second"] = (len(times) - 1) / (times[-1] - times[0])
            yield row


def names(known):
    def read(text):
        unknown = [word for word in text.split(",") if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no '{unknown[0]}': {', '.join(known)}")
        return text.split(",")
    return read


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library", help="libmotley.so.1")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--models", type=names(MODELS), default=list(MODELS))
    parser.add_argument("--systems", type=names(["motley", "ddp"]), default=["motley", "ddp"])
    parser.add_argument("--faults", type=names(FAULTS), default=list(FAULTS))
    parser.add_argument("--code", help="Motley's; auto if not given")
    parser.add_argument("--seconds", type=float, default=15, help="about how long one process alone takes")
    flags = parser.parse_args(words)
    flags.python = peer_tools.torch_python()
    flags.environment = peer_tools.ENVIRONMENT | {"MOTLEY_LIBRARY": str(pathlib.Path(flags.library).resolve())}
    if core := peer_tools.openblas_core():
        flags.environment["OPENBLAS_CORETYPE"] = core
    return flags


def main():
    flags = parse(sys.argv[1:])
    if flags.python is None:
        print("torch_training.py: skipped: python3-torch is not installed", file=sys.stderr)
        sys.exit(77)
    peer_tools.refuse_reference_blas(flags.python)
    # Ends by an exception, so that the processes are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rows = []
    for model in flags.models:
        for row in measure(flags, model):
            rows.append(row)
            if not flags.json:
                rate = f"{row['steps_per_second']:.1f} steps/s" if row["steps_per_second"] else row["outcome"]
                print(f"{row['model']:<12} {row['system']:<7} {row['fault']:<7} {rate:<30} "
                      f"{row['lost_steps']} steps lost", flush=True)
    if flags.json:
        print(json.dumps(rows, indent=2))
    sys.exit(1 if any(row["system"] == "motley" and row["outcome"] != "done" for row in rows) else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
