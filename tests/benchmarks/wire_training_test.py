#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small run of benchmarks/wire_training.py on machines with limited links. Times are not checked."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import wire_training  # noqa: E402


class Training(unittest.TestCase):
    def test_a_job_ends_whatever_happens_to_a_worker(self):
        done = subprocess.run(
            [sys.executable, str(BENCHMARKS / "wire_training.py"), os.environ["MOTLEY"], "--systems", "motley",
             "--faults", "none,kill", "--links", "200,200,200", "--hidden", "512,512", "--steps", "9", "--json"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([(row["fault"], row["outcome"]) for row in rows], [("none", "done"), ("kill", "done")])
        for row in rows:
            self.assertEqual((row["system"], row["links"], row["workers"]), ("motley", "3x200", 3))
            self.assertGreater(row["seconds"], 0)
        self.assertEqual(done.stderr.count(" steps/s"), len(rows), "no row as soon as it is there")

    def test_steps_are_told_apart_by_their_distance_from_a_checkpoint(self):
        ends = {1: 9, 2: 10, 3: 11, 4: 14, 5: 16, 6: 17, 7: 18, 8: 21, 9: 23}
        log = [json.dumps({"kind": "step", "step": step, "seconds": end}) for step, end in ends.items()]
        log.insert(3, json.dumps({"kind": "join", "worker": 1}))
        self.assertEqual(wire_training.after_checkpoint(log, 4), [3, 2, 1, 1])

    def test_wrong_names_are_refused(self):
        for words in (("--faults", "flood"), ("--systems", "horovod")):
            with self.assertRaises(SystemExit) as ended:
                wire_training.parse(["program", *words])
            self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    try:
        wire_training.Lab(2, "10.78.0.1", [100, 100]).close()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: machines with limited links need root, ip and tc: {error}")
        sys.exit(77)
    unittest.main()
