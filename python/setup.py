# SPDX-License-Identifier: Apache-2.0
"""Puts the library, the program and the modules that it loads into the package.

They come from the build folder MOTLEY_BUILD_DIR, as `./dev wheel` sets it. Without it, CMake builds them in
build/release of the sources: those of the checkout, or those in an sdist.
"""

import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "source" if (HERE / "source").is_dir() else HERE.parent


def version():
    return re.search(r"project\(motley VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        folder = os.environ.get("MOTLEY_BUILD_DIR")
        build = pathlib.Path(folder) if folder else SOURCE / "build" / "release"
        if not folder:
            if not (build / "CMakeCache.txt").exists():
                generator = ["-G", "Ninja"] if shutil.which("ninja") else []
                subprocess.run(["cmake", "-S", SOURCE, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release",
                                "-DMOTLEY_BUILD_TESTS=OFF", "-DMOTLEY_BUILD_BENCHMARKS=OFF"], check=True)
            subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "motley",
                            "motley_shared"], check=True)
        package = pathlib.Path(self.build_lib) / "motley"
        # No program of the wheel sums by MPI, and every MPI would need a module of its own.
        modules = [file for file in (build / "modules").glob("*.so") if file.name != "motley-mpi.so"]
        files = {build / "libmotley.so.1": "lib", build / "motley": "bin"} | dict.fromkeys(modules, "lib/motley")
        for file, folder in files.items():
            (package / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, package / folder)


class PlatformPackage(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform: the package calls the library through cffi."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=version(), distclass=PlatformPackage,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
