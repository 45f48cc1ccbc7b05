# SPDX-License-Identifier: Apache-2.0
"""motley.ray with Ray from PyPI, in an environment of its own unless this interpreter has it."""

import importlib.util
import os
import pathlib
import sys

import pytest
from environments import interpreter, run

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    if importlib.util.find_spec("ray") is not None:
        return sys.executable
    return interpreter(tmp_path_factory.mktemp("ray") / "venv", "ray", "pytest", "numpy", "cffi")


@pytest.mark.parametrize("cases", ["ray_cases.py", "ray_nodes_cases.py"])
def test_ray(cases, python):
    # Ray would kill workers when other programs use most of the machine's memory.
    environment = {**os.environ, "RAY_memory_monitor_refresh_ms": "0"}
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / cases, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
