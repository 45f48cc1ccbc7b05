# SPDX-License-Identifier: Apache-2.0
"""A job's work as the library gives it to one worker, without a library: rows of any coefficients, and what becomes
of them."""

import numpy as np

from motley.step import Run, StepKind


class FakeWork:
    """A piece of work of kind GRADIENT. `rows`: (samples, group, weights) of each partition, from 0."""

    def __init__(self, parameters, rows, *, step=0, job=1, version=0, seed=7, wanted=None):
        self.kind = StepKind.GRADIENT
        self.step, self.job, self.version, self.seed = step, job, version, seed
        self.parameters = parameters.astype(np.float32)
        self.parameters.flags.writeable = False
        self.samples = np.concatenate([np.asarray(samples, np.int64) for samples, _, _ in rows])
        ends = np.cumsum([len(samples) for samples, _, _ in rows])
        self.runs = [Run(int(end) - len(samples), len(samples), partition, group, tuple(weights))
                     for partition, (end, (samples, group, weights)) in enumerate(zip(ends, rows))]
        self.sums = [np.zeros(len(parameters), np.float32) for _ in rows[0][2]]
        self.losses = np.zeros(len(rows))
        self.weights = np.array([run.count for run in self.runs], float)
        self.result = None
        self.reported = []
        self._wanted = wanted  # Samples after which nobody needs the work any more; None: it is needed.

    def partial(self, samples_done):
        self.reported.append(samples_done)
        return self._wanted is None or samples_done < self._wanted

    def end(self, status=0):
        assert self.result is None, "work is handed back once"
        self.result = status

    def cancel(self):
        self.end(1)

    def fail(self):
        self.end(11)


class End:
    kind = StepKind.END


class FakeJob:
    """Gives out its works one after the other, then the end."""

    def __init__(self, works):
        self._works = list(works)
        self.parameter_count = None
        self.stopped = False

    def set_loop(self, parameter_count):
        self.parameter_count = parameter_count

    def start(self):
        pass

    def begin(self):
        return self._works.pop(0) if self._works else End()

    def wait(self):
        return True

    def stop(self):
        self.stopped = True
        self._works.clear()
