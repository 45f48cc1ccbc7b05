#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plain PyTorch loop on a CUDA device: steps per second in float32, and with TF32 products. One JSON object.

Usage: card_train.py SAMPLES.npz MODEL BATCH SECONDS
The samples are on the card from the start, and each batch is gathered there.
"""

import json
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional


def layers(model):
    kind, widths = model.split(":")
    widths = [int(width) for width in widths.split(",")]
    if kind == "mlp":
        sizes = [784, *widths]
        hidden = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(widths[-1], 10))
    channels, stages = 1, [nn.Unflatten(1, (1, 28, 28))]
    for width in widths:
        stages += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    side = 28 >> len(widths)
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(channels * side * side, 10))


def rate(model, features, labels, batch, seconds):
    torch.manual_seed(1)
    net = layers(model).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    done, began = 0, None
    while began is None or time.monotonic() - began < seconds:
        for _ in range(20):
            chosen = torch.randint(len(labels), (batch,), device="cuda")
            optimizer.zero_grad()
            functional.cross_entropy(net(features[chosen]), labels[chosen]).backward()
            optimizer.step()
            done += 1
        torch.cuda.synchronize()
        if began is None:
            began, done = time.monotonic(), 0
    return done / (time.monotonic() - began)


def main():
    samples = numpy.load(sys.argv[1])
    features = torch.from_numpy(samples["features"]).cuda()
    labels = torch.from_numpy(samples["labels"]).cuda()
    model, batch, seconds = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    result = {}
    for name, tf32 in (("steps_per_second", False), ("tf32_steps_per_second", True)):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        result[name] = rate(model, features, labels, batch, seconds)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
