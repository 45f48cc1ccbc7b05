# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the library, one for each status of the C API (motley/status.h)."""

from __future__ import annotations

import os
from typing import Any

from ._library import ffi, lib


class Error(Exception):
    """A call of the library failed. The text says what failed, where, why, and what to do next."""

    #: The number of the status in the C API.
    status: int = -1


class Cancelled(Error):
    """The job was stopped by Job.stop()."""

    status = 1


class InvalidArgument(Error, ValueError):
    """An argument is wrong; the text says what is possible."""

    status = 2


class NotFound(Error):
    """There is no such file, column or checkpoint."""

    status = 3


class Unavailable(Error):
    """A peer or a resource is not there now, or a time limit has passed."""

    status = 4


class PermissionDenied(Error):
    """The credentials are wrong or missing."""

    status = 5


class Conflict(Error):
    """Versions or states do not fit together."""

    status = 6


class DataError(Error):
    """A file or a peer sent invalid bytes."""

    status = 7
    #: From checkpoint.verify and checkpoint.restore: the checkpoint as they found it.
    checkpoint: dict[str, Any] | None = None


class NotDecodable(Error):
    """There are too few answers for the gradient code."""

    status = 8


class ResourceError(Error):
    """Out of memory, disk or descriptors."""

    status = 9


class InternalError(Error):
    """A bug of Motley."""

    status = 10


class CallbackError(Error):
    """A callback failed in another process. Exceptions of this process are raised unchanged."""

    status = 11


_BY_STATUS = {error.status: error for error in Error.__subclasses__()}


def text(chars: Any) -> str:
    """A text of the library as str; "" for NULL."""
    return "" if chars == ffi.NULL else ffi.string(chars).decode(errors="replace")


def c_text(name: str, value: Any) -> Any:
    """A text or path for the library; TypeError and ValueError name the argument."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: a text is needed, not {type(value).__name__}")
    written = os.fsencode(value)
    if b"\0" in written:
        raise ValueError(f"{name}: a text must not contain a null character")
    return ffi.new("char[]", written)


def last_error() -> str:
    """The message of this thread's last failed call; "" before the first failure."""
    return text(lib.motley_last_error())


def status_name(status: int) -> str:
    """The name of a status, like "invalid argument"; "unknown" for other numbers."""
    return text(lib.motley_status_name(status))


def error_of(status: int, message: str) -> Error:
    """The exception for a status other than 0."""
    error = _BY_STATUS.get(status, Error)(message or status_name(status))
    error.status = status
    return error


def check(status: int) -> None:
    """Raises the exception of a status other than 0, in the thread of the call that returned it."""
    if status != 0:
        raise error_of(status, last_error())
