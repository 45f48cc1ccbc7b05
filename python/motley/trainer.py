# SPDX-License-Identifier: Apache-2.0
"""Your own gradient in place of a built-in model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ._library import ffi, lib, new

CANCELLED = 1
CALLBACK = 11
LEAST_CHUNK = 64

FloatArray: TypeAlias = npt.NDArray[np.float32]
IndexArray: TypeAlias = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Samples of a job with data. Its arrays are views that are valid during one call of the gradient."""

    indices: IndexArray  #: Numbers of the samples, within 0..N-1.
    features: FloatArray  #: Dense: rows x columns. Sparse: the values of all entries.
    labels: FloatArray  #: One for each row.
    columns_count: int
    row_begin: npt.NDArray[np.int64] | None  #: Sparse: entries of row r are row_begin[r] up to row_begin[r + 1].
    columns: npt.NDArray[np.uint32] | None  #: Sparse: column of each entry.

    def __len__(self) -> int:
        return len(self.labels)


Sums: TypeAlias = Union["tuple[npt.ArrayLike, float]", "tuple[npt.ArrayLike, float, float]"]
Gradient: TypeAlias = Callable[[FloatArray, Any], Sums]
Hold: TypeAlias = Callable[[int, int, int], object]
Apply: TypeAlias = Callable[[FloatArray, FloatArray, float, FloatArray], object]
Evaluate: TypeAlias = Callable[[FloatArray], float]


def view(pointer: Any, count: int, dtype: npt.DTypeLike, *, writable: bool = False) -> npt.NDArray[Any]:
    """The array of `count` numbers at a C pointer, without a copy."""
    size = np.dtype(dtype).itemsize
    if count == 0:
        return np.empty(0, dtype)
    array = np.frombuffer(ffi.buffer(pointer, count * size), dtype)
    array.flags.writeable = writable
    return array


class Trainer:
    """A gradient function and the parameters that it trains.

    gradient(theta, indices) gets the parameters (float32, in the shape of `parameters`, read-only) and the numbers
    of samples (int64, within 0..N-1), and returns (gradient_sum, loss_sum): sums over these samples, not means. With
    a third value, their total weight, the update divides by the weights of the batch instead of the number of its
    samples. In a job with `data` it gets a Batch in place of the numbers. Both arguments are valid during the call.

    The result must depend on parameters and samples alone. Workers that are threads call it at the same time.
    """

    def __init__(self, gradient: Gradient, parameters: npt.ArrayLike, *, chunk: int | None = None,
                 hold: Hold | None = None, drop: Hold | None = None, apply: Apply | None = None,
                 state_count: int = 0, evaluate: Evaluate | None = None) -> None:
        """`parameters` are the first version, of any shape. A worker uses only their shape.

        chunk: the gradient is called for at most so many samples at a time (None: for an eighth of the work, but at
            least 64); between calls a worker sees that its answer is no longer needed.
        hold(partition, first, count): the worker will compute the samples first..first+count-1.
        drop(partition, first, count): it will not compute them any more. Comes once for each `hold`, when the job has
            ended or the worker has lost its server.
        apply(parameters, gradient, rate, state): the server's update, in place of the option `optimizer`. It changes
            `parameters`, and the flat array `state` of state_count floats, which begin as 0 and are saved in
            checkpoints. `gradient` is the mean over the batch.
        evaluate(theta): returns the loss by which the server judges progress (options evaluate_every, patience).
        """
        for name, function in (("gradient", gradient), ("hold", hold), ("drop", drop), ("apply", apply),
                               ("evaluate", evaluate)):
            if not callable(function) and (name == "gradient" or function is not None):
                raise TypeError(f"{name}: a function is needed, not {type(function).__name__}")
        if drop is not None and hold is None:
            raise ValueError("drop: it ends what `hold` began, so give `hold`, too")
        if chunk is not None and chunk < 1:
            raise ValueError(f"chunk: at least 1 is needed, not {chunk}")
        self.gradient, self.hold, self.drop, self.apply, self.evaluate = gradient, hold, drop, apply, evaluate
        self.chunk, self.state_count = chunk, state_count
        self.initial: FloatArray = np.array(parameters, np.float32)
        if self.initial.size == 0:
            raise ValueError("parameters: at least one is needed")

    def _c_struct(self, failed: Callable[[BaseException], None]) -> tuple[Any, list[Any]]:
        """The motley_trainer, and what must live as long as it. Exceptions go to `failed`."""
        made = new("motley_trainer")
        made.parameter_count, made.state_count = self.initial.size, self.state_count

        def guarded(function: Callable[..., int | None], fine: int | None,
                    failing: int | None) -> Callable[..., int | None]:
            def call(_context: Any, *arguments: Any) -> int | None:
                try:
                    return function(*arguments) or fine
                except BaseException as error:  # It must not pass through C.
                    failed(error)
                    return failing

            return call

        members: dict[str, Callable[..., int | None]] = {
            "accumulate_weighted": self._accumulate, "initialize": self._initialize}
        if self.hold is not None:
            members["hold"] = self._hold
        if self.drop is not None:
            members["drop"] = self._drop
        if self.apply is not None:
            members["apply"] = self._apply
        if self.evaluate is not None:
            members["evaluate"] = self._evaluate
        kinds = dict(ffi.typeof("motley_trainer").fields)
        alive = []
        for name, function in members.items():
            kind = kinds[name].type
            fine, failing = (None, None) if kind.result.kind == "void" else (0, CALLBACK)
            alive.append(ffi.callback(kind, guarded(function, fine, failing), error=failing))
            setattr(made, name, alive[-1])
        return made, alive

    def _array(self, pointer: Any, *, writable: bool = False) -> FloatArray:
        """Parameters or a vector like them, in their shape."""
        return view(pointer, self.initial.size, np.float32, writable=writable).reshape(self.initial.shape)

    def _initialize(self, _seed: int, parameters: Any, _count: int) -> None:
        self._array(parameters, writable=True)[...] = self.initial

    def _hold(self, partition: int, first: int, count: int) -> None:
        assert self.hold is not None
        self.hold(partition, first, count)

    def _drop(self, partition: int, first: int, count: int) -> None:
        assert self.drop is not None
        self.drop(partition, first, count)

    def _apply(self, update: Any) -> None:
        assert self.apply is not None
        self.apply(self._array(update.parameters, writable=True), self._array(update.gradient), update.learning_rate,
                   view(update.state, update.state_count, np.float32, writable=True))

    def _evaluate(self, _version: int, parameters: Any, _count: int, loss: Any) -> None:
        assert self.evaluate is not None
        loss[0] = float(self.evaluate(self._array(parameters)))

    def _accumulate(self, work: Any) -> int:
        theta, samples, done = self._array(work.parameters), read_samples(work), 0
        sums = [self._array(work.sums[v], writable=True) for v in range(work.vectors)]
        size = self.chunk or max(LEAST_CHUNK, -(-work.sample_count // 8))
        for i, first, end in _groups(work):
            weights = [work.runs[i].weights[v] for v in range(work.vectors)]
            for begin in range(first, end, size):
                if done > 0 and lib.motley_weighted_cancelled(work):
                    return CANCELLED
                piece = slice(begin, min(begin + size, end))
                part = samples[piece] if isinstance(samples, np.ndarray) else _rows(samples, piece)
                result = self.gradient(theta, part)
                self._add(result, weights, sums)
                work.losses[i] += float(result[1])
                work.weights[i] += float(result[2]) if len(result) == 3 else piece.stop - piece.start
                done += piece.stop - piece.start
                lib.motley_weighted_progress(work, done)
        return 0

    def _add(self, result: Sums, weights: list[float], sums: list[FloatArray]) -> None:
        """Adds what the gradient function returned."""
        if not isinstance(result, tuple) or len(result) not in (2, 3):
            raise TypeError("the gradient function must return (gradient_sum, loss_sum) or "
                            f"(gradient_sum, loss_sum, weight), not {type(result).__name__}")
        gradient = np.asarray(result[0])
        if gradient.shape != self.initial.shape:
            raise ValueError(f"the gradient has the shape {gradient.shape}, and the parameters {self.initial.shape}")
        for weight, total in zip(weights, sums):
            if weight != 0:
                np.add(total, gradient if weight == 1 else gradient * weight, out=total, casting="same_kind")


def _groups(work: Any) -> list[tuple[int, int, int]]:
    """Neighbouring runs of the same weights as (first run, first sample, end). All weights of runs become 0."""
    found: list[tuple[int, int, int]] = []
    for i in range(work.run_count):
        run = work.runs[i]
        work.weights[i] = 0
        if found and run.group == work.runs[found[-1][0]].group and found[-1][2] == run.first:
            found[-1] = (*found[-1][:2], run.first + run.count)
        else:
            found.append((i, run.first, run.first + run.count))
    return found


def read_samples(work: Any) -> IndexArray | Batch:
    """The samples of a motley_weighted_work or motley_step: their numbers, or with data their rows."""
    indices = view(work.samples, work.sample_count, np.int64)
    if work.batch == ffi.NULL:
        return indices
    batch = work.batch
    labels = view(batch.labels, batch.rows, np.float32)
    if batch.row_begin == ffi.NULL:
        features = view(batch.features, batch.rows * batch.columns_count, np.float32)
        features = features.reshape(batch.rows, batch.columns_count)
        return Batch(indices, features, labels, batch.columns_count, None, None)
    begin = view(batch.row_begin, batch.rows + 1, np.int64)
    first, last = int(begin[0]), int(begin[-1])
    return Batch(indices, view(batch.features + first, last - first, np.float32), labels, batch.columns_count,
                 begin - first, view(batch.columns + first, last - first, np.uint32))


def _rows(batch: Batch, piece: slice) -> Batch:
    """A part of the rows of a batch."""
    if batch.row_begin is None or batch.columns is None:
        return dataclasses.replace(batch, indices=batch.indices[piece], features=batch.features[piece],
                                   labels=batch.labels[piece])
    begin = batch.row_begin[piece.start:piece.stop + 1]
    entries = slice(int(begin[0]), int(begin[-1]))
    return dataclasses.replace(batch, indices=batch.indices[piece], labels=batch.labels[piece],
                               features=batch.features[entries], columns=batch.columns[entries],
                               row_begin=begin - begin[0])
