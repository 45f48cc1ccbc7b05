#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares modes of synchronisation by `motley compare`, on simulated clusters with real gradients.

Usage: sync.py MOTLEY [--data DIR] [--only tables|accuracy|staleness|local] [--json]. Run by `./dev bench sync`. Takes
about an hour and a half on one core. DIR has the folders a9a and mnist (default: shared/data beside the checkout).

tables: the time to a target of every mode, on eight workers that are equal, unequal, and unequal with pauses.
accuracy: the final accuracy of dana and asp beside bsp at the same rate, for 8, 16 and 32 equal workers and 10 seeds,
with the 95 % upper bound of the mean difference (Student's t of the paired differences). For 32 workers also with four
times as many updates, a warm-up and a falling rate.
staleness: the final accuracy of asp with each --staleness, for 8, 16 and 32 equal workers and 3 seeds.
local: the losses of bsp after 10 epochs and of local:16 after 12, for 10 seeds. Workers are threads of this
machine, and the shares of local:16 follow their measured speeds, so its losses differ from run to run.

JSON: {"tables": {NAME: what `motley compare --json` prints}, "accuracy": array of `workers, batch, bsp, dana, asp,
dana_upper_bound, asp_upper_bound`, in parts of 1, "staleness": array of `workers, none, rate, gap`, "local": array of
`sync, final_loss, test_loss, test_accuracy`, means over the seeds}. Exits with 1 if a run fails, or if nobody reaches
a target.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
MODES = "bsp,backup:1,local:4,ssp:3,dssp:1,6,asp,dana,r2sp"
CLUSTERS = ("equal", "spread", "pauses")
TABLES = {
    "a9a": ("a9a/a9a:test={}/a9a/a9a.t", "--model", "logistic", "--batch", "64", "--epochs", "4", "--target-loss",
            "0.33", "--rates", "0.3,0.1,0.03,0.01,0.003"),
    "mnist": ("mnist", "--model", "mlp:128", "--epochs", "4", "--target-accuracy", "0.93", "--rates", "0.1,0.03,0.01"),
}
# The 95 % quantile of Student's t with nine degrees of freedom.
STUDENT_9 = 1.833


def compare(motley, data, *arguments):
    done = subprocess.run([motley, "compare", "--data", data, *arguments, "--json", "--quiet"], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"motley compare {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def run_tables(motley, folder):
    tables = {}
    for name, (data, *arguments) in TABLES.items():
        tables[name] = []
        for cluster in CLUSTERS:
            trials = compare(motley, f"{folder}/{data.format(folder)}", *arguments, "--sync", MODES, "--cluster",
                             str(HERE / "sync" / f"{cluster}.toml"))
            if not any(trial["seeds_that_reach_it"] for trial in trials):
                sys.exit(f"{name}, {cluster}: no mode reaches the target")
            tables[name] += trials
    return tables


def upper_bound(differences):
    """The 95 % upper bound of the mean of ten values."""
    return statistics.mean(differences) + STUDENT_9 * statistics.stdev(differences) / math.sqrt(len(differences))


def final_accuracies(motley, folder, modes, workers, *recipe):
    trials = compare(motley, f"{folder}/mnist", "--model", "mlp:128", "--epochs", "12", "--sync", modes,
                     "--seeds", "10", "--workers", str(workers), "--target-accuracy", "0.9", *recipe)
    return {trial["sync"]: [seed["final_accuracy"] for seed in trial["by_seed"]] for trial in trials}


def run_accuracy(motley, folder):
    runs = [(workers, 32, final_accuracies(motley, folder, "bsp,dana,asp", workers, "--lr", "0.01"))
            for workers in (8, 16, 32)]
    small = ("--batch", "8", "--lr", "0.005", "--schedule", "cosine:warmup=1000")
    # One worker has the same gradients of bsp as 32, in a small part of the time.
    runs.append((32, 8, {**final_accuracies(motley, folder, "bsp", 1, *small),
                         **final_accuracies(motley, folder, "dana,asp", 32, *small)}))
    found = []
    for workers, batch, by_mode in runs:
        one = {"workers": workers, "batch": batch, **{mode: statistics.mean(each) for mode, each in by_mode.items()}}
        for mode in ("dana", "asp"):
            one[f"{mode}_upper_bound"] = upper_bound([bsp - own for bsp, own in zip(by_mode["bsp"], by_mode[mode])])
        found.append(one)
    return found


def run_staleness(motley, folder):
    found = []
    for workers in (8, 16, 32):
        one = {"workers": workers}
        for how in ("none", "rate", "gap"):
            trials = compare(motley, f"{folder}/mnist", "--model", "mlp:128", "--epochs", "12", "--sync", "asp",
                             "--staleness", how, "--lr", "0.01", "--workers", str(workers), "--target-accuracy", "0.9")
            one[how] = trials[0]["final_accuracy"]
        found.append(one)
    return found


def train(motley, folder, *arguments):
    done = subprocess.run([motley, "train", "--data", f"{folder}/mnist", "--model", "mlp:128", "--workers", "4",
                           "--optimizer", "momentum", "--schedule", "cosine", *arguments, "--json"],
                          text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"motley train {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def run_local(motley, folder):
    found = []
    for sync, batch, more in (("bsp", "128", ("--epochs", "10")),
                              ("local:16", "32", ("--epochs", "12", "--outer-momentum", "0.3"))):
        runs = [train(motley, folder, "--sync", sync, "--batch", batch, "--lr", "0.15", "--seed", str(seed), *more)
                for seed in range(1, 11)]
        one = {"sync": sync}
        for figure in ("final_loss", "test_loss", "test_accuracy"):
            one[figure] = statistics.mean(run[figure] for run in runs)
        found.append(one)
    return found


def cell(trial):
    if trial["seeds_that_reach_it"] == 0:
        return "not reached"
    text = f"{trial['seconds_to_target_mean']:.1f}"
    if trial["seconds_to_target_stddev"] is not None:
        text += f" ± {trial['seconds_to_target_stddev']:.1f}"
    if trial["seeds_that_reach_it"] < trial["seeds"]:
        text += f" ({trial['seeds_that_reach_it']} of {trial['seeds']})"
    return text


def print_table(trials):
    clusters = list(dict.fromkeys(trial["cluster"] for trial in trials))
    print(f"| `--sync` | {' | '.join(clusters)} |")
    print(f"|---|{'---|' * len(clusters)}")
    for mode in dict.fromkeys(trial["sync"] for trial in trials):
        cells = [cell(trial) for trial in trials if trial["sync"] == mode]
        print(f"| `{mode}` | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("motley")
    parser.add_argument("--data", default=str(HERE.parent.parent / "shared" / "data"))
    parser.add_argument("--only", choices=("tables", "accuracy", "staleness", "local"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not (pathlib.Path(given.data) / "mnist").is_dir():
        sys.exit(f"there is no folder mnist in {given.data}: name the folder of the data with --data")
    result = {}
    for name, run in (("tables", run_tables), ("accuracy", run_accuracy), ("staleness", run_staleness),
                      ("local", run_local)):
        if given.only in (None, name):
            result[name] = run(given.motley, given.data)
    if given.json:
        print(json.dumps(result, indent=2))
        return
    for name, trials in result.get("tables", {}).items():
        print(f"\n{name}, seconds to {trials[0]['target']}:\n")
        print_table(trials)
    for one in result.get("accuracy", []):
        print(f"{one['workers']} workers, batches of {one['batch']}: bsp {one['bsp']:.4f}, dana {one['dana']:.4f} (bsp "
              f"is at most {one['dana_upper_bound']:.4f} better), asp {one['asp']:.4f} ({one['asp_upper_bound']:.4f})")
    for one in result.get("staleness", []):
        print(f"{one['workers']} workers: asp {one['none']:.4f}, with --staleness rate {one['rate']:.4f}, "
              f"gap {one['gap']:.4f}")
    for one in result.get("local", []):
        print(f"{one['sync']}: loss {one['final_loss']:.4f}, test loss {one['test_loss']:.4f}, "
              f"test accuracy {one['test_accuracy']:.4f}")


if __name__ == "__main__":
    main()
