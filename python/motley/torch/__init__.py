# SPDX-License-Identifier: Apache-2.0
"""Trains a PyTorch module on many machines, with the loop that trains it on one.

* loader: stands in the place of torch.utils.data.DataLoader
* train: the loop as well, for scripts from zero
"""

from __future__ import annotations

import atexit
import math
from collections.abc import Callable, Sized
from typing import Any

try:
    import torch
except ImportError as error:  # pragma: no cover
    raise ImportError("motley.torch needs PyTorch 1.13 or newer: pip install torch, or Debian's python3-torch"
                      ) from error

from ..environment import read_environment
from ..job import Job
from .checks import check_sync
from .ending import leave_on_signals
from .errors import Refused
from .loader import Loader, Settings
from .plain import PlainLoader
from .rates import Schedule
from .rule import Rule, rule_of
from .samples import Samples
from .server import ServerLoader
from .worker import WorkerLoader

__all__ = ["Loader", "Refused", "loader", "train"]

#: The number of workers of a server's job that names none, and the largest.
DEFAULT_WORKERS, MOST_WORKERS = 8, 1024


def loader(dataset: Sized, model: torch.nn.Module, optimizer: torch.optim.Optimizer, *, batch_size: int, seed: int = 7,
           tolerate: int | None = None, code: str | None = None, collate_fn: Callable[[list[Any]], Any] | None = None,
           clip_norm: float | None = None, schedule: Schedule | Any | None = None, chunk: int | None = None,
           partitions: int | None = None, randomness: bool | None = None, random_samples: bool = False,
           check_loss: bool = True, server_step: bool = False, **options: Any) -> Loader:
    """Stands in the place of a DataLoader: yields the samples of each step that this process is to compute.

    The loop stays as it is: zero_grad(), the loss as a mean over its samples, backward(), step(). Started by
    plain python, the process trains alone. Started by `motley run`, it is the server or a worker of a job, with the
    same batches and, to rounding, the same updates.

    dataset: anything with len() and []. batch_size: samples of a step, over all workers. seed: chooses the batches.
    tolerate, code: workers that may be missing, and the gradient code (`motley codes`). collate_fn: as DataLoader's.
    clip_norm: largest norm of the batch's gradient. schedule: learning rate by the step: a function that returns a
    factor, or a scheduler of torch.optim.lr_scheduler to be stepped once per update. chunk: the most samples of a
    turn of the loop; by default a turn takes about 50 ms. partitions: parts into which the data set is cut; a loop
    that draws random numbers then draws the same in a plain process and in a job of any workers. randomness: True if
    the loop draws random numbers, like dropout; by default the first step shows it. random_samples: the data set draws
    random numbers, for augmentation. check_loss: the loss of a chunk must be the mean of those of its halves. A
    worker checks this on its first chunks, at most five, and its loop sees these twice. False leaves the check out.
    server_step: the server's process calls optimizer.step(), even where the library has the same optimizer. Other
    options are those of motley.Job, for the server: checkpoint="runs/net", reduce="direct" and so on.
    """
    if batch_size < 1 or (chunk is not None and chunk < 1):
        raise ValueError("batch_size and chunk: numbers from 1 are needed")
    check_sync(options.get("sync"))
    samples = Samples(dataset, collate_fn, random_samples)
    if partitions is not None and not 1 <= partitions <= len(samples):
        raise ValueError(f"partitions={partitions}: from 1 to {len(samples)}, the number of samples, are possible")
    settings = Settings(batch_size, seed, clip_norm, chunk, randomness, partitions, check_loss)
    environment = read_environment()
    clip = 0.0 if clip_norm is None or math.isinf(clip_norm) else clip_norm  # As a job's option.
    # A plain process checks the options as well, so that a wrong one shows before the job.
    rule = _rule(optimizer, schedule, options, server_step)
    of_rule: dict[str, Any] = {} if rule is None else {**rule.options, "clip": clip}
    server_options = {"sample_count": len(samples), "batch": batch_size, "seed": seed, "tolerate": tolerate,
                      "code": code, **options, **of_rule}
    made: Loader
    if environment.role == "worker":
        made = WorkerLoader(samples, model, optimizer, settings, schedule, Job("worker"))
    else:
        epoch = -(-len(samples) // batch_size)
        # The number of workers limits some options, and a plain process does not know that.
        if environment.role is not None:
            server_options["partitions"] = partitions
        elif server_options.get("workers") is None:
            server_options["workers"] = _workers_to_check(server_options)
        job = Job("server", **{**server_options, **environment.options, "allowed_steps": epoch})
        if environment.role is None:
            made = PlainLoader(samples, model, optimizer, settings, schedule)
        else:
            saves = options.get("checkpoint") is not None or options.get("resume") is not None
            made = ServerLoader(samples, model, optimizer, settings, schedule, job, rule, saves)
    if environment.role is not None:
        leave_on_signals()
    atexit.register(made.close)
    return made


def _rule(optimizer: torch.optim.Optimizer, schedule: Any, options: dict[str, Any], server_step: bool) -> Rule | None:
    """The optimizer's rule in the library; None: its own step() applies the updates."""
    found = "server_step=True is given" if server_step else rule_of(optimizer, schedule, options)
    if isinstance(found, Rule):
        return found
    if options.get("reduce") not in (None, "star", "auto"):
        raise Refused(f"reduce={options['reduce']!r}: {found}, so its own step() applies the updates, and needs the "
                      "whole vector at the server. Leave reduce out")
    return None


def _workers_to_check(options: dict[str, Any]) -> int | None:
    """A number of workers from which as many may be missing as the options say; None: the job's default."""
    backup = str(options.get("sync")).removeprefix("backup:")
    missing = [int(backup) if backup.isdecimal() else 0, options.get("tolerate")]
    most = max(number for number in missing if isinstance(number, int))
    return min(most + 1, MOST_WORKERS) if most >= DEFAULT_WORKERS else None


def train(model: torch.nn.Module, loss: Callable[[torch.nn.Module, Any], torch.Tensor], dataset: Sized, *,
          optimizer: torch.optim.Optimizer, batch_size: int, epochs: int, **options: Any) -> Loader:
    """Trains for a number of epochs, by loader(), whose other arguments it takes.

    loss: gets the model and a batch, and returns the mean loss of the batch's samples. Returns the closed loader: it
    has the losses of the steps.
    """
    with loader(dataset, model, optimizer, batch_size=batch_size, **options) as batches:
        for _ in range(epochs):
            for batch in batches:
                optimizer.zero_grad()
                torch.autograd.backward(loss(model, batch))
                optimizer.step()
    return batches
