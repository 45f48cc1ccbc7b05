# SPDX-License-Identifier: Apache-2.0
"""A training job: create it from options, run it once, then read its results."""

from __future__ import annotations

import atexit
import difflib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, Unpack, cast

import numpy as np
import numpy.typing as npt

from ._library import ffi, lib, new
from .data import DataFile
from .errors import Conflict, c_text, check, error_of, last_error, text
from .event import Events, read_event
from .metrics import Metrics, WorkerMetrics, read_metrics, read_worker_metrics
from .options import JobOptions
from .step import Group, Step, StepKind, begin
from .trainer import Trainer

Role: TypeAlias = Literal["all_in_one", "server", "worker", "shard_server"]
ROLES: dict[str, int] = {"all_in_one": 0, "server": 1, "worker": 2, "shard_server": 3}

# Seconds after which a waiting call looks for signals.
POLL = 0.1
# Seconds that the end of the program waits for a job that still runs.
LAST_SECONDS = 5.0

# Options whose default value means "not given", unless their flag is set.
_GIVEN = {"seed": 1, "l2": 2, "tolerate": 4, "dropout": 8, "followers": 16}
_LIMITS = {"uint32_t": (0, 2**32 - 1), "uint64_t": (0, 2**64 - 1), "int32_t": (-(2**31), 2**31 - 1)}
_FIELDS = {name: field.type.cname for name, field in ffi.typeof("motley_job_options").fields
           if name not in ("struct_size", "role", "given")}


def _check_names(options: dict[str, Any]) -> None:
    for name in options:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "; help(motley.JobOptions) lists them"
            raise TypeError(f"there is no option {name!r}{hint}")


def _number(name: str, kind: str, value: Any) -> int | float:
    wanted = "a number" if kind == "double" else "a whole number"
    if isinstance(value, str) or not hasattr(value, "__float__" if kind == "double" else "__index__"):
        raise TypeError(f"{name}: {wanted} is needed, not {type(value).__name__}")
    if kind == "double":
        return float(value)
    number = int(value.__index__())
    low, high = _LIMITS[kind]
    if not low <= number <= high:
        raise ValueError(f"{name}: a number from {low} to {high} is needed, not {number}")
    return number


def c_options(role: str, options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The motley_job_options, and the texts that must live as long as it."""
    _check_names(options)
    if role not in ROLES:
        raise ValueError(f"role: one of {', '.join(ROLES)} is needed, not {role!r}")
    made, alive = new("motley_job_options"), list[Any]()
    made.role = ROLES[role]
    for name, value in options.items():
        if value is None:
            continue
        kind = _FIELDS[name]
        if kind == "char *":
            alive.append(c_text(name, value))
            setattr(made, name, alive[-1])
        elif kind == "char * *":
            if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
                raise TypeError(f"{name}: a list of texts is needed, not {type(value).__name__}")
            words = [c_text(name, word) for word in value]
            alive += [*words, ffi.new("char *[]", [*words, ffi.NULL])]
            setattr(made, name, alive[-1])
        else:
            setattr(made, name, _number(name, kind, value))
        made.given |= _GIVEN.get(name, 0)
    return made, alive


# Jobs that run on a thread of the library: their callbacks must live as long.
_started: set[Job] = set()


@atexit.register
def _stop_started() -> None:
    """Ends the jobs that still run when the program ends, while Python can still answer their callbacks.

    A job with a loop may wait for a step that nobody will end, so the program ends anyway after some seconds.
    """
    for job in list(_started):
        job.stop()
        lib.motley_job_wait(job._handle, LAST_SECONDS, ffi.NULL)


def deadline(timeout: float | None) -> float:
    """The time of time.monotonic() at which a timeout in seconds has passed; None: never."""
    return float("inf") if timeout is None else time.monotonic() + timeout


def left(end: float) -> float:
    """Seconds until a deadline, at least 0."""
    return max(0.0, end - time.monotonic())


class Job:
    """A job of one role. It runs once.

    all_in_one: the server and its workers, which are threads of this process or, with `worker_command`, one process
    each. server: accepts workers that are started elsewhere, at any time. worker: one of those. shard_server: holds
    a part of the vector.

    run() does everything. start() and wait() leave the caller free meanwhile: to call the methods that say "any
    thread", and to do the work itself (set_loop(), begin()).

    Events and callbacks arrive on the job's thread. If one raises an exception, the job ends, and run() or wait()
    raises that exception.
    """

    def __init__(self, role: Role = "all_in_one", *, trainer: Trainer | None = None, events: Events | None = None,
                 **options: Unpack[JobOptions]) -> None:
        """Checks the options, and creates the job; nothing is started yet.

        TypeError and ValueError name an option with a wrong type or number, InvalidArgument one with a wrong value.
        """
        self._handle: Any = None
        self._failure: BaseException | None = None
        self._thread: int | None = None
        self._running = False
        self._groups = 0
        self._alive: list[Any] = []
        self.trainer = trainer
        given = cast("dict[str, Any]", options)
        self._data = DataFile(given["data"]) if given.get("data") is not None else None
        if self._data is not None:
            given = given | {"data": self._data.path}
        made, texts = c_options(role, given)
        handle = ffi.new("motley_job **")
        check(lib.motley_job_create(made, handle))
        del texts  # The library has copied them.
        # Not freed by __del__: it may run anywhere, within a call of cffi that holds cffi's lock, too.
        self._handle = ffi.gc(handle[0], lib.motley_job_destroy)
        if trainer is not None:
            self.set_trainer(trainer)
        if events is not None:
            self.set_events(events)

    def set_trainer(self, trainer: Trainer) -> None:
        """Sets the job's trainer, before run()."""
        made, alive = trainer._c_struct(self._fail)
        check(lib.motley_job_set_trainer(self._open(), made))
        self._alive += alive
        self.trainer = trainer

    def set_events(self, events: Events) -> None:
        """Sets the function that gets the job's events, before run(). It should return soon."""

        def deliver(_context: Any, event: Any) -> None:
            self._thread = threading.get_ident()
            if self._failure is not None:
                return
            try:
                events(read_event(event))
            except BaseException as error:  # It must not pass through C.
                self._fail(error)

        callback = ffi.callback("motley_event_callback", deliver)
        check(lib.motley_job_set_events(self._open(), callback, ffi.NULL))
        self._alive.append(callback)

    def run(self) -> None:
        """Runs the job until it ends. For a worker, that is when its server ends the job.

        Ctrl-C ends the job as stop() does, and then raises KeyboardInterrupt; so does any exception of a signal's
        handler. Raises the exception of a callback unchanged; Cancelled after stop(); Unavailable if the server was
        not found or no workers are left.
        """
        first: BaseException | None = None
        self.start()
        while True:
            try:
                self.wait()
            except BaseException as error:
                if self._running:  # A signal's handler raised it.
                    first = first or error
                    self.stop()
                    continue
                if first is None:
                    raise
            break
        if first is not None:
            raise first

    def start(self) -> None:
        """Starts the job on a thread of the library, and returns at once; wait() has its result."""
        check(lib.motley_job_start(self._open()))
        self._running = True
        _started.add(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end of a job that start() started; raises what run() raises.

        False: it is still running after `timeout` seconds (None: no limit). A signal's handler that raises an
        exception, like Ctrl-C, leaves the job running.
        """
        job, end, ended = self._open(), deadline(timeout), ffi.new("int32_t *")
        while True:
            status = lib.motley_job_wait(job, min(POLL, left(end)), ended)
            if ended[0]:
                self._finished()
                self._raise(status, last_error() if status else "")
                return True
            if status != lib.MOTLEY_UNAVAILABLE:
                check(status)
            if left(end) == 0:
                return False

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Before start(): cuts the parameters into groups with their own learning rate, L2 and weight decay."""
        made = ffi.new("motley_group[]", len(groups))
        for place, group in zip(made, groups):
            place.struct_size = ffi.sizeof("motley_group")
            place.end, place.learning_rate = group.end, group.learning_rate
            place.l2, place.weight_decay = group.l2, group.weight_decay
        check(lib.motley_job_set_groups(self._open(), made, len(groups)))
        self._groups = len(groups)

    def set_group_rates(self, first_update: int, rates: npt.ArrayLike) -> None:
        """Sets the learning rates of all groups from an update on. Any thread.

        rates: an array of [update, group]. Later updates have its last row.
        """
        table = np.ascontiguousarray(rates, np.float64)
        if table.ndim != 2 or table.shape[1] != self._groups:
            raise ValueError(f"rates: an array of [update, group] is needed, for {self._groups} groups")
        pointer = ffi.cast("double *", table.ctypes.data)
        check(lib.motley_job_set_group_rates(self._open(), first_update, pointer, len(table)))

    def set_loop(self, parameter_count: int, *, initialize: bool = False, apply: bool = False,
                 show: bool = False, state_count: int = 0) -> None:
        """Before start(): the caller's loop does the work, by begin() or steps(), in place of a trainer.

        With `initialize` the loop fills in the first parameters, and with `apply` it applies updates. Then
        `state_count` floats of the optimizer's own are kept between updates and saved in checkpoints. With `show` it
        sees each version at which the job pauses (option allowed_steps), and the last one unless the job ends early.
        """
        loop = new("motley_loop")
        loop.flags = ((lib.MOTLEY_LOOP_INITIALIZE if initialize else 0) | (lib.MOTLEY_LOOP_APPLY if apply else 0)
                      | (lib.MOTLEY_LOOP_SHOW if show else 0))
        loop.parameter_count, loop.state_count = parameter_count, state_count
        check(lib.motley_job_set_loop(self._open(), loop))

    def begin(self, timeout: float | None = None) -> Step | None:
        """Takes a piece of work, from any thread; None: there was none within `timeout` seconds (None: no limit).

        The work's kind is END once the job has ended. Ctrl-C interrupts the call.
        """
        job, end = self._open(), deadline(timeout)
        while True:
            found: Step | None = begin(job, min(POLL, left(end)))
            if found is not None or left(end) == 0:
                return found

    def steps(self) -> Iterator[Step]:
        """Takes work until the job has ended: `for step in job.steps(): with step: ...`."""
        while (found := self.begin()) is not None and found.kind != StepKind.END:
            yield found

    def descriptor(self) -> int:
        """A descriptor for poll: readable while begin(0) has work. It belongs to the job."""
        found: int = lib.motley_job_descriptor(self._open())
        if found < 0:
            raise error_of(lib.MOTLEY_CONFLICT, last_error())
        return found

    def allow_steps(self, steps: int) -> None:
        """A job with the option allowed_steps goes on until it has done so many steps in all. Any thread."""
        check(lib.motley_job_allow_steps(self._open(), steps))

    def finish(self) -> None:
        """Ends the job as if its last step were done, with its last checkpoint. Any thread."""
        check(lib.motley_job_finish(self._open()))

    def set_rate(self, learning_rate: float) -> None:
        """Sets the learning rate from the next update on; a schedule still multiplies it. Any thread."""
        check(lib.motley_job_set_rate(self._open(), learning_rate))

    def copy_parameters(self, out: npt.NDArray[np.float32]) -> int:
        """Copies the newest parameters into `out` (float32, contiguous); returns the number of updates in them.

        During the run and after it, from any thread. Unavailable: there is no version yet, or workers hold it and
        the job does not pause (allowed_steps).
        """
        if out.dtype != np.float32 or not out.flags.c_contiguous or not out.flags.writeable:
            raise TypeError("out: a writable, contiguous array of float32 is needed")
        version = ffi.new("uint64_t *")
        pointer = ffi.cast("float *", out.ctypes.data)
        check(lib.motley_job_copy_parameters(self._open(), pointer, out.size, version))
        return int(version[0])

    def _finished(self) -> None:
        self._running, self._thread = False, None
        _started.discard(self)
        if self._data is not None:
            self._data.close()

    def _raise(self, status: int, message: str) -> None:
        """Raises the exception of a callback, or that of the status."""
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
            if status != 0:
                raise error_of(status, message)
        finally:
            del failure  # Its traceback holds this frame.

    def _fail(self, error: BaseException) -> None:
        """Keeps the first exception of a callback, and ends the job."""
        if self._failure is None:
            self._failure = error
        self.stop()

    def stop(self) -> None:
        """Ends the run soon, from any thread.

        After a second call the job no longer waits for its workers to say goodbye. It waits for the last checkpoint.
        """
        if self._handle is not None:
            lib.motley_job_stop(self._handle)

    def metrics(self) -> Metrics:
        """The numbers of a server or all-in-one job, during the run and after it. Any thread."""
        made = new("motley_metrics")
        check(lib.motley_job_metrics(self._open(), made))
        return read_metrics(made)

    def worker(self, number: int) -> WorkerMetrics:
        """The numbers of one worker, at the same times. NotFound: that worker has not joined.

        The name is "" during the run, except within callbacks of events.
        """
        made = new("motley_worker_metrics")
        check(lib.motley_job_worker(self._open(), number, made))
        if self._running and self._thread != threading.get_ident():
            made.name = ffi.NULL
        return read_worker_metrics(made)

    @property
    def report(self) -> dict[str, Any]:
        """The report after the run: the object that `motley train --json` prints (docs/reference/results.md)."""
        found = lib.motley_job_report(self._own())
        if found == ffi.NULL:
            raise error_of(lib.MOTLEY_CONFLICT, last_error())
        report: dict[str, Any] = json.loads(text(found))
        return report

    @property
    def failure(self) -> str:
        """Why the job failed, in one word: "diverged", "checkpoint", "data", "stopped" or "other".

        "" before the end, and if the job did well. Later versions may have more words.
        """
        return text(lib.motley_job_failure(self._own()))

    def parameters(self) -> npt.NDArray[np.float32]:
        """The trained parameters after the run: a new array, in the shape of the trainer's parameters or flat."""
        job, count = self._own(), ffi.new("uint64_t *")
        check(lib.motley_job_parameters(job, ffi.NULL, 0, count))
        found = np.empty(count[0], np.float32)
        check(lib.motley_job_parameters(job, ffi.cast("float *", found.ctypes.data), found.size, ffi.NULL))
        return found if self.trainer is None else found.reshape(self.trainer.initial.shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as safetensors after the run. The file replaces an existing one as a whole."""
        check(lib.motley_job_save(self._own(), c_text("path", path)))

    def close(self) -> None:
        """Frees the job and its parameters. A running job is stopped and not freed."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        if self._running:
            lib.motley_job_stop(handle)
            self._handle = handle
            raise Conflict("the job is running: it is stopped now, and can be closed when run() has returned")
        ffi.release(handle)
        self._alive.clear()
        if self._data is not None:
            self._data.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _open(self) -> Any:
        if self._handle is None:
            raise Conflict("the job is closed")
        return self._handle

    def _own(self) -> Any:
        """The handle, for calls that only the job's own thread may do while it runs."""
        if self._running and self._thread != threading.get_ident():
            raise Conflict("while a job runs, only callbacks of its events may ask for its results")
        return self._open()


