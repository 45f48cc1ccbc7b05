#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums by MPI: the suite of collectives and motley-sum --reduce mpi, with the mpirun of this machine.

Exits with 77 where MPI is not installed, or where Motley was built without it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))
import peer_tools  # noqa: E402


def run(processes, *words):
    """Over shared memory and over TCP with Open MPI, and as it comes with another MPI."""
    commands = [["mpirun", "-n", str(processes)]]
    if peer_tools.is_open_mpi():
        commands = [peer_tools.mpirun(processes, transport) for transport in ("vader", "tcp")]
    for command in commands:
        yield subprocess.run([*command, *words], capture_output=True, text=True, timeout=250,
                             env=peer_tools.ENVIRONMENT)


class Mpi(unittest.TestCase):
    def test_the_suite_passes_for_every_number_of_members(self):
        for processes in (1, 2, 3, 5, 8):
            for done in run(processes, os.environ["MPI_SUITE"]):
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_motley_sum_finds_every_sum_right(self):
        for processes, megabytes in ((3, 3), (4, 0.001)):
            for done in run(processes, os.environ["MOTLEY_SUM"], "--reduce", "mpi", "--megabytes", str(megabytes),
                            "--repetitions", "2", "--warmups", "1"):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["workers"], processes)

    def test_motley_sum_says_who_counts_the_processes(self):
        for done in run(2, os.environ["MOTLEY_SUM"], "--reduce", "mpi", "--workers", "3", "--megabytes", "0.01"):
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--workers 3, and mpirun started 2 processes", done.stderr)

    def test_motley_sum_needs_mpirun(self):
        done = subprocess.run([os.environ["MOTLEY_SUM"], "--reduce", "mpi"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("mpirun -n 4 motley-sum --reduce mpi", done.stderr)


def missing():
    """Why the tests cannot run here, or None."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed (package openmpi-bin)"
    if not (pathlib.Path(os.environ["MOTLEY_SUM"]).parent / "modules" / "motley-mpi.so").exists():
        return "Motley was built without MPI (package libopenmpi-dev)"
    return None


if __name__ == "__main__":
    if reason := missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
