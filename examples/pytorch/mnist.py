# SPDX-License-Identifier: Apache-2.0
"""Learns to read handwritten digits."""

import gzip
import pathlib

import motley.torch
import torch
import torch.nn.functional as F
from torch.utils import data

DIGITS = pathlib.Path(__file__).parents[1] / "data" / "digits.csv.gz"
torch.manual_seed(1)

lines = gzip.open(DIGITS, "rt").read().split()
rows = torch.tensor([[float(number) for number in line.split(",")] for line in lines])
images, digits = rows[:, :-1] / 16, rows[:, -1].long()
train_set = data.TensorDataset(images[:1500], digits[:1500])

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loader = motley.torch.loader(train_set, model, opt, batch_size=128)

for epoch in range(20):
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    right = (model(images[1500:]).argmax(1) == digits[1500:]).float().mean()
    if loader.first: print(f"epoch {epoch}: {right:.1%} of the test digits are right")
