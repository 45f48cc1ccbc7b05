#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures real worker processes of emulated speeds 1 : 1 : 0.5 : 0.25, each figure as a ratio to its bound.

Usage: local_cluster.py MOTLEY [--json]. Run by `./dev bench cluster`; about two minutes. Before a figure is printed,
every run's final loss must equal that of the undisturbed run.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).parents[1] / "examples" / "data" / "digits.csv.gz"
SPEEDS = [1, 1, 0.5, 0.25]
BATCH, STEPS = 256, 200
SETTLED = 30  # Steps within which shares must follow a change of speed.


def train(motley, *options):
    """Returns the run's JSON and the seconds between consecutive commits."""
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        command = [motley, "train", "--data", str(DATA), "--model", "mlp:64", "--optimizer",
                   "sgd", "--lr", "0.01", "--batch", str(BATCH), "--steps", str(STEPS), "--workers", "4",
                   "--worker-speeds", ",".join(map(str, SPEEDS)), "--json", "--quiet", "--trace",
                   trace.name, *options]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        events = json.loads(pathlib.Path(trace.name).read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    ends = {}
    for event in events:
        if event["ph"] == "X" and event["tid"] == 0:
            step = event["args"]["step"]
            ends[step] = max(ends.get(step, 0), event["ts"] + event["dur"])
    commits = [ends[step] / 1e6 for step in sorted(ends)]
    return json.loads(run.stdout), [b - a for a, b in zip(commits, commits[1:])]


def full_steps(seconds, result):
    """The steps without the last, smaller batch of each epoch."""
    per_epoch = round(result["steps"] / result["epochs"])
    return [s for i, s in enumerate(seconds, 1) if (i + 1) % per_epoch != 0]


def measure(motley):
    rows = []
    clean, clean_steps = train(motley, "--code", "none")
    sample = clean["emulation"]["sample_seconds"]
    rows.append(("undisturbed, no code", "samples/s", clean["samples_per_second"], "allowed by the speeds",
                 clean["samples_per_second"] / clean["emulation"]["allowed_samples_per_second"]))

    slow, steps = train(motley, "--code", "none", "--fault", f"slow:0@step={STEPS // 2},5x")
    optimum = BATCH * sample / (sum(SPEEDS) - SPEEDS[0] * 0.8)
    after = statistics.median(full_steps(steps, slow)[-(STEPS // 2 - SETTLED) * 5 // 6:])
    rows.append((f"worker 0 five times slower, {SETTLED} steps later", "s/step", after,
                 "optimum of the new speeds", after / optimum))

    equal, equal_steps = train(motley, "--code", "none", "--shares", "equal")
    rows.append(("equal shares", "s/step", statistics.median(full_steps(equal_steps, equal)),
                 "shares by speed", statistics.median(full_steps(equal_steps, equal)) /
                 statistics.median(full_steps(clean_steps, clean))))

    for code in ("repetition", "cyclic", "heterogeneous", "rs"):
        result, _ = train(motley, "--code", code, "--tolerate", "1", "--fault",
                          f"pause:1@step={STEPS // 4},2s", "--fault", f"kill:2@step={STEPS // 2}")
        difference = abs(result["final_loss"] - clean["final_loss"]) / clean["final_loss"]
        if difference > 1e-4 or result["discarded_steps"] != 0 or not result["workers"][2]["lost"]:
            sys.exit(f"{code}: the disturbed run differs from the undisturbed one: {result}")
        rows.append((f"{code}, one paused, one killed", "s, slowest step", result["step_seconds"]["max"],
                     "its median step", result["step_seconds"]["max"] / result["step_seconds"]["median"]))
    for result in (slow, equal):
        if abs(result["final_loss"] - clean["final_loss"]) > 1e-4 * clean["final_loss"]:
            sys.exit("the final losses differ")
    return rows


def main():
    rows = measure(sys.argv[1])
    keys = ("what", "unit", "value", "baseline", "ratio")
    if "--json" in sys.argv[2:]:
        print(json.dumps([dict(zip(keys, row)) for row in rows], indent=2))
        return
    for what, unit, value, baseline, ratio in rows:
        print(f"{what:<44}{value:>10.4g} {unit:<16}{ratio:>7.2f} x {baseline}")


if __name__ == "__main__":
    main()
