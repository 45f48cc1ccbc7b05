# SPDX-License-Identifier: Apache-2.0
"""motley.ray with Ray from PyPI, in an environment of its own unless this interpreter has it."""

import importlib.util
import pathlib
import sys

from environments import interpreter, run

HERE = pathlib.Path(__file__).resolve().parent


def test_ray(tmp_path):
    has_ray = importlib.util.find_spec("ray") is not None
    python = sys.executable if has_ray else interpreter(tmp_path / "venv", "ray", "pytest", "numpy", "cffi")
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "ray_cases.py")
    assert done.returncode == 0, done.stdout + done.stderr
