# SPDX-License-Identifier: Apache-2.0
"""Trains on sequences of 1 to 40 tokens, whose loss is a mean over tokens.

Usage: tokens_script.py JSON, an object with epochs and options of motley.torch.loader. The process that is first prints
a JSON object. In a plain process it has `of_parts`: the error of a mean over four parts of the batch that each take the
mean of their own tokens, as PyTorch DDP does, relative to the gradient.
"""

import json
import sys

import torch
import torch.nn.functional as F

import motley.torch

SEQUENCES, TOKENS, WIDTH, PARTS = 512, 50, 16, 4


class Sequences(torch.utils.data.Dataset):
    """Number t of a sequence follows from its start and length, so there is something to learn."""

    def __init__(self):
        draw = torch.Generator().manual_seed(4)
        # Many short and few long ones, as in text.
        self.lengths = (1 + 40 * torch.rand(SEQUENCES, generator=draw) ** 3).long()
        self.starts = torch.randint(TOKENS, (SEQUENCES,), generator=draw)

    def __len__(self):
        return SEQUENCES

    def __getitem__(self, index):
        length = int(self.lengths[index])
        return (self.starts[index] + torch.arange(length + 1) * (1 + length % 3)) % TOKENS


def collate(sequences):
    """Padded with -1."""
    return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-1)


def token_losses(model, batch):
    """The sum of the losses of all tokens, and their number."""
    inputs, targets = batch[:, :-1].clamp(min=0), batch[:, 1:]
    losses = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")
    return losses, int((targets >= 0).sum())


def gradient(model, batches):
    """The gradient of the mean of the batches' means over their tokens."""
    model.zero_grad()
    for batch in batches:
        losses, count = token_losses(model, batch)
        (losses / count / len(batches)).backward()
    found = torch.cat([p.grad.reshape(-1).double() for p in model.parameters()])
    model.zero_grad()
    return found


def error_of_parts(model, sequences):
    samples = motley.batch_samples(0, samples=SEQUENCES, batch=64)
    chosen = [sequences[i] for i in samples]
    exact = gradient(model, [collate(chosen)])
    parts = gradient(model, [collate(chosen[part::PARTS]) for part in range(PARTS)])
    return ((parts - exact).norm() / exact.norm()).item()


def main():
    given = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(TOKENS, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, TOKENS))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    sequences = Sequences()
    of_parts = error_of_parts(model, sequences)
    epochs = given.pop("epochs")
    loader = motley.torch.loader(sequences, model, optimizer, batch_size=64, collate_fn=collate, **given)
    for _ in range(epochs):
        for batch in loader:
            losses, count = token_losses(model, batch)
            loader.weight(count)
            optimizer.zero_grad()
            (losses / count).backward()
            optimizer.step()
    if loader.first:
        print(json.dumps({"losses": loader.losses, "of_parts": of_parts}))


if __name__ == "__main__":
    main()
