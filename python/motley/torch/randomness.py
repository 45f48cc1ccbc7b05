# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a step: a function of the job's seed, the step and the partition or sample, on every worker."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterable
from typing import Any

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


def _module(device: torch.device) -> Any:
    """PyTorch's module of a kind of device, such as torch.cuda; None: it has none."""
    return getattr(torch, device.type, None)


def devices_of(model: torch.nn.Module) -> set[torch.device]:
    """The devices of the parameters, without the processor, whose generator is always watched and seeded."""
    return {parameter.device for parameter in model.parameters() if parameter.device.type != "cpu"}


def check_devices(devices: Iterable[torch.device], randomness: bool | None) -> None:
    """Refuses devices whose generator PyTorch cannot seed, or cannot show while nobody said what the loop draws."""
    for device in devices:
        name, module = f"torch.{device.type}", _module(device)
        if randomness is not False and not hasattr(module, "manual_seed"):
            raise Refused(f"the model is on {device}, and there is no {name}.manual_seed, so random numbers that the "
                          "loop draws there would depend on which worker computed what: it must draw none, and say so "
                          "by randomness=False to the loader")
        if randomness is None and not hasattr(module, "get_rng_state"):
            raise Refused(f"the model is on {device}, and there is no {name}.get_rng_state, so Motley cannot notice "
                          "random numbers that the loop draws there: give randomness=True to the loader if it draws "
                          "some, and randomness=False if it draws none")


def seed_all(*numbers: int, devices: Iterable[torch.device] = ()) -> None:
    """Seeds the generators of PyTorch, Python and, if it is loaded, NumPy.

    PyTorch itself seeds the processor and the kinds of devices that it knows. `devices` may be of others.
    """
    seed = mixed(*numbers)
    torch.manual_seed(seed)
    for module in {device.type: _module(device) for device in devices if device.type != "cuda"}.values():
        seed_of_device = getattr(module, "manual_seed_all", None) or getattr(module, "manual_seed", None)
        if seed_of_device is not None:
            seed_of_device(seed)
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

    def __init__(self, devices: Iterable[torch.device] = ()) -> None:
        self._devices = [device for device in devices if hasattr(_module(device), "get_rng_state")]
        self._python, self._numpy = random.getstate(), _numpy_state()
        self._before = self._states()

    def drawn(self) -> bool:
        if self._python != random.getstate() or self._numpy != _numpy_state():
            return True
        return any(not torch.equal(before, now) for before, now in zip(self._before, self._states()))

    def _states(self) -> list[torch.Tensor]:
        return [torch.get_rng_state()] + [_state(device) for device in self._devices]


def _state(device: torch.device) -> torch.Tensor:
    get = _module(device).get_rng_state
    # A module of one device, such as torch.mps, takes no number of it.
    state: torch.Tensor = get(device) if inspect.signature(get).parameters else get()
    return state
