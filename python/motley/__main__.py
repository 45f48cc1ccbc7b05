# SPDX-License-Identifier: Apache-2.0
"""Runs the program `motley` that belongs to this package: `python -m motley train --data table.csv`."""

from __future__ import annotations

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def program() -> pathlib.Path:
    """The program inside a wheel, or in the build folder of a checkout."""
    for path in (HERE / "bin" / "motley", HERE.parents[1] / "build" / "release" / "motley"):
        if path.exists():
            return path
    sys.exit(f"motley: the program is neither in {HERE / 'bin'} nor in build/release; build it with ./dev build")


def main() -> None:
    """Becomes that program, with the same arguments."""
    path = program()
    os.execv(path, ["motley", *sys.argv[1:]])


if __name__ == "__main__":
    main()
