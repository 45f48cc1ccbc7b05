# SPDX-License-Identifier: Apache-2.0
"""motley.ray with Ray from PyPI, in an environment of its own unless this interpreter has it."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)


def with_ray(folder):
    if importlib.util.find_spec("ray") is not None:
        return sys.executable
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode == 0:
        made = run(folder / "bin/python", "-m", "pip", "install", "-q", "ray", "pytest", "numpy", "cffi")
    if made.returncode != 0:
        pytest.skip(f"Ray cannot be installed here: {made.stderr.strip().splitlines()[-1:]}")
    return folder / "bin/python"


def test_ray(tmp_path):
    done = run(with_ray(tmp_path / "venv"), "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "ray_cases.py")
    assert done.returncode == 0, done.stdout + done.stderr
