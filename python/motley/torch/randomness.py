# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a step: a function of the job's seed, the step and the partition or sample, on every worker."""

from __future__ import annotations

import random
import sys

import torch

from .errors import Refused

_MASK = 2**64 - 1


def mixed(*numbers: int) -> int:
    """One number of 63 bits from several, by the finalizer of SplitMix64 (Steele et al. 2014)."""
    state = 0
    for number in numbers:
        state = (state ^ (number & _MASK)) + 0x9E3779B97F4A7C15 & _MASK
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state >> 1


def seed_all(*numbers: int) -> None:
    """Seeds the generators of PyTorch (on all devices), Python and, if it is loaded, NumPy."""
    seed = mixed(*numbers)
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def _numpy_state() -> tuple[bytes, int]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return b"", 0
    _, words, position, *_ = numpy.random.get_state()
    return words.tobytes(), position


def check_draws(drawn: bool) -> None:
    """Refuses random numbers in a loop whose chunks are not those that would seed them."""
    if drawn:
        raise Refused("the loop's body draws random numbers, and did not in its first step: give randomness=True to "
                      "the loader, which then seeds them by step and partition")


class Draws:
    """Notices whether anything drew random numbers from the generators of Python, NumPy and PyTorch."""

    def __init__(self, devices: set[torch.device]) -> None:
        self._cuda = [device for device in devices if device.type == "cuda"]
        self._python, self._numpy = random.getstate(), _numpy_state()
        self._before = self._states()

    def drawn(self) -> bool:
        if self._python != random.getstate() or self._numpy != _numpy_state():
            return True
        return any(not torch.equal(before, now) for before, now in zip(self._before, self._states()))

    def _states(self) -> list[torch.Tensor]:
        return [torch.get_rng_state()] + [torch.cuda.get_rng_state(device) for device in self._cuda]
