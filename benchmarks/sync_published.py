#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts modes of synchronisation beside published figures, by `motley compare` on simulated clusters.

Usage: sync_published.py MOTLEY [--only link|chaos] [--learners N] [--seconds S] [--json]. Run by `./dev bench
published`. The data are the digits of the examples. The tables are in docs/explanation/which-mode.md, with what is
known of the publications.

link: the pace, and the time to a target, of bsp, asp and r2sp where the server's link is the limit. R2SP's abstract
(Chen, Wang, Li: INFOCOM 2019) says "up to 25 %".
chaos: the goodput of bsp and local:H while learners pause at random. Google DeepMind's announcement of Decoupled
DiLoCo (arXiv 2604.21428) says 88 %, and 27 % for data parallel training.

JSON: {"link": array of `cluster, sync, batch, rate, samples_per_second, seconds, accuracy`, "chaos": array of
`learners, sync, pauses, seconds, goodput, there`}, where `there` is the part of the time that learners do not pause.
Exits with 1 if a run fails.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
DIGITS = HERE.parent / "examples" / "data" / "digits.csv.gz"
LINKS = (100, 30, 10, 3)  # Mbit/s
WORKERS = 8
OVERHEAD, SAMPLE_SECONDS = 0.001, 1 / 1000  # A batch takes these seconds, and each of its samples.
VECTOR = (64 * 64 + 64 + 64 * 10 + 10) * 32 / 1e6  # Mbit, for mlp:64 on the digits.
# Which samples meet in a batch changes the time to a target by up to a fifth, so batches of three sizes are averaged.
WORKER_BATCHES = (24, 32, 40)
# A batch for each worker: all eight share one of eight times the size, or each has one of its own.
LINK_MODES = (("bsp", WORKERS, "1,0.5,0.3", 40), ("bsp", 1, "1,0.5,0.3", 20), ("asp", 1, "0.5,0.3,0.1", 20),
              ("r2sp", 1, "0.5,0.3,0.1", 20))

# A cluster of 1,200,000 chips that fail once a year each has a failure every 26 s. If each failure stopped everybody
# for 71 s, as in data parallel training, the goodput would be 26.3 / (26.3 + 71) = 27 %.
GAP, PAUSE = 26.3, 71.0
DATA_PARALLEL = GAP / (GAP + PAUSE)
LEAST_LENGTH = 200
LEARNERS = (8, 16, 32)
BATCH = 16  # Samples of a learner's step, which takes a second.


def compare(motley, cluster, *arguments):
    """The only trial."""
    command = [motley, "compare", "--data", DIGITS, "--cluster", HERE / "sync" / f"{cluster}.toml", "--optimizer",
               "sgd", *arguments, "--json", "--quiet"]
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"motley compare {' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout)[0]


def run_link(motley):
    found = []
    for link in LINKS:
        for sync, share, rates, epochs, size in [(*mode, size) for mode in LINK_MODES for size in WORKER_BATCHES]:
            batch = share * size
            trial = compare(motley, f"link-{link}", "--model", "mlp:64", "--batch", batch, "--epochs", epochs, "--sync",
                            sync, "--rates", rates, "--target-accuracy", 0.94)
            pace = statistics.mean(seed["samples"] / seed["seconds"] for seed in trial["by_seed"])
            all_reach = trial["seeds_that_reach_it"] == trial["seeds"]
            found.append({"cluster": trial["cluster"], "sync": sync, "batch": batch, "rate": trial["rate"],
                          "samples_per_second": pace, "seconds": trial["seconds_to_target_mean"] if all_reach else None,
                          "accuracy": trial["final_accuracy"]})
    return found


def pauses(learners, seconds, step_seconds):
    """Faults for `motley compare`: one every GAP seconds on average, of a learner that does not pause."""
    chance = random.Random(1)
    back = [0.0] * learners
    now, faults = 0.0, []
    while True:
        now += chance.expovariate(1 / GAP)
        if now + PAUSE > seconds:
            return faults
        there = [learner for learner in range(learners) if back[learner] <= now]
        if len(there) > 1:
            learner = chance.choice(there)
            back[learner] = now + PAUSE
            faults += ["--fault", f"pause:{learner}@step={max(1, int(now / step_seconds))},{PAUSE:g}s"]


def run_chaos_of(motley, learners, sync, batch, step_samples, length):
    """The goodput: samples in updates, per second, relative to a run without pauses."""
    steps = length * BATCH * learners // step_samples
    arguments = ("--model", "softmax", "--lr", 0.01, "--batch", batch, "--steps", steps, "--seeds", 1, "--sync", sync,
                 "--evaluate-every", steps, "--target-accuracy", 0.5)
    cluster = f"learners-{learners}"
    calm = compare(motley, cluster, *arguments)["by_seed"][0]
    goodput, faults, done = 1.0, [], calm
    # A fault strikes at a step. So the times of the steps are those of the run before, which had about the same pauses.
    for _ in range(3):
        seconds = done["seconds"]
        faults = pauses(learners, seconds, seconds / steps)
        done = compare(motley, cluster, *arguments, *faults)["by_seed"][0]
        goodput = done["samples"] / done["seconds"] * calm["seconds"] / calm["samples"]
    count = len(faults) // 2
    return {"learners": learners, "sync": sync, "pauses": count, "seconds": done["seconds"], "goodput": goodput,
            "there": 1 - count * PAUSE / (learners * done["seconds"])}


def run_chaos(motley, sizes, length):
    found = []
    for learners in sizes:
        found.append(run_chaos_of(motley, learners, "bsp", BATCH * learners, BATCH * learners, length))
        # The digits have 1,437 training samples, and a round at most as many.
        for steps in sorted({1, 2, 64 // learners}):
            samples = BATCH * learners * steps
            found.append(run_chaos_of(motley, learners, f"local:{steps}", BATCH, samples, length))
    return found


def mean_or_none(values):
    return None if None in values else statistics.mean(values)


def percent(gain):
    return f"{(gain - 1) * 100:+.0f} %"


def print_link(found):
    print("\nsamples per second, and seconds to an accuracy of 94 % (R2SP's abstract: up to 25 % faster)\n")
    names = [f"`{sync}`, {'shared' if share > 1 else 'own'} batches" for sync, share, _, _ in LINK_MODES]
    heads = [*names, "`r2sp` beside the faster `bsp`", "all eight in `bsp`, by formula"]
    print(f"| server's link | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for cluster in dict.fromkeys(one["cluster"] for one in found):
        own = [one for one in found if one["cluster"] == cluster]
        sizes = len(WORKER_BATCHES)
        modes = [own[i:i + sizes] for i in range(0, len(own), sizes)]
        paces = [statistics.mean(one["samples_per_second"] for one in mode) for mode in modes]
        times = [mean_or_none([one["seconds"] for one in mode]) for mode in modes]
        # Nothing overlaps: parameters to all, the computing, and a vector from each.
        link = float(cluster.split()[0])
        all_eight = statistics.mean(
            WORKERS * size / (OVERHEAD + size * SAMPLE_SECONDS + 2 * WORKERS * VECTOR / link)
            for size in WORKER_BATCHES)
        print(f"| {cluster} | {' | '.join(f'{pace:.0f}' for pace in paces)} | {percent(paces[3] / max(paces[:2]))} | "
              f"{all_eight:.0f} |")
        cells = ["not reached" if time is None else f"{time:.1f} s" for time in times]
        bsp = [time for time in times[:2] if time is not None]
        faster = percent(min(bsp) / times[3]) if bsp and times[3] is not None else ""
        print(f"| | {' | '.join(cells)} | {faster} | |")


def print_chaos(found):
    print(f"\ngoodput with a failure every {GAP} s that takes a learner away for {PAUSE:g} s\n")
    modes = ["bsp", "local:1", "local:2", "local:4", "local:8"]
    print(f"| learners | there | {' | '.join(f'`{mode}`' for mode in modes)} |\n|---|---|{'---|' * len(modes)}")
    for learners in dict.fromkeys(one["learners"] for one in found):
        own = {one["sync"]: one for one in found if one["learners"] == learners}
        cells = [f"{own[mode]['goodput'] * 100:.0f} %" if mode in own else "" for mode in modes]
        print(f"| {learners} | {own['bsp']['there'] * 100:.0f} % | {' | '.join(cells)} |")
    print(f"\nannounced: Decoupled DiLoCo 88 %, data parallel 27 %; here, if all wait: {DATA_PARALLEL * 100:.0f} %")


def length(text):
    """A training must last for several pauses."""
    if not text.isdecimal() or not LEAST_LENGTH <= int(text) <= 10**6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {LEAST_LENGTH:g} to 1000000")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("motley")
    parser.add_argument("--only", choices=("link", "chaos"))
    parser.add_argument("--learners", type=int, choices=LEARNERS, help="of chaos; default: all")
    parser.add_argument("--seconds", type=length, default=1800, help="length of a training of chaos without pauses")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result = {}
    if given.only != "chaos":
        result["link"] = run_link(given.motley)
    if given.only != "link":
        result["chaos"] = run_chaos(given.motley, [given.learners] if given.learners else LEARNERS, given.seconds)
    if given.json:
        print(json.dumps(result, indent=2))
        return
    if "link" in result:
        print_link(result["link"])
    if "chaos" in result:
        print_chaos(result["chaos"])


if __name__ == "__main__":
    main()
