# SPDX-License-Identifier: Apache-2.0
"""One call that trains: a built-in model on data, or a gradient function."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy.typing as npt

from .data import Data
from .event import Events
from .job import Job
from .options import JobOptions
from .trainer import Gradient, Hold, Trainer


@overload
def train(*, data: Data, events: Events | None = ..., **options: Unpack[JobOptions]) -> Job: ...  # type: ignore[misc]


@overload
def train(  # type: ignore[misc]
    *, gradient: Gradient, parameters: npt.ArrayLike, samples: int | None = ..., data: Data | None = ...,
    hold: Hold | None = ..., drop: Hold | None = ..., chunk: int | None = ..., events: Events | None = ...,
    **options: Unpack[JobOptions],
) -> Job: ...


def train(*, gradient: Gradient | None = None, parameters: npt.ArrayLike | None = None, samples: int | None = None,
          hold: Hold | None = None, drop: Hold | None = None, chunk: int | None = None, events: Events | None = None,
          **options: Any) -> Job:
    """Trains with workers in this process, and returns the ended job: its report, parameters() and save().

    A built-in model::

        job = motley.train(data="digits.csv", model="mlp:64")
        job = motley.train(data=(features, labels), epochs=5)      # arrays of N x D and N numbers

    A gradient of your own, over samples that you keep::

        def gradient(theta, indices):                              # float32 parameters, int64 numbers
            error = x[indices] @ theta - y[indices]
            return x[indices].T @ error, 0.5 * error @ error       # sums over the samples, not means

        job = motley.train(gradient=gradient, parameters=np.zeros(8), samples=len(x))

    A third value is the total weight of these samples, if they do not weigh 1 each (motley.Trainer). With both
    `gradient` and `data`, the gradient gets a motley.Batch in place of the numbers. All options of a job are possible
    (motley.JobOptions); the number of `workers` is 2 by default. Raises what Job() and Job.run() raise: TypeError and
    ValueError for a wrong argument, motley.Error and its subclasses, and the exceptions of your functions.
    """
    trainer = None
    if gradient is not None:
        if parameters is None:
            raise TypeError("gradient: `parameters` are needed too, the first version of what it trains")
        if (samples is None) == (options.get("data") is None):
            raise TypeError("gradient: either `samples`, their number, or `data` is needed")
        trainer = Trainer(gradient, parameters, hold=hold, drop=drop, chunk=chunk)
        options = options | {"sample_count": samples}
    elif any(given is not None for given in (parameters, samples, hold, drop, chunk)):
        raise TypeError("parameters, samples, hold, drop and chunk need `gradient`")
    elif options.get("data") is None and options.get("resume") is None:
        raise TypeError("either `data` or `gradient` is needed")
    job = Job(trainer=trainer, events=events, **options)
    job.run()
    return job
