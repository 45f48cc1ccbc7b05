# SPDX-License-Identifier: Apache-2.0
"""Loads samples of a data set by their numbers, and puts them together as torch.utils.data.DataLoader does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import TensorDataset, default_collate

from ..trainer import IndexArray
from .errors import Refused
from .randomness import Draws, seed_all


class Samples:
    """The samples of a data set with len() and []."""

    def __init__(self, dataset: Any, collate: Callable[[list[Any]], Any] | None, random_samples: bool) -> None:
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise Refused(f"a {type(dataset).__name__} has no len() or no []: the batch of a step is a list of sample "
                          "numbers, so a data set must give any sample by its number. Index a stream first")
        if len(dataset) == 0:
            raise Refused("the data set has no samples")
        self._dataset = dataset
        self._collate = collate or default_collate
        self._random = random_samples
        self._checked = False
        # Tensors are indexed as a whole, which gives the same batch as one sample at a time.
        self._tensors = dataset.tensors if type(dataset) is TensorDataset and collate is None else None

    def __len__(self) -> int:
        return len(self._dataset)

    def load(self, positions: IndexArray, seed: int, step: int) -> Any:
        """The samples as one batch. With random_samples, each is loaded after seeding by (seed, step, sample)."""
        if self._tensors is not None:
            chosen = torch.from_numpy(positions.copy())  # The library's array may be read-only.
            return [tensor[chosen] for tensor in self._tensors]
        numbers = positions.tolist()
        if self._random:
            return self._collate([self._load_random(number, seed, step) for number in numbers])
        draws = None if self._checked else Draws()
        if hasattr(self._dataset, "__getitems__"):
            batch = self._collate(self._dataset.__getitems__(numbers))
        else:
            batch = self._collate([self._dataset[number] for number in numbers])
        if draws is not None and draws.drawn():
            raise Refused("the data set draws random numbers: give random_samples=True to the loader, which then seeds "
                          "them by step and sample, so that all workers see the same sample")
        self._checked = True
        return batch

    def _load_random(self, position: int, seed: int, step: int) -> Any:
        seed_all(seed, step, position)
        return self._dataset[position]
