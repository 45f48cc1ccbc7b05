#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the sum of N processes' vectors, sent back to all of them, with gloo and OpenMPI.

Usage: sum.py MOTLEY_SUM [--json] [--workers N] [--megabytes M] [--rounds N]. Run by `./dev bench sum`; about two
minutes. The systems run in turns, and each result is checked. The last lines compare Motley's fastest way with gloo,
and with the better transport of OpenMPI.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import peer_tools

HERE = pathlib.Path(__file__).parent
REPETITIONS, WARMUPS = 9, 2


def fastest(medians, prefix):
    """The name with the smallest median among those that begin with the prefix, or None."""
    names = [name for name in medians if name.startswith(prefix)]
    return min(names, key=medians.get, default=None)


def comparison(medians):
    """Motley's fastest way, and the ratio of its time to that of each other system's fastest way."""
    ours = fastest(medians, "Motley")
    others = [other for prefix in ("PyTorch gloo", "OpenMPI") if (other := fastest(medians, prefix))]
    return ours, {other: medians[ours] / medians[other] for other in others}


def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args(words)


def measure(flags):
    """Returns {name: median in ms}, and {name: why it is left out}."""
    workers = str(flags.workers)
    size = [str(flags.megabytes), str(REPETITIONS)]
    ours = [flags.program, "--workers", workers, "--megabytes", size[0], "--repetitions", size[1],
            "--warmups", str(WARMUPS), "--threads", str(os.cpu_count() or 1)]
    commands = {"Motley": ours, "Motley, TCP": [*ours, "--tcp"]}
    commands["Motley, direct"] = [*ours, "--reduce", "direct"]
    for name in ("direct", "ring", "tree", "butterfly", "hierarchical"):
        commands[f"Motley, {name}, TCP"] = [*ours, "--tcp", "--reduce", name]
    left_out = {}
    python = peer_tools.torch_python()
    if python:
        commands["PyTorch gloo"] = [python, str(HERE / "peers" / "gloo_sum.py"), workers, *size,
                                    "--warmups", str(WARMUPS)]
    else:
        left_out["PyTorch gloo"] = "python3-torch is not installed"
    with tempfile.TemporaryDirectory() as folder:
        if peer_tools.has_mpi():
            program = peer_tools.mpi_program(HERE / "peers" / "mpi_sum.c", folder)
            for name, transport in (("OpenMPI, TCP", "tcp"), ("OpenMPI, shared memory", "vader")):
                commands[name] = [*peer_tools.mpirun(workers, transport), program, *size, str(WARMUPS)]
        else:
            left_out["OpenMPI"] = "libopenmpi-dev and openmpi-bin are not installed"
        return peer_tools.by_turns(commands, flags.rounds, "median_ms"), left_out


def rows(flags, medians):
    """The rows as wire.py has them. There is no bound, because no link has a limit."""
    return [{"system": name, "links": "loopback", "megabytes": flags.megabytes, "workers": flags.workers,
             "seconds": value / 1e3, "bound_seconds": None} for name, value in medians.items()]


def main():
    flags = parse(sys.argv[1:])
    medians, left_out = measure(flags)
    star = medians["Motley"]
    best, ratios = comparison(medians)
    if flags.json:
        print(json.dumps({"megabytes": flags.megabytes, "workers": flags.workers, "median_ms": medians,
                          "ratio_to_motley": {name: value / star for name, value in medians.items()},
                          "fastest": best, "fastest_to_others": ratios,
                          "left_out": left_out, "rows": rows(flags, medians)}, indent=2))
        return
    print(f"{flags.megabytes:g} MB of float32, {flags.workers} worker processes: ms until all have the sum")
    for name, value in medians.items():
        print(f"{name:<28}{value:>9.1f} ms{value / star:>8.2f} x Motley")
    for name, ratio in ratios.items():
        print(f"{best} takes {ratio:.2f} of the time of {name}")
    for name, why in left_out.items():
        print(f"{name:<28}left out: {why}")


if __name__ == "__main__":
    main()
