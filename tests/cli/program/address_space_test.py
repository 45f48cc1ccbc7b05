#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes under limits of their address space, like `ulimit -v`. At each limit a job
works, or ends with an error that names memory. Steps that it reported as safe can be restored in any case."""

import re
import resource
import subprocess
import tempfile
import unittest

from tools.program import PATIENCE_S, PROGRAM, ProgramTest

STEPS = 4
MIB = 1 << 20


class Sweep(ProgramTest):
    def run_with(self, limit_mib, model):
        """Returns the exit code and the messages. The server and each worker have the limit."""
        saved = tempfile.mkdtemp(dir=self.folder)
        limit = limit_mib * MIB
        job = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), "--model", model, "--workers", "2",
             "--threads", "1", "--steps", str(STEPS), "--batch", "16", "--code", "none",
             "--checkpoint", saved, "--checkpoint-every", "1", "--verbose"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.addCleanup(self.end, job)
        said = job.communicate(timeout=PATIENCE_S)[1]
        self.check_end(job.returncode, said)
        self.check_safe(saved, said)
        return job.returncode, said

    def check_end(self, code, said):
        if code == 127 and "error while loading shared libraries" in said:
            return  # Not even the program's libraries fit, which the system's loader says.
        self.assertIn(code, (0, 1, 4), said)  # Done, failed, or no worker is left.
        if code != 0:
            self.assertRegex(said, "(?m)^motley: .*(memory|may be used here|bad_alloc|start (a thread|the threads))")
        self.assertNotRegex(said, r"signal \d+|exit code 13\d|terminate called")

    def check_safe(self, saved, said):
        safe = [int(step) for step in re.findall(r"checkpoint: (\d+) steps? (?:is|are) safe", said)]
        if safe:
            again = self.run_json("train", "--data", self.data, "--resume", saved, "--steps",
                                  STEPS + 1, "-q")
            self.assertGreaterEqual(again["resumed_from"], safe[-1])


class AddressSpace(Sweep):
    def test_a_job_works_or_says_what_it_lacks(self):
        codes = [self.run_with(limit, "mlp:1000,1000")[0] for limit in (30, 65, 80, 95, 120, 1000)]
        self.assertNotEqual(codes[0], 0)
        self.assertEqual(codes[-1], 0)


class AddressSpaceSweep(Sweep):
    def test_each_limit(self):
        codes = {}
        for limit in [*range(20, 400, 5), 2000]:
            with self.subTest(limit_mib=limit):
                codes[limit] = self.run_with(limit, "mlp:2000,2000")[0]
        self.assertIn(0, codes.values())
        self.assertIn(1, codes.values())


if __name__ == "__main__":
    unittest.main()
