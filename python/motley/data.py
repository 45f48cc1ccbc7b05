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

    def __init__(self, data: Data) -> None:
        self._files: list[Any] = []
        if isinstance(data, (str, os.PathLike)):
            self.path = os.fspath(data)
            return
        if not isinstance(data, tuple) or len(data) != 2:
            raise TypeError(f"data: a path or (features, labels) is needed, not {type(data).__name__}")
        features, labels = np.asarray(data[0]), np.asarray(data[1])
        if features.ndim != 2 or labels.shape != features.shape[:1]:
            raise ValueError(f"data: features of N x D and labels of N numbers are needed, not arrays of the shapes "
                             f"{features.shape} and {labels.shape}")
        try:
            self.path = f"{self._save('features', features)}:labels={self._save('labels', labels)}"
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
