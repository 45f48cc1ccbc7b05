#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows whose loss is a mean over all tokens of a batch where sequences have unequal lengths.

Usage: torch_means.py LIBMOTLEY [--json] [--epochs N] [--python PROGRAM]. Run by `./dev bench torch --means`; half a
minute. Four processes train on the same batches by Motley, PyTorch DDP and Hugging Face Accelerate, beside one process
alone. An interpreter without accelerate leaves that line out: `pip install accelerate torch` in a virtual environment,
and `--python ENVIRONMENT/bin/python`.

JSON: an array of `system, workers, steps, largest_loss_error`, where the error is relative to the loss of one process
alone in the same step. Ends with 1 if Motley's is above 1e-6.
"""

import argparse
import contextlib
import json
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile

import peer_tools

SCRIPT = pathlib.Path(__file__).parent / "peers" / "torch_means_script.py"
WORKERS = 4
MOST = 1e-6
SYSTEMS = {"motley": "Motley", "ddp": "PyTorch DDP, gloo", "accelerate": "Accelerate"}


class Processes:
    """Ends all processes at the end of a `with`."""

    def __init__(self, flags):
        self._flags, self._ends, self._started = flags, contextlib.ExitStack(), []

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self._ends.close()

    def start(self, *words, **variables):
        errors = self._ends.enter_context(tempfile.TemporaryFile("w+"))
        process = subprocess.Popen([self._flags.python, SCRIPT, *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=errors, text=True,
                                   env=self._flags.environment | variables)
        self._ends.callback(process.wait)
        self._ends.callback(process.kill)
        self._started.append((process, errors))

    def losses(self):
        """What the first process found."""
        outputs = []
        for process, errors in self._started:
            outputs.append(process.communicate(timeout=600)[0])
            if process.returncode != 0:
                errors.seek(0)
                sys.exit(f"a process ended with status {process.returncode}: {errors.read().strip()[-500:]}")
        return json.loads(outputs[0].strip().split("\n")[-1])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def train(flags, system):
    with Processes(flags) as processes:
        port = free_port()
        if system == "motley":
            known = {"MOTLEY_TOKEN": secrets.token_hex(16)}
            processes.start("motley", flags.epochs, MOTLEY_ROLE="server", MOTLEY_LISTEN=f"127.0.0.1:{port}",
                            MOTLEY_WORKERS=str(WORKERS), **known)
            for number in range(WORKERS):
                processes.start("motley", flags.epochs, MOTLEY_ROLE="worker", MOTLEY_SERVER=f"127.0.0.1:{port}",
                                MOTLEY_WORKER_NAME=f"w{number}", **known)
        else:
            for rank in range(WORKERS):
                processes.start(system, flags.epochs, rank, WORKERS, port)
        return processes.losses()


def train_alone(flags):
    with Processes(flags) as processes:
        processes.start("motley", flags.epochs)
        return processes.losses()


def has_accelerate(python):
    return subprocess.run([python, "-c", "import accelerate"], capture_output=True, check=False).returncode == 0


def measure(flags):
    alone, rows = train_alone(flags), []
    for system in SYSTEMS:
        if system == "accelerate" and not has_accelerate(flags.python):
            print("torch_means.py: accelerate is left out: this interpreter does not have it (see --python)",
                  file=sys.stderr)
            continue
        losses = train(flags, system)
        if len(losses) != len(alone):
            sys.exit(f"{system} made {len(losses)} steps, and one process alone {len(alone)}")
        error = max(abs(own - other) / other for own, other in zip(losses, alone))
        rows.append({"system": system, "workers": WORKERS, "steps": len(losses), "largest_loss_error": error})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library", help="libmotley.so.1")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--epochs", type=int, choices=range(1, 101), default=3, metavar="N")
    parser.add_argument("--python", help="an interpreter with torch, and with accelerate if it is to be shown")
    flags = parser.parse_args()
    flags.python = flags.python or peer_tools.torch_python()
    if flags.python is None:
        print("torch_means.py: skipped: python3-torch is not installed", file=sys.stderr)
        sys.exit(77)
    flags.environment = peer_tools.ENVIRONMENT | {"MOTLEY_LIBRARY": str(pathlib.Path(flags.library).resolve())}
    rows = measure(flags)
    if flags.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"{'':<20}largest error of a step's loss, of {rows[0]['steps']} steps")
        for row in rows:
            print(f"{SYSTEMS[row['system']]:<20}{row['largest_loss_error']:.1e}")
    if rows[0]["largest_loss_error"] > MOST:
        sys.exit(f"Motley's losses differ from those of one process by more than {MOST:g}")


if __name__ == "__main__":
    main()
