# SPDX-License-Identifier: Apache-2.0
"""What the loaders of all roles share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..job import Job
from .checks import check_model, check_optimizer
from .randomness import check_devices, devices_of
from .rates import Rates, Schedule
from .samples import Samples


@dataclasses.dataclass(frozen=True)
class Settings:
    """What loader() was called with."""

    batch_size: int
    seed: int
    clip_norm: float | None
    chunk: int | None
    randomness: bool | None
    partitions: int | None = None
    check_loss: bool = True


class Loader:
    """Yields the samples of a job's steps, in the place of a torch.utils.data.DataLoader.

    A plain process gets the whole batch of each step, a worker its chunks of it, and the server nothing: it applies
    the updates while its script waits in the loop. Use it from one thread.
    """

    #: True on exactly one process of a job: the one that prints, evaluates and saves.
    first = True

    def __init__(self, samples: Samples, model: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: Settings,
                 schedule: Schedule | Any | None) -> None:
        check_optimizer(optimizer)
        self._devices = devices_of(model)
        check_devices(self._devices, settings.randomness)
        self.model = model
        self.optimizer = optimizer
        self.settings = settings
        self._samples = samples
        self._rates = Rates(optimizer, schedule)
        #: Number of the next step, from 0.
        self.step = 0
        #: The mean loss over the batch of each step, before its update; empty on workers.
        self.losses: list[float] = []

    def __len__(self) -> int:
        """Steps of an epoch."""
        return -(-len(self._samples) // self.settings.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """The rest of an epoch."""
        check_model(self.model)
        return self._epoch()

    def _epoch(self) -> Iterator[Any]:
        raise NotImplementedError

    @property
    def job(self) -> Job | None:
        """The job, for its metrics during the run and the server's report after close(); None in a plain process."""
        return None

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next step belongs to, from 0."""
        return self.step // len(self)

    @property
    def loss(self) -> float:
        """The loss of the newest step; NaN before the first, and on workers."""
        return self.losses[-1] if self.losses else float("nan")

    def weight(self, weight: float) -> None:
        """Sets the weight of this turn's samples, before backward(). The default is their number.

        If your loss is a mean over tokens, give the number of tokens. The update then follows the mean over all tokens
        of the batch, however they are spread over samples and workers.
        """
        raise NotImplementedError

    def _update(self, step_function: Callable[[], Any]) -> Any:
        """Applies one update from the gradients in p.grad, which are means over the batch."""
        self._rates.before_update(self.step)
        if self.settings.clip_norm is not None:
            parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
            torch.nn.utils.clip_grad_norm_(parameters, self.settings.clip_norm)
        result = step_function()
        self._rates.after_update(self.step)
        return result

    def close(self) -> None:
        """Ends the job. It is called when the program ends, too."""

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        self.close()
