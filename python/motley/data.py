# SPDX-License-Identifier: Apache-2.0
"""Samples in memory, for a library that reads files."""

from __future__ import annotations

import os
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

#: A path as for `motley train --data` ("FILE[:test=FILE]"), or arrays: (features, labels), N x D numbers and N numbers,
#: or (features, labels, test features, test labels).
Data: TypeAlias = Union[str, "os.PathLike[str]", "tuple[npt.ArrayLike, ...]"]

_NAMES = {1: ("x",), 2: ("x", "y"), 4: ("x_train", "y_train", "x_test", "y_test")}


class DataFile:
    """Data as a path that this process can open, until close().

    Arrays are copied to an unnamed file in memory (NPZ). Child processes cannot open it, and need not: only the server
    or all-in-one process reads data, and it sends workers their samples.
    """

    def __init__(self, data: Data | npt.ArrayLike, *, labelled: bool = True) -> None:
        """Without `labelled`, `data` may also be an array of features alone."""
        self._file: Any = None
        if isinstance(data, (str, os.PathLike)):
            self.path = os.fspath(data)
            return
        given = data if isinstance(data, tuple) else (data,)
        if len(given) not in ((2, 4) if labelled else (1, 2)):
            raise TypeError(f"data: a path or (features, labels) is needed, not {_described(data)}")
        arrays: dict[str, Any] = dict(zip(_NAMES[len(given)], map(_numbers, given)))
        shapes = [array.shape for array in arrays.values()]
        if any(len(shape) != (2, 1)[i % 2] or shape[0] != shapes[i - i % 2][0] for i, shape in enumerate(shapes)):
            raise ValueError("data: features of N x D and labels of N numbers are needed, not arrays of the shapes "
                             + ", ".join(map(str, shapes)))
        self._file = os.fdopen(os.memfd_create("motley-data", os.MFD_CLOEXEC), "wb")
        np.savez(self._file, **arrays)
        self._file.flush()
        self.path = f"/proc/self/fd/{self._file.fileno()}"

    def close(self) -> None:
        """Frees the memory; a reader that has begun keeps what it opened."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _described(data: Any) -> str:
    return f"a tuple of {len(data)}" if isinstance(data, tuple) else type(data).__name__


def _numbers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """An array of a type that the library reads."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"data: arrays of numbers are needed, not of {array.dtype}")
    if array.dtype.kind == "b" or array.dtype.itemsize not in (1, 4, 8) and array.dtype.kind == "f":
        array = array.astype(np.float32)
    return np.ascontiguousarray(array)
