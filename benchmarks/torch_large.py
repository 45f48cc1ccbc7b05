#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a PyTorch module of 100 million parameters, and compares a step with its least cost.

Usage: torch_large.py LIBMOTLEY [--json] [--workers N] [--layers N] [--width N] [--batch N] [--steps N]. Run by
`./dev bench torch --large`. Takes about two minutes and 4 GB of memory. The least cost is the sum of two times, which
the same run measures: forward and backward of the batch by plain PyTorch, and two vectors over a TCP connection on
loopback, as one worker's answer and the next parameters are. All processes have one thread.

JSON: one object: `parameters, workers, backward_seconds, link_seconds, step_seconds, ratio`, and `worker_copies`: for
each place where the package copies a whole vector, how often a worker does so in a step. What the library does between
its buffers and the connection is not counted. Before a figure is printed, the final loss must equal that of one process
alone, to 1e-4. The reference BLAS is refused, because its slow products would hide all other costs.
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import peer_tools

SCRIPT = pathlib.Path(__file__).parent / "peers" / "torch_large_script.py"
LOSS_TOLERANCE = 1e-4
WARM_UP = 2  # Steps.


def link_seconds(size):
    """The time of two vectors of so many bytes, one after the other, over one connection."""
    times, piece = [], bytes(1 << 20)
    with socket.create_server(("127.0.0.1", 0)) as server:
        # The receiver is a process of its own, as at the other end of a job's link.
        receive = ("import socket, sys\nlink = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                   "into = bytearray(1 << 20)\nwhile True:\n  left = int(sys.argv[2])\n"
                   "  while left > 0:\n    got = link.recv_into(into, min(left, 1 << 20))\n"
                   "    if got == 0: sys.exit()\n    left -= got\n  link.sendall(b'x')\n")
        with subprocess.Popen([sys.executable, "-c", receive, str(server.getsockname()[1]), str(size)]) as other:
            link, _ = server.accept()
            with link:
                for _ in range(3):
                    began = time.monotonic()
                    for _ in range(2):
                        left = size
                        while left > 0:
                            link.sendall(piece[:min(left, len(piece))])
                            left -= min(left, len(piece))
                        link.recv(1)
                    times.append(time.monotonic() - began)
            other.wait()
    return statistics.median(times)


def start(flags, ends, role, variables):
    errors = ends.enter_context(tempfile.TemporaryFile("w+"))
    words = [flags.python, SCRIPT, str(flags.layers), str(flags.width), str(flags.batch), str(flags.steps)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
                               env=flags.environment | variables | ({"MOTLEY_ROLE": role} if role else {}))
    ends.callback(process.wait)
    ends.callback(process.kill)
    return process, errors


def result(process, errors):
    """What a process printed at its end."""
    output, _ = process.communicate(timeout=900)
    if process.returncode != 0:
        errors.seek(0)
        sys.exit(f"a process ended with status {process.returncode}: {errors.read().strip()[-500:]}")
    return json.loads(output.strip().split("\n")[-1])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def train(flags):
    """The results of the server and of the workers."""
    address, token = f"127.0.0.1:{free_port()}", secrets.token_hex(16)
    with contextlib.ExitStack() as ends:
        started = [start(flags, ends, "server", {"MOTLEY_LISTEN": address, "MOTLEY_TOKEN": token,
                                                 "MOTLEY_WORKERS": str(flags.workers)})]
        for number in range(flags.workers):
            started.append(start(flags, ends, "worker", {"MOTLEY_SERVER": address, "MOTLEY_TOKEN": token,
                                                         "MOTLEY_WORKER_NAME": f"w{number}"}))
        with concurrent.futures.ThreadPoolExecutor(len(started)) as pool:
            return list(pool.map(lambda of: result(*of), started))


def measure(flags):
    with contextlib.ExitStack() as ends:
        alone = result(*start(flags, ends, None, {}))
    server, *workers = train(flags)
    off = abs(server["final_loss"] - alone["final_loss"])
    if not off <= LOSS_TOLERANCE * abs(alone["final_loss"]):
        sys.exit(f"the final loss is {server['final_loss']}, and {alone['final_loss']} in one process alone")
    times = server["times"][WARM_UP:]
    step = statistics.median(after - before for before, after in zip(times, times[1:]))
    backward = statistics.median(alone["backward"][WARM_UP:])
    link = link_seconds(4 * alone["parameters"])
    copies = {place: count / workers[0]["steps"] for place, count in workers[0]["copies"].items()}
    return {"parameters": alone["parameters"], "workers": flags.workers, "backward_seconds": backward,
            "link_seconds": link, "step_seconds": step, "ratio": step / (backward + link), "worker_copies": copies}


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 is needed")
    return int(text)


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library", help="libmotley.so.1")
    parser.add_argument("--json", action="store_true")
    for name, default, what in (("workers", 1, "processes that compute"), ("layers", 24, "linear layers"),
                                ("width", 2048, "inputs and outputs of a layer"), ("batch", 64, "samples of a step"),
                                ("steps", 10, "steps, two of which are warm-up")):
        parser.add_argument(f"--{name}", type=positive, default=default, help=what)
    flags = parser.parse_args(words)
    if flags.steps < WARM_UP + 2:
        parser.error(f"--steps {flags.steps}: at least {WARM_UP + 2} are needed")
    flags.python = peer_tools.torch_python()
    flags.environment = peer_tools.ENVIRONMENT | {"MOTLEY_LIBRARY": str(pathlib.Path(flags.library).resolve())}
    if core := peer_tools.openblas_core():
        flags.environment["OPENBLAS_CORETYPE"] = core
    return flags


def main():
    flags = parse(sys.argv[1:])
    if flags.python is None:
        print("torch_large.py: skipped: python3-torch is not installed", file=sys.stderr)
        sys.exit(77)
    peer_tools.refuse_reference_blas(flags.python)
    # Ends by an exception, so that the processes are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found = measure(flags)
    if flags.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['parameters'] / 1e6:.1f} million parameters, {found['workers']} workers\n"
          f"forward and backward alone   {found['backward_seconds']:8.3f} s\n"
          f"two vectors over the link    {found['link_seconds']:8.3f} s\n"
          f"a step of the job            {found['step_seconds']:8.3f} s, {found['ratio']:.2f} of their sum")
    for place, count in found["worker_copies"].items():
        print(f"copies per step: {place:<22} {count:g}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
