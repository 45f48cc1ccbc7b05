#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts gossip in random pairs beside rounds of all workers (--sync local:H), at the same bytes and samples.

Usage: gossip.py [--seeds N] [--epochs N] [--json]. Run by `./dev bench gossip`. Decision 74 has the table.

Workers take steps of momentum SGD on a network with 64 hidden units, on the digits of the examples. In a round, a
worker of speed s takes H s steps, and the mean of the speeds is 1. Then the workers average:

pairs: each with one other, drawn at random, weighted by samples. A worker sends one vector, and receives one.
nesterov pairs: the same for the workers' changes and for their starts, with an outer momentum (as in NoLoCo, arXiv
    2506.10911). Two vectors each way.
all: all together, with outer rate 1 and without a momentum. With `--reduce direct`, a worker sends and receives
    2 (n - 1) / n vectors.
outer: all together, with outer Nesterov: what --sync local:H does. The same bytes.

H is chosen for each so that all send the same number of vectors per step. Each has the best of the same learning
rates and of the outer rates below. At the end, the workers' mean is judged on the test samples. JSON: array of
`workers, speeds, vectors_per_step, system, h, rate, outer_rate, outer_momentum, accuracy_mean, accuracy_stddev,
loss_mean, behind_outer_mean, behind_outer_stddev`: by how many points of accuracy the system is worse than `outer` in
pairs of the same seed. Exits with 1 if workers that average with everybody differ afterwards, or if no system
learns.
"""

import argparse
import json
import pathlib
import sys

import numpy

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv.gz"
HIDDEN, CLASSES, BATCH, MOMENTUM = 64, 10, 8, 0.9
RATES = (0.01, 0.03, 0.1)
OUTER = {"pairs": ((1.0, 0.0),), "nesterov pairs": ((0.3, 0.5), (0.7, 0.5), (0.7, 0.9)), "all": ((1.0, 0.0),),
         "outer": ((0.3, 0.5), (0.7, 0.5), (0.7, 0.9))}
# How many vectors a worker sends per step.
VOLUMES = (0.5, 0.125, 0.03125)
CLUSTERS = {"equal": lambda n: numpy.ones(n), "4x spread": lambda n: numpy.linspace(0.4, 1.6, n)}


def vectors_per_round(system, n):
    return {"pairs": 1, "nesterov pairs": 2}.get(system, 2 * (n - 1) / n)


def load():
    table = numpy.loadtxt(DIGITS, delimiter=",", dtype=numpy.float64)
    samples, labels = table[:, :-1] / 16, table[:, -1].astype(int)
    order = numpy.random.default_rng(7).permutation(len(labels))
    samples, labels = samples[order], labels[order]
    cut = len(labels) * 4 // 5
    return (samples[:cut], labels[:cut]), (samples[cut:], labels[cut:])


class Network:
    """The parameters of n workers in one array, [n, length]."""

    def __init__(self, inputs):
        self.shapes = ((inputs, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))
        self.ends = numpy.cumsum([int(numpy.prod(shape)) for shape in self.shapes])

    def first(self, chance):
        parts = [chance.normal(0, shape[0] ** -0.5, shape) if len(shape) == 2 else numpy.zeros(shape)
                 for shape in self.shapes]
        return numpy.concatenate([part.ravel() for part in parts])

    def layers(self, vectors):
        cuts = numpy.split(vectors, self.ends[:-1], axis=1)
        return [cut.reshape(len(vectors), *shape) for cut, shape in zip(cuts, self.shapes)]

    def forward(self, vectors, samples):
        into, bias, out, last = self.layers(vectors)
        hidden = numpy.maximum(samples @ into + bias[:, None], 0)
        logits = hidden @ out + last[:, None]
        logits -= logits.max(axis=2, keepdims=True)
        chances = numpy.exp(logits)
        return hidden, chances / chances.sum(axis=2, keepdims=True)

    def gradient(self, vectors, samples, labels):
        """The mean gradient of each worker's own batch: samples [n, batch, inputs], labels [n, batch]."""
        hidden, error = self.forward(vectors, samples)
        numpy.put_along_axis(error, labels[:, :, None], numpy.take_along_axis(error, labels[:, :, None], 2) - 1, 2)
        error /= labels.shape[1]
        _, _, out, _ = self.layers(vectors)
        back = (error @ out.transpose(0, 2, 1)) * (hidden > 0)
        parts = (samples.transpose(0, 2, 1) @ back, back.sum(1), hidden.transpose(0, 2, 1) @ error, error.sum(1))
        return numpy.concatenate([part.reshape(len(vectors), -1) for part in parts], axis=1)

    def judge(self, vector, samples, labels):
        _, chances = self.forward(vector[None], samples[None])
        right = chances[0][numpy.arange(len(labels)), labels]
        return float((chances[0].argmax(1) == labels).mean()), float(-numpy.log(numpy.maximum(right, 1e-30)).mean())


def partners(chance, n):
    """Random pairs; with an odd number one worker is its own."""
    order = chance.permutation(n)
    other = numpy.arange(n)
    for i in range(0, n - 1, 2):
        other[order[i]], other[order[i + 1]] = order[i + 1], order[i]
    return other


def train(data, system, n, speeds, h, rate, outer, seed, epochs):
    (samples, labels), test = data
    chance, meetings = numpy.random.default_rng(seed), numpy.random.default_rng(seed + 1000)
    network = Network(samples.shape[1])
    starts = numpy.tile(network.first(chance), (n, 1))
    inner, momenta = numpy.zeros_like(starts), numpy.zeros_like(starts)
    outer_rate, outer_momentum = outer
    budget = epochs * len(labels)
    used, owed = 0, numpy.zeros(n)
    while used < budget:
        owed += speeds * h
        steps = numpy.maximum(1, numpy.floor(owed + 1e-9)).astype(int)
        owed -= steps
        at = starts.copy()
        for step in range(steps.max()):
            who = numpy.flatnonzero(steps > step)
            picked = chance.integers(0, len(labels), (n, BATCH))[who]
            gradient = network.gradient(at[who], samples[picked], labels[picked])
            inner[who] = MOMENTUM * inner[who] + gradient
            at[who] -= rate * inner[who]
        used += int(steps.sum()) * BATCH
        changes = starts - at
        weights = steps / steps.sum()
        together = system in ("all", "outer")
        if together:
            base, change = starts, numpy.tile(weights @ changes, (n, 1))
        else:
            other = partners(meetings, n)
            own = (steps / (steps + steps[other]))[:, None]
            change = own * changes + (1 - own) * changes[other]
            base = own * starts + (1 - own) * starts[other]
        momenta = outer_momentum * momenta + change
        starts = base - outer_rate * (change + outer_momentum * momenta)
        if not numpy.isfinite(starts).all():
            return 0.0, float("inf")
        if together and numpy.abs(starts - starts[0]).max() > 0:
            sys.exit(f"{system}: workers that average with everybody have different parameters")
    return network.judge(starts.mean(0), *test)


def best_of(data, system, n, speeds, volume, seeds, epochs):
    """The result of the best rates: (h, rate, outer, [(accuracy, loss) by seed])."""
    h = vectors_per_round(system, n) / volume
    found = []
    with numpy.errstate(all="ignore"):
        for rate in RATES:
            for outer in OUTER[system]:
                results = [train(data, system, n, speeds, h, rate, outer, seed, epochs) for seed in range(1, seeds + 1)]
                found.append((h, rate, outer, results))
    return min(found, key=lambda one: numpy.mean([loss for _, loss in one[3]]))


def run(seeds, epochs):
    data = load()
    table = []
    for n in (8, 16):
        for name, speeds in CLUSTERS.items():
            for volume in VOLUMES:
                best = {system: best_of(data, system, n, speeds(n), volume, seeds, epochs) for system in OUTER}
                reference = numpy.array([accuracy for accuracy, _ in best["outer"][3]])
                for system, (h, rate, outer, results) in best.items():
                    accuracy = numpy.array([one for one, _ in results])
                    behind = (reference - accuracy) * 100
                    spread = behind.std(ddof=1) if seeds > 1 else 0.0
                    table.append({"workers": n, "speeds": name, "vectors_per_step": volume, "system": system, "h": h,
                                  "rate": rate, "outer_rate": outer[0], "outer_momentum": outer[1],
                                  "accuracy_mean": float(accuracy.mean()),
                                  "accuracy_stddev": float(accuracy.std(ddof=1)) if seeds > 1 else 0.0,
                                  "loss_mean": float(numpy.mean([loss for _, loss in results])),
                                  "behind_outer_mean": float(behind.mean()),
                                  "behind_outer_stddev": float(spread)})
                print(f"{n} workers, {name}, {volume} vectors per step: done", file=sys.stderr)
    if max(one["accuracy_mean"] for one in table) < 0.8:
        sys.exit("no system learns")
    return table


def show(table):
    print("| workers | speeds | vectors sent per step | " + " | ".join(f"{system}" for system in OUTER) + " |")
    print("|---|---|---|" + "---|" * len(OUTER))
    cases = dict.fromkeys((one["workers"], one["speeds"], one["vectors_per_step"]) for one in table)
    for case in cases:
        cells = [f"{one['accuracy_mean'] * 100:.1f} %, {one['loss_mean']:.3f} (H = {one['h']:.3g})" for one in table
                 if (one["workers"], one["speeds"], one["vectors_per_step"]) == case]
        print(f"| {case[0]} | {case[1]} | {case[2]:g} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    table = run(given.seeds, given.epochs)
    if given.json:
        print(json.dumps(table, indent=2))
    else:
        show(table)


if __name__ == "__main__":
    main()
