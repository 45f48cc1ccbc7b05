# SPDX-License-Identifier: Apache-2.0
"""Your own gradient in place of a built-in model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ._library import ffi, lib, new

CANCELLED = 1
CALLBACK = 11

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


def view(pointer: Any, count: int, dtype: npt.DTypeLike, *, writable: bool = False) -> npt.NDArray[Any]:
    """The array of `count` numbers at a C pointer, without a copy."""
    size = np.dtype(dtype).itemsize
    if count == 0:
        return np.empty(0, dtype)
    array = np.frombuffer(ffi.buffer(pointer, count * size), dtype)
    array.flags.writeable = writable
    return array


def _pieces(count: int, chunk: int | None) -> Sequence[slice]:
    if chunk is None or chunk >= count:
        return [slice(0, count)]
    return [slice(begin, min(begin + chunk, count)) for begin in range(0, count, chunk)]


class Trainer:
    """A gradient function and the parameters that it trains.

    gradient(theta, indices) gets the parameters (float32, in the shape of `parameters`, read-only) and the numbers
    of samples (int64, within 0..N-1), and returns (gradient_sum, loss_sum): sums over these samples, not means. With
    a third value, their total weight, the update divides by the weights of the batch instead of the number of its
    samples. In a job with `data` it gets a Batch in place of the numbers. Both arguments are valid during the call.

    The result must depend on parameters and samples alone. Workers that are threads call it at the same time.
    """

    def __init__(self, gradient: Gradient, parameters: npt.ArrayLike, *, hold: Hold | None = None,
                 chunk: int | None = None) -> None:
        """`parameters` are the first version, of any shape. A worker uses only their shape.

        hold(partition, first, count) announces that the worker will compute the samples first..first+count-1.
        With `chunk`, the gradient is called for at most so many samples at a time; between calls a worker sees that
        its answer is no longer needed.
        """
        if not callable(gradient):
            raise TypeError(f"gradient: a function is needed, not {type(gradient).__name__}")
        if chunk is not None and chunk < 1:
            raise ValueError(f"chunk: at least 1 is needed, not {chunk}")
        self.gradient = gradient
        self.hold = hold
        self.chunk = chunk
        self.initial: FloatArray = np.array(parameters, np.float32)
        if self.initial.size == 0:
            raise ValueError("parameters: at least one is needed")

    def c_struct(self, failed: Callable[[BaseException], None]) -> tuple[Any, list[Any]]:
        """The motley_trainer, and what must live as long as it. Exceptions go to `failed`."""
        made = new("motley_trainer")
        made.parameter_count = self.initial.size

        def guarded(function: Callable[..., int | None]) -> Callable[..., int]:
            def call(_context: Any, *arguments: Any) -> int:
                try:
                    return function(*arguments) or 0
                except BaseException as error:  # It must not pass through C.
                    failed(error)
                    return CALLBACK

            return call

        fields = {field: guarded(function) for field, function in (
            ("accumulate", self._accumulate), ("initialize", self._initialize),
            ("hold", self._hold if self.hold is not None else None)) if function is not None}
        kinds = dict(ffi.typeof("motley_trainer").fields)
        alive = [ffi.callback(kinds[field].type, function, error=CALLBACK) for field, function in fields.items()]
        for field, function in zip(fields, alive):
            setattr(made, field, function)
        return made, alive

    def _initialize(self, _seed: int, parameters: Any, count: int) -> None:
        view(parameters, count, np.float32, writable=True)[:] = self.initial.ravel()

    def _hold(self, partition: int, first: int, count: int) -> None:
        if self.hold is not None:
            self.hold(partition, first, count)

    def _accumulate(self, work: Any) -> int:
        shape = self.initial.shape
        theta = view(work.parameters, work.parameter_count, np.float32).reshape(shape)
        total = view(work.sum, work.parameter_count, np.float32, writable=True).reshape(shape)
        samples = read_samples(work)
        weight = 0.0
        pieces = _pieces(work.sample_count, self.chunk)
        for piece in pieces:
            if piece.start > 0 and lib.motley_work_cancelled(work):
                return CANCELLED
            part = samples[piece] if isinstance(samples, np.ndarray) else _rows(samples, piece)
            result = self.gradient(theta, part)
            weight += self._add(result, piece.stop - piece.start, work.coefficient, total, work.loss)
            if len(pieces) > 1:
                lib.motley_work_progress(work, piece.stop)
        work.weight[0] = weight
        return 0

    def _add(self, result: Sums, count: int, coefficient: float, total: FloatArray, loss: Any) -> float:
        """Adds what the gradient function returned; returns the weight of these samples."""
        if not isinstance(result, tuple) or len(result) not in (2, 3):
            raise TypeError("the gradient function must return (gradient_sum, loss_sum) or "
                            f"(gradient_sum, loss_sum, weight), not {type(result).__name__}")
        gradient = np.asarray(result[0])
        if gradient.shape != total.shape:
            raise ValueError(f"the gradient has the shape {gradient.shape}, and the parameters {total.shape}")
        if coefficient != 1:
            gradient = gradient * coefficient
        np.add(total, gradient, out=total, casting="same_kind")
        loss[0] += coefficient * float(result[1])
        return float(result[2]) if len(result) == 3 else count


def read_samples(work: Any) -> IndexArray | Batch:
    """The samples of a motley_work or motley_step: their numbers, or with data their rows."""
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
