#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares steps per second with PyTorch DDP over gloo: an MLP 784-256-10, batch 512, 4 local workers without pacing.

Usage: ddp.py MOTLEY [--json] [--rounds N]. Run by `./dev bench ddp`; about three minutes. Both train on the same
samples, from the same distribution of weights, with plain SGD. The samples are MNIST's test images if ../shared/data
has them, and otherwise generated from a seed. Each round has a seed of its own on both sides. Before a figure is
printed, the mean losses over all samples must agree within the spread of the seeds.
"""

import argparse
import gzip
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

import peer_tools

HERE = pathlib.Path(__file__).parent
MNIST = HERE.parents[1] / "shared" / "data" / "mnist"
WORKERS, BATCH, LR = 4, 512, 0.1
MARKS = [100, 300, 1000]  # Steps after which the losses are compared.
SPREADS = 4               # Largest difference of two means, in standard errors of the difference.
LEAST_TOLERANCE = 0.02    # Least allowed difference of losses: the spread of a few seeds can be small by chance.


def images_and_labels():
    images, labels = MNIST / "t10k-images-idx3-ubyte.gz", MNIST / "t10k-labels-idx1-ubyte.gz"
    if images.exists() and labels.exists():
        return "MNIST's test images", gzip.open(images).read()[16:], gzip.open(labels).read()[8:]
    # Each class is a bright blob at its own place, over noise.
    draw = random.Random(7)
    pixels, classes = bytearray(), bytearray()
    for _ in range(8192):
        label = draw.randrange(10)
        image = bytearray(draw.randrange(160) for _ in range(784))
        for _ in range(90):
            row = min(27, max(0, round(draw.gauss(4 + 5 * (label % 5), 3))))
            column = min(27, max(0, round(draw.gauss(8 + 11 * (label // 5), 3))))
            image[28 * row + column] = draw.randrange(96, 256)
        pixels += image
        classes.append(label)
    return "synthetic samples", bytes(pixels), bytes(classes)


def write_samples(folder):
    """Writes the same samples for both. `t10k` exists so that all of `train` is used for training."""
    what, pixels, labels = images_and_labels()
    count = len(labels)
    for name, samples in (("train", count), ("t10k", 1000)):
        (folder / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, samples, 28, 28) + pixels[:samples * 784])
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, samples) + labels[:samples])
    (folder / "pixels").write_bytes(pixels)
    (folder / "labels").write_bytes(labels)
    return what, count


CONVERT = """
import numpy, sys
folder = sys.argv[1]
pixels = numpy.fromfile(folder + "/pixels", dtype=numpy.uint8).reshape(-1, 784)
labels = numpy.fromfile(folder + "/labels", dtype=numpy.uint8).astype(numpy.int64)
numpy.savez(folder + "/samples.npz", features=pixels.astype(numpy.float32) / pixels.max(), labels=labels)
"""


def train_ours(motley, folder, steps, seed, environment):
    return peer_tools.run_json([motley, "train", "--data", str(folder), "--model", "mlp:256", "--workers", str(WORKERS),
                                "--batch", str(BATCH), "--optimizer", "sgd", "--lr", str(LR), "--code", "none",
                                "--steps", str(steps), "--seed", str(seed), "--evaluate-training", "--json",
                                "--quiet"], environment)


def curve(losses_of_seeds):
    """The mean over the seeds and its standard deviation, per mark."""
    return [{"mean": statistics.mean(at_mark), "deviation": statistics.stdev(at_mark), "all": list(at_mark)}
            for at_mark in zip(*losses_of_seeds)]


def check_curves(ours, theirs, rounds):
    for mark, own, other in zip(MARKS, ours, theirs):
        error = ((own["deviation"] ** 2 + other["deviation"] ** 2) / rounds) ** 0.5
        allowed = max(SPREADS * error, LEAST_TOLERANCE * other["mean"])
        if not abs(own["mean"] - other["mean"]) <= allowed:
            sys.exit(f"the losses after {mark} steps differ by more than the seeds' spread: {own['mean']:.4f} and "
                     f"{other['mean']:.4f}, and {allowed:.4f} is allowed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motley")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args()
    if flags.rounds < 2:
        parser.error("--rounds: at least 2, for the spread of the losses")
    python = peer_tools.torch_python()
    if python:
        peer_tools.refuse_reference_blas(python)
    environment = dict(peer_tools.ENVIRONMENT)
    if core := peer_tools.openblas_core():
        environment["OPENBLAS_CORETYPE"] = core
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        what, count = write_samples(folder)
        ours, theirs, losses = [], [], []
        if python:
            subprocess.run([python, "-c", CONVERT, str(folder)], check=True)
        for seed in range(1, flags.rounds + 1):
            runs = [train_ours(flags.motley, folder, mark, seed, peer_tools.ENVIRONMENT) for mark in MARKS]
            losses.append([run["final_loss"] for run in runs])
            ours.append(runs[-1])
            if python:
                theirs.append(peer_tools.run_json(
                    [python, str(HERE / "peers" / "ddp_train.py"), str(folder / "samples.npz"), str(WORKERS),
                     str(BATCH), str(LR), str(seed), ",".join(map(str, MARKS))], environment))
    result = {"samples": f"{count} {what}", "steps": MARKS,
              "motley": {"steps_per_second": statistics.median(run["steps_per_second"] for run in ours),
                         "median_step_ms": statistics.median(run["step_seconds"]["median"] for run in ours) * 1e3,
                         "losses": curve(losses)}}
    if python:
        result["pytorch_ddp"] = {key: statistics.median(run[key] for run in theirs)
                                 for key in ("steps_per_second", "median_step_ms")}
        result["pytorch_ddp"]["losses"] = curve(run["losses"] for run in theirs)
        result["pytorch_ddp"]["openblas_core"] = core
        result["ratio"] = result["motley"]["steps_per_second"] / result["pytorch_ddp"]["steps_per_second"]
        check_curves(result["motley"]["losses"], result["pytorch_ddp"]["losses"], flags.rounds)
    if flags.json:
        print(json.dumps(result, indent=2))
        return
    print(f"MLP 784-256-10, batch {BATCH}, {WORKERS} local workers, {result['samples']}")
    for key, label in (("motley", "Motley"), ("pytorch_ddp", "PyTorch DDP, gloo")):
        if key not in result:
            print(f"{label:<20}left out: python3-torch is not installed")
            continue
        line = result[key]
        losses = ", ".join(f"{loss['mean']:.4f} +- {loss['deviation']:.4f}" for loss in line["losses"])
        print(f"{label:<20}{line['steps_per_second']:>7.1f} steps/s, median step {line['median_step_ms']:.2f} ms; "
              f"loss after {'/'.join(map(str, MARKS))} steps, {flags.rounds} seeds: {losses}")
    if "ratio" in result:
        print(f"ratio of steps/s    {result['ratio']:>7.2f}")


if __name__ == "__main__":
    main()
