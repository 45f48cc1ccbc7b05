# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of jobs: list, verify, restore and export them (motley/checkpoint.h)."""

from __future__ import annotations

import json
import os
from typing import Any, Literal

from ._library import NEWEST, ffi, lib
from .errors import DataError, c_text, error_of, last_error, text


def list_checkpoints(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The checkpoints in a folder, newest first; only headers are read.

    Each has step, code, shards (each with its state and path), bytes, restorable, degraded and survives: how many
    more shards may be lost.
    """
    found: list[dict[str, Any]] = _described(lib.motley_checkpoint_list, folder)
    return found


def verify(folder: str | os.PathLike[str], step: int | None = None) -> dict[str, Any]:
    """Reads every block of a checkpoint (None: the newest), and describes it.

    DataError: some blocks are lost or damaged; its attribute `checkpoint` has the description then.
    """
    found: dict[str, Any] = _described(lib.motley_checkpoint_verify, folder, _step(step))
    return found


def restore(folder: str | os.PathLike[str], step: int | None = None) -> dict[str, Any]:
    """Rebuilds lost and damaged shards from the others, and describes the checkpoint afterwards.

    DataError: too many are gone, and nothing was changed; its attribute `checkpoint` has the description then.
    """
    found: dict[str, Any] = _described(lib.motley_checkpoint_restore, folder, _step(step))
    return found


def export(folder: str | os.PathLike[str], path: str | os.PathLike[str], step: int | None = None,
           format: Literal["motley", "torch"] | None = None) -> None:
    """Writes a checkpoint's model as safetensors to `path`, whole or not at all.

    With a format, `folder` may also be a model file, which is converted. DataError: the checkpoint cannot be restored.
    """
    status = lib.motley_checkpoint_export(c_text("folder", folder), _step(step), c_text("path", path),
                                          ffi.NULL if format is None else c_text("format", format))
    if status != 0:
        raise error_of(status, last_error())


def _step(step: int | None) -> int:
    return NEWEST if step is None else step


def _described(function: Any, folder: str | os.PathLike[str], *arguments: int) -> Any:
    """Calls a function that writes a JSON text, and frees that text."""
    made = ffi.new("char **")
    status = function(c_text("folder", folder), *arguments, made)
    message = last_error()
    found = None
    if made[0] != ffi.NULL:
        found = json.loads(text(made[0]))
        lib.motley_string_destroy(made[0])
    if status == 0:
        return found
    error = error_of(status, message)
    if isinstance(error, DataError):
        error.checkpoint = found
    raise error
