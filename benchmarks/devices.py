#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a processor and an OpenCL device in one step, as two workers and joined in one, with each alone.

Usage: devices.py MOTLEY [--json] [--rounds N] [--device LABEL]. Run by `./dev bench devices`; about
a minute. The four setups run in turns, with one core for each device. PoCL is limited to one core
(POCL_MAX_PTHREAD_COUNT). All four train the same model on the same batches. Before a figure is
printed, their losses must agree to 1e-4, and decoding must be exact.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import ddp
import peer_tools

STEPS, BATCH, MODEL = 60, 512, "mlp:512,256"
LOSS_TOLERANCE = 1e-4  # For a rate at which SGD does not oscillate: otherwise ReLU units flip and rounding errors grow.
DECODE_TOLERANCE = 1e-5


def environment():
    return {**peer_tools.ENVIRONMENT, "POCL_MAX_PTHREAD_COUNT": "1"}


def train(motley, folder, devices):
    run = peer_tools.run_json(
        [motley, "train", "--data", str(folder), "--model", MODEL, "--batch", str(BATCH), "--optimizer", "sgd",
         "--lr", "0.01", "--steps", str(STEPS), "--code", "none", "--threads", "1", "--evaluate-training", "--json",
         "--quiet", "--workers", str(len(devices)), "--devices", ",".join(devices)], environment())
    if not run["max_decode_error"] <= DECODE_TOLERANCE:
        sys.exit(f"{devices}: decoded with an error of {run['max_decode_error']}")
    if any(worker["lost"] for worker in run["workers"]):
        sys.exit(f"{devices}: a worker was lost")
    return run


def median_of(runs, key):
    return statistics.median(key(run) for run in runs)


def part_of_last(run, key):
    return run["workers"][-1][key] / sum(worker[key] for worker in run["workers"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motley")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="opencl:0")
    flags = parser.parse_args()
    choices = {"cpu": ["cpu"], flags.device: [flags.device], "both": ["cpu", flags.device],
               "joined": ["cpu+" + flags.device]}
    runs = {name: [] for name in choices}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        what, _ = ddp.write_samples(folder)
        train(flags.motley, folder, [flags.device])  # Compiles its kernels once per machine.
        for _ in range(flags.rounds):
            for name, devices in choices.items():
                runs[name].append(train(flags.motley, folder, devices))
    losses = {name: all_runs[0]["final_loss"] for name, all_runs in runs.items()}
    for name, loss in losses.items():
        if not abs(loss - losses["cpu"]) <= LOSS_TOLERANCE:
            sys.exit(f"{name}: the loss is {loss}, and {losses['cpu']} on the processor alone")
    speed = {name: median_of(all_runs, lambda run: 1 / run["step_seconds"]["median"])
             for name, all_runs in runs.items()}
    share = median_of(runs["both"], lambda run: part_of_last(run, "samples"))
    learned = median_of(runs["both"], lambda run: part_of_last(run, "relative_speed"))
    best = max(speed["cpu"], speed[flags.device])
    result = {"model": MODEL, "batch": BATCH, "steps": STEPS, "samples": what, "cores": os.cpu_count(),
              "steps_per_second": speed, "final_loss": losses,
              "share_of_the_device": share, "share_by_learned_speeds": learned,
              "share_by_speeds_alone": speed[flags.device] / (speed["cpu"] + speed[flags.device]),
              "faster_than_the_better": speed["both"] / best,
              "joined_faster_than_the_better": speed["joined"] / best,
              "joined_over_both": speed["joined"] / speed["both"],
              "part_of_the_sum": speed["both"] / (speed["cpu"] + speed[flags.device])}
    if flags.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{MODEL}, batch {BATCH}, {what}; one core each; median step of {STEPS}, median of {flags.rounds} rounds")
    for name in choices:
        print(f"{name:<12}{speed[name]:>8.2f} steps/s   loss {losses[name]:.6f}")
    print(f"share of {flags.device}: {share:.3f}; its part of the speeds learned: {learned:.3f}, of the speeds alone: "
          f"{result['share_by_speeds_alone']:.3f}")
    print(f"both over the better one alone: {result['faster_than_the_better']:.2f}; over the sum of both: "
          f"{result['part_of_the_sum']:.2f}")
    print(f"joined in one worker over the better one alone: {result['joined_faster_than_the_better']:.2f}; over two "
          f"workers: {result['joined_over_both']:.2f}")


if __name__ == "__main__":
    main()
