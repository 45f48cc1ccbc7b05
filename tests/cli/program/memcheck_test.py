# SPDX-License-Identifier: Apache-2.0
"""The program and its child workers under valgrind's memcheck. Slow: ./dev test --full runs it.

Valgrind does not support AVX-512 and reports a processor without it, so the program chooses kernels of an
older instruction set.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from tools.program import PROGRAM, write_samples

VALGRIND = shutil.which("valgrind")


@unittest.skipIf(VALGRIND is None, "valgrind is not installed")
class Memcheck(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="motley-memcheck-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = self.folder / "data.csv"
        write_samples(self.data, rows=120, features=6, classes=3)

    def check(self, *arguments):
        """Runs the program; every process must end without an error in its report."""
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        command = [VALGRIND, "--quiet", "--trace-children=yes", "--leak-check=full",
                   "--errors-for-leak-kinds=definite", "--error-exitcode=99",
                   f"--log-file={logs}/%p.log", PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        reports = {path.name: path.read_text() for path in logs.iterdir()}
        self.assertTrue(reports)
        for name, report in reports.items():
            self.assertEqual(report, "", f"{name} of {' '.join(command)}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, len(reports)

    def test_codes(self):
        self.check("codes", "--speeds", "1,1,2,4", "--code", "heterogeneous", "--tolerate", "1")

    def test_simulate(self):
        profile = pathlib.Path(__file__).parents[3] / "profiles" / "lab-mixed.toml"
        self.check("simulate", "--cluster", profile, "--code", "cyclic", "--tolerate", "1",
                   "--steps", "5")

    def test_train_with_child_workers_and_predict(self):
        model = self.folder / "model.safetensors"
        _, processes = self.check("train", "--data", self.data, "--model", "mlp:8", "--workers",
                                  "2", "--code", "repetition", "--tolerate", "1", "--epochs", "2",
                                  "--batch", "32", "--out", model)
        self.assertGreaterEqual(processes, 3)  # The server and two workers.
        self.check("predict", "--model", model, "--data", self.data)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(unittest.main())
