#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one file of tests by pytest, with an interpreter that has the packages it needs.

Usage: run_pytest.py FILE. Exits 77, with the reason, where there is none. ctest starts it.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Debian's packages for what tests import, by a part of the file's path.
NEEDED = {"": {"pytest": "python3-pytest", "numpy": "python3-numpy", "cffi": "python3-cffi"},
          "sklearn": {"sklearn": "python3-sklearn"}, "torch": {"torch": "python3-torch"}}
SKIP = 77


def interpreters():
    """This one, that of the PATH, and Debian's."""
    return dict.fromkeys([sys.executable, "python3", "/usr/bin/python3"])


def has(python, modules):
    try:
        tried = subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False)
    except OSError:
        return False
    return tried.returncode == 0


def main():
    name = sys.argv[1]
    if os.environ.get("MOTLEY_SANITIZE"):
        print("skipped: an interpreter without the sanitizer cannot load the library that has it")
        return SKIP
    needed = {module: package for part, found in NEEDED.items() if part in name for module, package in found.items()}
    python = next((python for python in interpreters() if has(python, needed)), None)
    if python is None:
        print(f"skipped: no Python 3 here has {', '.join(needed)}: apt install {' '.join(needed.values())}")
        return SKIP
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1] / "python"))
    done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5", HERE / name],
                          cwd=HERE, env=environment, check=False)
    # pytest's status when all tests of a file are skipped as a whole.
    return SKIP if done.returncode == 5 else done.returncode


if __name__ == "__main__":
    sys.exit(main())
