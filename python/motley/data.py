# SPDX-License-Identifier: Apache-2.0
"""Samples in memory, for a library that reads files."""

from __future__ import annotations

import os
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

#: A path as for `motley train --data` ("FILE[:test=FILE]"), or (features, labels): arrays of N x D numbers
#: and of N numbers.
Data: TypeAlias = Union[str, "os.PathLike[str]", "tuple[npt.ArrayLike, npt.ArrayLike]"]


class DataFile:
    """Data as a path that this process can open, until close().

    Arrays lie in unnamed files in memory, in NumPy's format. Child processes cannot open them: only the server or
    all-in-one process reads data, and it sends workers their samples.
    """

    def __init__(self, data: Data | npt.ArrayLike, *, labelled: bool = True) -> None:
        """Without `labelled`, `data` may also be an array of features alone."""
        self._files: list[Any] = []
        if isinstance(data, (str, os.PathLike)):
            self.path = os.fspath(data)
            return
        given = data if isinstance(data, tuple) else (data,)
        if len(given) != 2 and (labelled or len(given) != 1):
            raise TypeError(f"data: a path or (features, labels) is needed, not {type(data).__name__}")
        arrays = dict(zip(("features", "labels"), map(np.asarray, given)))
        count = arrays["features"].shape[:1]
        if arrays["features"].ndim != 2 or any(array.shape != count for array in list(arrays.values())[1:]):
            raise ValueError("data: features of N x D and labels of N numbers are needed, not arrays of the shapes "
                             + " and ".join(str(array.shape) for array in arrays.values()))
        try:
            self.path = ":labels=".join([self._save(name, array) for name, array in arrays.items()])
        except BaseException:
            self.close()
            raise

    def _save(self, name: str, array: npt.NDArray[Any]) -> str:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"data: {name} must be numbers, not {array.dtype}")
        if array.dtype.kind == "b" or array.dtype == np.float16:
            array = array.astype(np.float32)
        file = os.fdopen(os.memfd_create(f"motley-{name}", os.MFD_CLOEXEC), "wb")
        self._files.append(file)
        np.save(file, np.ascontiguousarray(array))
        file.flush()
        return f"/proc/self/fd/{file.fileno()}"

    def close(self) -> None:
        """Frees the memory; a reader that has begun keeps what it opened."""
        for file in self._files:
            file.close()
        self._files.clear()
