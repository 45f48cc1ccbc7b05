# SPDX-License-Identifier: Apache-2.0
"""The server: its loop has no turns; it applies the updates with the user's optimizer while the script waits there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..errors import Unavailable
from ..job import Job
from ..step import Step, StepKind
from .ending import leave, program_failed
from .flat import FlatParameters, trained_parameters
from .loader import Loader, Settings
from .rates import Schedule
from .samples import Samples
from .state import OptimizerState


class ServerLoader(Loader):
    """Waits for the updates of an epoch, and yields nothing. The module always has the newest parameters."""

    def __init__(self, samples: Samples, model: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: Settings,
                 schedule: Schedule | Any | None, job: Job, saves: bool, resumed: int) -> None:
        """`saves`: the job writes or continues checkpoints, so that it keeps the optimizer's state.

        `resumed` is the number of steps that the job has done before. It must be gated there, or at the first epoch's
        end if it is new (option allowed_steps).
        """
        super().__init__(samples, model, optimizer, settings, schedule)
        parameters = trained_parameters(model, optimizer)
        self._flat = FlatParameters(parameters)
        self._state = OptimizerState(optimizer, parameters) if saves else None
        self._job = job
        self._job.set_loop(self._flat.count, initialize=True, apply=True,
                           state_count=self._state.count if self._state is not None else 0)
        self.step = self._first_step = resumed
        self._restores = resumed > 0  # The state comes with the first update.
        self._epochs = 0
        self._ended = False

    @property
    def job(self) -> Job:
        return self._job

    def weight(self, weight: float) -> None:
        """Nothing: the server's loop has no turns."""

    def _epoch(self) -> Iterator[Any]:
        self._epochs += 1
        self._allow(self._epochs * len(self))
        while not self._ended and self.step < self._epochs * len(self):
            work = self._job.begin()
            assert work is not None
            if self._has_ended(work):
                return
            with work:
                self._do(work)
        self._note_losses()
        yield from ()

    def _allow(self, steps: int) -> None:
        if self._ended:
            return
        if self._epochs == 1:
            self._job.start()
            if self._restores:
                self._take_parameters()
        if steps > self.step:
            self._job.allow_steps(steps)

    def _take_parameters(self) -> None:
        """Waits until the job has read its checkpoint, and takes the parameters from it."""
        vector = np.empty(self._flat.count, np.float32)
        while not self._ended:
            try:
                self._job.copy_parameters(vector)
                self._flat.load(vector)
                return
            except Unavailable:
                work = self._job.begin(0.02)
            if work is not None:
                self._has_ended(work)

    def _has_ended(self, work: Step) -> bool:
        """True if the job has ended well. Raises the error of one that did not."""
        if work.kind != StepKind.END:
            return False
        self._ended = True
        self._job.wait()
        return True

    def _do(self, work: Step) -> None:
        if work.kind == StepKind.INITIALIZE:
            self._flat.store(work.new_parameters)
            return
        if self._restores or work.step != self.step:
            self._go_to(work)
        self._note_losses()
        self._flat.load_gradients(work.gradient)
        self._update(self.optimizer.step)
        self._flat.drop_gradients()
        self._flat.store(work.new_parameters)
        if self._state is not None:
            self._state.store(work.state)
        self.step += 1

    def _note_losses(self) -> None:
        """Takes the loss of the newest update from the job, which notes it a moment after the update."""
        while len(self.losses) < self.step - self._first_step and not self._ended:
            metrics = self._job.metrics()
            if metrics.steps >= self.step:
                self.losses.append(metrics.batch_loss)
            else:
                time.sleep(0.0002)

    def _go_to(self, work: Step) -> None:
        """Takes the parameters and the optimizer's state from the job."""
        self._restores = False
        self._flat.load(work.new_parameters)
        if self._state is not None:
            self._state.load(work.state)
        self.step = work.step

    def close(self) -> None:
        """Ends the job: well if all is well, and at once if an exception ends the program."""
        self._close(program_failed())

    def _close(self, failed: bool) -> None:
        if self._ended or self._epochs == 0:
            return
        self._ended = True
        if failed:
            self._job.stop()
            leave(self._job)
            return
        self._job.finish()
        leave(self._job)
        self._job.wait()

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        self._close(kind is not None)
