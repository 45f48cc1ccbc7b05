#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration behind `./dev demo`: the same training twice, on four unequal workers.

First with Motley's shares and a code, while one worker is paused for two seconds and another is killed; then the
baseline: equal shares, no code, the same pause, nobody killed.
"""

import json
import pathlib
import subprocess
import sys

DATA = pathlib.Path(__file__).parent / "data" / "digits.csv.gz"
SPEEDS = "1,1,0.5,0.25"
STEPS = 240
COMMON = ["--data", str(DATA), "--split", "0.8", "--model", "mlp:64", "--optimizer", "momentum",
          "--lr", "0.005", "--batch", "128", "--steps", str(STEPS), "--seed", "7",
          "--workers", "4", "--worker-speeds", SPEEDS, "--sample-time", "1ms",
          "--fault", f"pause:1@step={STEPS // 4},2s"]
TARGET = 0.95


def train(motley, title, *options):
    print(f"\n{title}", flush=True)
    command = [motley, "train", *COMMON, *options, "--json"]
    print("  motley " + " ".join(command[1:-1]), flush=True)
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def table(result):
    print(f"\n  {'worker':<10}{'speed':>7}{'share':>8}{'in time':>9}{'late':>6}  lost")
    total = sum(w["samples"] for w in result["workers"]) or 1
    for worker in result["workers"]:
        print(f"  {worker['name']:<10}{worker['relative_speed']:>7.2f}{worker['samples'] / total:>8.0%}"
              f"{worker['steps_in_time']:>9}{worker['late']:>6}  {'yes' if worker['lost'] else 'no'}")


def main():
    motley = sys.argv[1]
    coded = train(motley, "Motley: shares by speed, any one worker may be missing; worker 1 is paused for 2 s, "
                  "worker 2 is killed", "--code", "heterogeneous", "--tolerate", "1",
                  "--fault", f"kill:2@step={STEPS // 2}")
    table(coded)
    print(f"\n  {coded['steps']} steps in {coded['wall_seconds']:.1f} s, none discarded, decoded "
          f"gradients within {coded['max_decode_error']:.0e} of the direct sum")
    plain = train(motley, "Baseline: equal shares, no code; the same pause, nobody killed (waiting for a dead worker "
                  "never ends)", "--code", "none", "--shares", "equal")
    table(plain)
    ratio = coded["steps_per_second"] / plain["steps_per_second"]
    print(f"\n  {'':<10}{'steps/s':>9}{'test accuracy':>15}{'final loss':>12}")
    for name, result in (("Motley", coded), ("baseline", plain)):
        print(f"  {name:<10}{result['steps_per_second']:>9.2f}{result['test_accuracy']:>15.1%}"
              f"{result['final_loss']:>12.5f}")
    print(f"\n  {ratio:.2f}x the baseline's steps per second, with one worker fewer at the end.")
    if coded["test_accuracy"] < TARGET:
        print(f"demo: test accuracy is below {TARGET:.0%}: please report this.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
