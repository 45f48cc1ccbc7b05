# SPDX-License-Identifier: Apache-2.0
"""Three small networks of PyTorch, with synthetic samples and a loss, for benchmarks/torch_training.py."""

import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset


@dataclasses.dataclass
class Task:
    model: nn.Module
    samples: TensorDataset
    batch: int
    rate: float
    loss: Callable


class Block(nn.Module):
    """A residual block of two convolutions with GroupNorm."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(4, outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.GroupNorm(4, outputs))
        self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return functional.relu(self.main(x) + self.short(x))


class Sequence(nn.Module):
    """A transformer of six layers that predicts the next token."""

    def __init__(self, tokens, length, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 6)
        self.out = nn.Linear(width, tokens)
        self.register_buffer("mask", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, x):
        return self.out(self.layers(self.embedding(x) + self.places, self.mask))


def classes(model, batch):
    return functional.cross_entropy(model(batch[0]), batch[1])


def next_tokens(model, batch):
    scores = model(batch[0][:, :-1])
    return functional.cross_entropy(scores.flatten(0, 1), batch[0][:, 1:].flatten())


def make(name):
    """The same network and samples in every process."""
    torch.manual_seed(7)
    draw = torch.Generator().manual_seed(8)
    if name == "mlp":
        samples = TensorDataset(torch.rand(8192, 784, generator=draw), torch.randint(10, (8192,), generator=draw))
        return Task(nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)), samples, 512, 0.01, classes)
    if name == "resnet":
        samples = TensorDataset(torch.rand(1024, 3, 32, 32, generator=draw),
                                torch.randint(10, (1024,), generator=draw))
        model = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
        return Task(model, samples, 64, 0.002, classes)
    if name == "transformer":
        samples = TensorDataset(torch.randint(256, (1024, 65), generator=draw))
        return Task(Sequence(256, 64, 128), samples, 32, 0.01, next_tokens)
    raise ValueError(name)


def final_loss(task):
    """The loss over the first 256 samples: systems that made the same updates agree on it."""
    with torch.no_grad():
        return task.loss(task.model, task.samples[:256]).item()
