# SPDX-License-Identifier: Apache-2.0
"""Finds and opens libmotley.so.1.

`lib` has its functions and constants, and `ffi` makes C values. Calls release the GIL.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import cffi

from ._cdef import CDEF, CONSTANTS, INITIAL

NAME = "libmotley.so.1"
NEWEST: int = CONSTANTS["MOTLEY_NEWEST"]
ALL_ROWS: int = CONSTANTS["MOTLEY_ALL_ROWS"]

ffi: Any = cffi.FFI()
ffi.cdef(CDEF)


def candidates() -> list[str]:
    """Where the library may be, in order: files, and at last the name for the system's loader."""
    chosen = os.environ.get("MOTLEY_LIBRARY")
    if chosen:
        return [chosen]
    here = pathlib.Path(__file__).resolve().parent
    # Inside a wheel, and in the build folder of a checkout.
    files = [here / "lib" / NAME, here.parents[1] / "build" / "release" / NAME]
    return [str(file) for file in files if file.exists()] + [NAME]


def open_library() -> Any:
    """Opens the library; ImportError says where it was looked for, and why each attempt failed."""
    reasons = []
    for path in candidates():
        try:
            library = ffi.dlopen(path, ffi.RTLD_NOW)
        except OSError as error:
            reasons.append(f"{path}: {error}")
            continue
        found = ffi.string(library.motley_version()).decode()
        wanted = [CONSTANTS["MOTLEY_VERSION_MAJOR"], CONSTANTS["MOTLEY_VERSION_MINOR"]]
        if [int(part) for part in found.split(".")[:2]] != wanted:
            raise ImportError(f"motley: {path} has version {found}, and this package needs "
                              f"{wanted[0]}.{wanted[1]}. Set MOTLEY_LIBRARY to the library of this version")
        return library
    raise ImportError(f"motley: {NAME} was not found. Set MOTLEY_LIBRARY to its path, or install the wheel "
                      f"motley-train, which has it. Looked at:\n  " + "\n  ".join(reasons))


lib: Any = open_library()


def new(struct: str) -> Any:
    """A struct of the C API with its initial values, like its _INIT macro."""
    made = ffi.new(f"{struct} *")
    made.struct_size = ffi.sizeof(struct)
    for name, value in INITIAL.get(struct, {}).items():
        setattr(made, name, value)
    return made


def version() -> str:
    """The version of the library, like "0.2.0"."""
    text: str = ffi.string(lib.motley_version()).decode()
    return text


def abi_version() -> int:
    """Grows by one with every incompatible change of the C API."""
    return int(lib.motley_abi_version())
