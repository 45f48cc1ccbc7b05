# SPDX-License-Identifier: Apache-2.0
"""The newest PyTorch and mypy from PyPI: the tests of motley.torch, and the types of the package.

PyTorch for Linux brings CUDA, so this downloads some gigabytes. MOTLEY_NEWEST_PYTHON may name an interpreter that has
torch, pytest, numpy, cffi and mypy already.
"""

import os
import pathlib

import pytest
from environments import interpreter, run

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    given = os.environ.get("MOTLEY_NEWEST_PYTHON")
    if given:
        return given
    return interpreter(tmp_path_factory.mktemp("newest") / "venv", "torch", "pytest", "numpy", "cffi", "mypy")


def test_the_package_trains_modules_of_the_newest_pytorch(python, capsys):
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "torch",
               "--ignore", HERE / "torch" / "jobs_slow_test.py")
    with capsys.disabled():
        print("\nPyTorch", run(python, "-c", "import torch; print(torch.__version__)").stdout.strip(),
              done.stdout.strip().splitlines()[-1:])
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_strict(python, tmp_path):
    done = run(python, "-m", "mypy", "--cache-dir", tmp_path, "motley", cwd=HERE.parents[1] / "python")
    assert done.returncode == 0, done.stdout + done.stderr
