#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks know of the systems that they compare with."""

import pathlib
import stat
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))
import peer_tools  # noqa: E402

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
REFERENCE = f"7f00-7f01 r-xp 0 00:1 5    {LIBRARIES}/blas/libblas.so.3.11.0"
OPENBLAS = (f"7f00-7f01 r-xp 0 00:1 5    {LIBRARIES}/openblas-pthread/libblas.so.3\n"
            f"7f02-7f03 r-xp 0 00:1 6    {LIBRARIES}/openblas-pthread/libopenblasp-r0.3.21.so")
OTHER = "7f00-7f01 r-xp 0 00:1 5    /venv/torch/lib/libtorch_cpu.so\n7f02-7f03 rw-p 0 00:00 0"


class Blas(unittest.TestCase):
    def test_the_reference_is_known_by_its_file(self):
        self.assertTrue(peer_tools.has_reference_blas(f"{OTHER}\n{REFERENCE}\n"))
        for maps in (OPENBLAS, OTHER, ""):
            self.assertFalse(peer_tools.has_reference_blas(maps))

    def test_it_is_refused_with_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "python"
            for maps in (OPENBLAS, REFERENCE):
                python.write_text(f"#!/bin/sh\ncat <<END\n{maps}\nEND\n")
                python.chmod(python.stat().st_mode | stat.S_IXUSR)
                if maps is OPENBLAS:
                    peer_tools.refuse_reference_blas(python)
                    continue
                with self.assertRaises(SystemExit) as ended:
                    peer_tools.refuse_reference_blas(python)
                self.assertIn("apt-get install libopenblas0-pthread", ended.exception.code)


if __name__ == "__main__":
    unittest.main()
