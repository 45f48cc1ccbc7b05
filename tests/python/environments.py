# SPDX-License-Identifier: Apache-2.0
"""Virtual environments with packages from PyPI."""

import subprocess
import sys

import pytest


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **options)


def interpreter(folder, *packages):
    """One that has the newest version of these packages. Skips the test, with the reason, if they cannot be had."""
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode == 0:
        made = run(folder / "bin/python", "-m", "pip", "install", "-q", *packages)
    if made.returncode != 0:
        why = made.stderr.strip().splitlines()[-1:]
        pytest.skip(f"{', '.join(packages)} cannot be installed from PyPI here: {why}")
    return folder / "bin/python"
