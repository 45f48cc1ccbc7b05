# SPDX-License-Identifier: Apache-2.0
"""The program and the library on a processor without AVX, emulated (qemu-user). Slow: ./dev test
--full runs it.

There are no jobs with child workers, because the emulator itself ends with SIGSEGV when it delivers the
end of a child to a program with threads.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

from tools.program import PROGRAM, ProgramTest

QEMU = shutil.which("qemu-x86_64")
BUILD = pathlib.Path(PROGRAM).parent
PATIENCE_S = 1200
EMULATED = [QEMU, "-cpu", "Nehalem"]


@unittest.skipIf(QEMU is None, "qemu-user is not installed")
@unittest.skipIf(os.uname().machine != "x86_64", "no x86 program")
class OldProcessor(ProgramTest):
    def run_emulated(self, program, *arguments):
        done = subprocess.run([*EMULATED, program, *map(str, arguments)], text=True,
                              capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_kernels_that_the_processor_cannot_run_are_not_taken(self):
        said = self.run_emulated(PROGRAM, "--version")
        for newer in ("avx2", "avx512"):
            self.assertIn(f"{newer}: this processor cannot run {newer} code", said)
        self.assertIn("baseline: usable", said)

    def test_kernels_pass_their_checks(self):
        said = self.run_emulated(BUILD / "tests/devices_tests", "--gtest_filter=*/baseline")
        self.assertIn("PASSED", said)
        self.assertNotIn("SKIPPED", said)

    def test_simulations_are_those_of_every_machine(self):
        profile = pathlib.Path(__file__).parents[3] / "profiles" / "lab-mixed.toml"
        job = ["simulate", "--cluster", profile, "--code", "adaptive", "--tolerate", 1,
               "--steps", 20, "--json"]
        self.assertEqual(self.run_emulated(PROGRAM, *job), self.run_program(*job).stdout)

    def test_library_trains(self):
        said = self.run_emulated(BUILD / "example_trainer")
        found = [line.split() for line in said.splitlines() if line.endswith(")")][-8:]
        self.assertEqual(len(found), 8)
        for weight, true in found:
            self.assertAlmostEqual(float(weight), float(true.strip("()")), delta=1e-3)

    def test_predictions_are_those_of_newer_kernels(self):
        model = self.folder / "model.safetensors"
        self.run_program("train", "--data", self.data, "--model", "mlp:16", "--steps", 30,
                         "--quiet", "--out", model)
        predict = ["predict", "--model", model, "--data", self.data]
        self.assertEqual(self.run_emulated(PROGRAM, *predict), self.run_program(*predict).stdout)


if __name__ == "__main__":
    unittest.main()
