# SPDX-License-Identifier: Apache-2.0
"""The server: its loop has no turns.

While the script waits there, the job applies the updates: where the vector is held, if the library has the user's
optimizer (rule.py), and otherwise here, by the optimizer's own step().
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..job import Job
from ..step import Step, StepKind
from .ending import leave, program_failed, whole_update
from .errors import Refused
from .flat import FlatParameters, trained_parameters
from .loader import Loader, Settings
from .rates import Schedule
from .rule import Groups, Rule
from .samples import Samples
from .state import OptimizerState

POLL = 0.1  # Seconds.


class ServerLoader(Loader):
    """Waits for the updates of an epoch, and yields nothing. The module always has the newest parameters."""

    def __init__(self, samples: Samples, model: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: Settings,
                 schedule: Schedule | Any | None, job: Job, rule: Rule | None, saves: bool) -> None:
        """The job must be gated at the first epoch's end (option allowed_steps), and have the options of the rule.

        `rule`: the library's name of the optimizer; None: this process applies the updates. `saves`: it writes or
        continues checkpoints, so it keeps the state of an optimizer that runs here.
        """
        super().__init__(samples, model, optimizer, settings, schedule)
        parameters = trained_parameters(model, optimizer)
        self._flat = FlatParameters(parameters)
        self._groups = Groups(optimizer, rule) if rule is not None else None
        self._state = OptimizerState(optimizer, parameters) if saves and rule is None else None
        self._job = job
        self._job.set_loop(self._flat.count, initialize=True, apply=rule is None, show=rule is not None,
                           state_count=self._state.count if self._state is not None else 0)
        self._marks: tuple[int, int] | None = None
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
            with whole_update():
                work = self._job.begin(POLL)
                if work is None:
                    continue
                if self._has_ended(work):
                    return
                with work:
                    self._do(work)
        yield from ()

    def _allow(self, steps: int) -> None:
        if self._ended:
            return
        self._flat.check()
        if self._epochs == 1:
            self._start(steps)
            return
        if self._marks != self._new_marks():
            raise Refused("the parameters or the optimizer's state were changed between two epochs, which only the "
                          "optimizer's own step() would notice: give server_step=True to the loader")
        if steps > self.step:
            self._set_rates(steps)
            self._job.allow_steps(steps)

    def _new_marks(self) -> tuple[int, int] | None:
        """What must not change between two epochs, if the library applies the updates."""
        return None if self._groups is None else (self._flat.mark(), self._groups.mark())

    def _start(self, steps: int) -> None:
        """The first work of a job: its first parameters are those of the module, or it continues a checkpoint."""
        if self._groups is not None:
            self._groups.check_untouched()
            self._job.set_groups(self._groups.of_job())
        self._job.start()
        work = self._job.begin()
        assert work is not None
        if self._has_ended(work):
            return
        with work:
            if work.step > 0:
                self._take(work)
            else:
                self._flat.store(work.new_parameters)
            self._marks = self._new_marks()
            self._set_rates(steps)  # The job begins when this work is handed back.
        if self.step > 0:
            self._job.allow_steps(max(steps, self.step))

    def _set_rates(self, steps: int) -> None:
        """Gives the job the rates of the groups in the updates up to number `steps`."""
        if self._groups is None or steps <= self.step:
            return
        self._groups.check()
        # Schedulers would warn that they have seen no step.
        optimizer: Any = self.optimizer
        optimizer._opt_called, optimizer._step_count = True, getattr(optimizer, "_step_count", 0) + 1
        rates = []
        for step in range(self.step, self.step + 1 if self._rates.constant else steps):
            self._rates.before_update(step)
            rates.append(self._groups.rates())
            self._rates.after_update(step)
        self._groups.check()
        self._job.set_group_rates(self.step, rates)

    def _has_ended(self, work: Step) -> bool:
        """True if the job has ended well. Raises the error of one that did not."""
        if work.kind != StepKind.END:
            return False
        self._ended = True
        self._job.wait()
        if self._groups is not None and (steps := self._job.report["steps"]) != self.step:
            self._flat.load(self._job.parameters())  # It ended within an epoch.
            self.step = steps
        return True

    def _do(self, work: Step) -> None:
        if self._groups is not None:
            self._look(work, self._groups)
            return
        if work.step != self.step:
            self._take(work)
        self._flat.load_gradients(work.gradient)
        self._update(self.optimizer.step)
        self._flat.drop_gradients()
        self._flat.store(work.new_parameters)
        if self._state is not None:
            self._state.store(work.state)
        self.losses.append(work.batch_loss)
        self.step += 1

    def _look(self, work: Step, groups: Groups) -> None:
        """Takes what the job shows."""
        self._flat.load(work.parameters)
        groups.load_state(work.state, work.version)
        self._marks = self._new_marks()
        self.losses += work.losses.tolist()
        self.step = work.version

    def _take(self, work: Step) -> None:
        """Takes the parameters and the optimizer's state from the job."""
        self._flat.load(work.new_parameters)
        if self._groups is not None:
            self._groups.load_state(work.state, work.step)
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
        while (work := self._job.begin()) is not None and not self._has_ended(work):
            with work:
                self._do(work)

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        self._close(kind is not None)
