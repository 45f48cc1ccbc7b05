# SPDX-License-Identifier: Apache-2.0
"""Made from include/motley/options.h by tools/make_cdef.py; do not edit."""

import os
from collections.abc import Sequence
from typing import TypedDict

from .data import Data


class JobOptions(TypedDict, total=False):
    """The options of a job; None is the default of each.

    The comments are those of the C API, where NULL is None, and texts have the form of the flags of
    `motley train`. `data` may also be arrays (see motley.Data).
    """

    # "PATH[:test=FILE]" as for `motley train --data`; PATH "-" is the standard input. The server or
    # all-in-one process reads the data and sends the workers their samples. For a built-in model,
    # columns of a table (CSV) are standardised, a text becomes one feature per category, and other
    # features are divided by their largest magnitude if that is above 1 (see `scale` and
    # docs/reference/tables.md). trainer.h says what a trainer gets.
    data: Data | None
    # The label's column in a CSV file; default: the last.
    label: str | None
    # Fraction that trains, in (0, 1). 0: 0.8, or all for a trainer.
    split: float | None
    # Number of samples without data, below 2^32.
    sample_count: int | None
    # Samples kept in memory per process; more go to a file. 0: chosen.
    memory_bytes: int | None
    # "softmax", "cnn:16,32", ...; NULL: chosen by the labels. Must be NULL for a trainer.
    model: str | None
    # sgd, momentum, nag, adam, adamw
    optimizer: str | None
    learning_rate: float | None
    # 0 with MOTLEY_GIVEN_L2: none.
    l2: float | None
    # Samples of a step.
    batch: int | None
    # Exact number of passes over the data. 0 without `steps`: until progress ends.
    epochs: int | None
    # Exact number of steps, instead of `epochs`.
    steps: int | None
    # Everything random follows from it. The default is 7.
    seed: int | None
    # All-in-one: number of workers; 0: as many as worker_speeds, or 2. Server: the most workers at
    # one time; 0: MOTLEY_WORKERS, or 8.
    workers: int | None
    # Workers that may be missing without delay. With code auto this is a minimum.
    tolerate: int | None
    # auto (default: chosen during the run), none, repetition, cyclic, heterogeneous, group, rs,
    # graph, multi-message, approximate, short, partial-coded, adaptive
    code: str | None
    # proportional (default), equal
    shares: str | None
    # All-in-one: emulated speeds, "1,1,0.5".
    worker_speeds: str | None
    # Modelled time of a sample at speed 1, "2ms".
    sample_time: str | None
    # All-in-one: faults to inject, for a demonstration: "kill:2@step=50 pause:1@step=20,2s"
    faults: str | None
    # The program and arguments of a worker's process, ended by NULL. An all-in-one job starts it
    # once per worker; NULL runs the workers as threads of this process. A server starts one worker
    # for each entry of `devices`, at least one; NULL starts none. The process finds its address,
    # token and number in its environment (MOTLEY_SERVER, ...), which a job of role MOTLEY_WORKER
    # without `server` reads. Its standard input belongs to the job. It ends with this process.
    worker_command: Sequence[str | os.PathLike[str]] | None
    # Server: "HOST:PORT"; port 0: any free one. NULL: MOTLEY_LISTEN, or 127.0.0.1:0. Workers of the
    # same machine send large vectors through shared memory. "tcp://HOST:PORT" makes them use TCP
    # only. "unix://NAME" is a local socket, which only processes of this machine and user reach.
    listen: str | None
    # Worker: the server's address.
    server: str | None
    # The token that workers must present. NULL: MOTLEY_TOKEN, or one that the server makes up.
    token: str | None
    # Worker: its name in messages; NULL: this machine's name.
    name: str | None
    # Threads of each worker; 0: chosen.
    threads: int | None
    # Worker: 1 serves job after job until motley_job_stop.
    forever: int | None
    # Folder; NULL: none.
    checkpoint: str | os.PathLike[str] | None
    # Steps between checkpoints; 0: 100.
    checkpoint_every: int | None
    # Data + parity blocks: "4+2" (default), "cauchy:10+4".
    checkpoint_code: str | None
    # Folder whose checkpoint the job continues. Options that are not given keep their old value.
    resume: str | os.PathLike[str] | None
    # Number of steps of the checkpoint to continue; 0: the newest. When the newest cannot be
    # restored, the job fails unless an older one is named here. The first checkpoint that the job
    # writes then renames the newer one.
    resume_step: int | None
    # Code approximate: a step may end after this time, "50ms", with one answer or more. NULL: it
    # may end when all missing workers are overdue.
    step_deadline: str | None
    # Code approximate: answers after which a step ends; 0: all but `tolerate`, which is exact.
    quorum: int | None
    # Codes short and partial-coded: an answer has 1/parts of a gradient's length, and each
    # partition has tolerate + parts copies. 0: 2.
    parts: int | None
    # All-in-one, server: file for a profile of the cluster as this run measured it ("lab.toml").
    # What each step took is written beside it ("lab.trace.csv"), for `motley simulate`. A failure
    # to write does not end the job; the report has it as recording.error.
    record_profile: str | os.PathLike[str] | None
    # Devices of the workers, in turn: "cpu,cuda:0+cuda:1". NULL: one graphics card each.
    devices: str | None
    # Type as which dense samples are sent and kept: float32, fp16, bf16.
    storage: str | None
    # Server, all-in-one: seconds without progress after which the job ends with MOTLEY_UNAVAILABLE;
    # 0: it waits.
    step_limit: float | None
    # How long a worker looks for its lost server, and how long a server without workers waits for
    # one; NULL: "10min". It is also how long a server waits at its start for workers beyond
    # min_workers; NULL: "30s" if only `workers` is given, else no time.
    wait: str | None
    # Server, all-in-one: 1 evaluates the model on all training samples at the end (final_loss in
    # the report). 0 does so only if it takes under 10^9 multiplications. The report's
    # last_epoch_loss costs nothing.
    evaluate_training: int | None
    # Server: number of workers that must be there before training begins. 0: one more than
    # worker_command starts.
    min_workers: int | None
    # Server, all-in-one: fraction of steps, 0 to 1, whose answers are checked against sums that the
    # server computes. Training waits for these checks. 0: 0.02, limited to 1 % of the time; below
    # 0: none. A worker whose answer is wrong while another's is right is named
    # (MOTLEY_EVENT_WARNING, the report's audit.warnings) and expelled; in a trainer's job it is
    # only named. Updates that already used its answers remain.
    audit: float | None
    # How the learning rate changes: "constant" (default), "cosine:warmup=100",
    # "step:every=1000,factor=0.1", or "plateau:patience=3,factor=0.1,times=3", which lowers the
    # rate where the loss no longer falls. Each may add "warmup=100", and "linear=256" or
    # "sqrt=256": the rate is right for updates of 256 samples, and follows the samples of each.
    schedule: str | None
    # How often progress is judged: "200" steps or "1epoch". NULL: each epoch, if anything needs it.
    # The measure is the loss of validation samples, or, without those, of the steps.
    evaluate_every: str | None
    # Fraction of the training samples, in (0, 1), that is held out to judge progress. 0: a tenth
    # for networks with at least 1,000 samples and wherever evaluate_every is given, else none.
    # Below 0: none.
    validation: float | None
    # Judgements in a row without progress after which the job ends and keeps its best version. 0:
    # never if epochs or steps are given, else 10. Below 0: never.
    patience: int | None
    # Codes other than auto and adaptive: only this many of the fastest workers compute, and the
    # others stand by until one of them is lost. 0: all compute.
    fastest: int | None
    # Optimizers momentum and nag; 0: 0.9.
    momentum: float | None
    # Optimizers adam and adamw; 0: 0.9.
    beta1: float | None
    # Optimizers adam and adamw; 0: 0.999.
    beta2: float | None
    # Optimizers adam and adamw; 0: 1e-8.
    epsilon: float | None
    # Optimizer adamw, decoupled from the gradient; 0: 0.01.
    weight_decay: float | None
    # Largest norm of a gradient: longer ones are scaled; 0: no limit.
    clip: float | None
    # "classify", "regress"; NULL: by the labels' values. A trainer's labels are real numbers if
    # this is NULL.
    task: str | None
    # Missing values in tables: "median" (default), "indicator", "error".
    missing: str | None
    # "standard" (default for CSV), "largest" (default for other data), "none" (default for
    # trainers).
    scale: str | None
    # Tables: columns that are no features, "name,date"; quotes are as in CSV.
    drop: str | None
    # Model file whose parameters are the first version: a file of motley_job_save, whose reading of
    # the data is kept, or tensors from PyTorch (docs/how-to/pytorch.md). Not allowed for a trainer
    # or with `resume`.
    init: str | os.PathLike[str] | None
    # Format of motley_job_save: "motley" (default), "torch".
    format: str | None
    # Weight of a sample in training, by its class: "setosa=2,virginica=0.5", by name or number,
    # with 1 for the others, or "balanced". Balanced is n / (k m) for a class with m of n samples
    # among k classes.
    class_weights: str | None
    # Probability, below 1, that a sample's step leaves out a unit of a hidden layer (mlp, cnn).
    dropout: float | None
    # The decimal mark of numbers like "1,137", "point" or "comma". NULL: by the file's values.
    decimal: str | None
    # All-in-one, server: where the vector is summed and updated. "star": at the server. "direct":
    # at the workers, which own a part each, so that its bytes do not all pass one link; workers
    # must reach each other. "sharded:S" (a server): at S shard servers, for which the first step
    # waits. NULL or "auto": where it is faster by the measured links; at the server if all workers
    # are on its machine or the vector has less than 1 MiB. Later workers do not change that. direct
    # and auto use shard servers that joined before the first step.
    reduce: str | None
    # Reduce direct, sharded:S, auto: workers or shard servers that follow each part, 0 to 3, so
    # that it outlives its owner. Default: 1. For none: 0 with MOTLEY_GIVEN_FOLLOWERS.
    followers: int | None
    # All-in-one, server: how gradients and parameters travel. NULL or "float32": as they are.
    # "bf16": rounded to half the bytes. "int8": rounded by chance to about a quarter, so that the
    # mean is right. The model itself stays float32. Only "float32" allows audits.
    wire: str | None
    # All-in-one, server: when gradients become updates. NULL or "bsp": all workers share each
    # update, and wait for it. "asp": each worker's gradient is an update of its own, over a whole
    # batch. "ssp:S": the same, and no worker begins an update more than S ahead of the slowest.
    # "dssp:LO,HI": the same with a bound from LO to HI that follows the workers' times. "r2sp": as
    # asp, with updates in turn. "dana": as asp, with Nesterov's momentum for each worker.
    # "backup:B": as bsp, and a step does not wait for its last B answers. "local:H": workers take
    # about H own steps before an update. "local:H,K": K of them while vectors travel (docs/how-
    # to/sync.md).
    sync: str | None
    # All-in-one, server, `sync` bsp: the job pauses when it has done this many steps in all, until
    # motley_job_allow_steps or motley_job_finish. Without `epochs` and `steps` such a job goes on
    # until motley_job_finish. 0: no gate.
    allowed_steps: int | None
    # `sync` local:H: rate of updates; 0: 0.7.
    outer_rate: float | None
    # `sync` local:H: Nesterov's, of updates; 0: 0.9; below 0: none.
    outer_momentum: float | None
    # All-in-one, server, `sync` without a barrier, except dana: NULL, "none", "rate" or "gap". With
    # "rate", an update whose gradient is n updates old has its learning rate divided by n. With
    # "gap", each parameter's part of an old gradient is divided by 1 + how far the parameter has
    # moved since, in average steps of it.
    staleness: str | None
    # All-in-one, server: parts into which the samples are cut once; a worker computes whole ones.
    # 0: 16 for each of `workers` and at least 64, but never more than samples.
    partitions: int | None
