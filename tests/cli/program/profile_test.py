#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`motley profile`, run as by a user. No check depends on the speed of the machine."""

import json
import os
import resource
import subprocess
import unittest

from tools.program import PATIENCE_S, PROGRAM, SANITIZED, ProgramTest

SECONDS = 3 if SANITIZED else 0.3  # Enough for two sizes of pieces, even in a slow program.


class Profile(ProgramTest):
    def setUp(self):
        self.cache = self.folder / self._testMethodName
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}

    def profile(self, *arguments, expect=0, seconds=SECONDS):
        done = subprocess.run(
            [PROGRAM, "profile", "--seconds", str(seconds), *map(str, arguments)], text=True,
            capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            env=self.environment)
        if expect == 0 and done.returncode and "--seconds is too short" in done.stderr:
            self.assertLess(seconds, 100, done.stderr)  # Other programs may have used the machine meanwhile.
            return self.profile(*arguments, seconds=10 * seconds)
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def measured(self, *arguments):
        return json.loads(self.profile("--json", "-q", *arguments).stdout)

    def kept(self):
        return sorted((self.cache / "motley" / "profiles").glob("*.toml"))

    def test_table_and_file(self):
        path = self.folder / "here.toml"
        done = self.profile("--out", path, "--name", "here", "--features", 20, "--classes", 3)
        for word in ("here (cpu", "processor", "softmax", "link", "samples/s"):
            self.assertIn(word, done.stdout)
        self.assertIn("measuring softmax", done.stderr)
        text = path.read_text()
        for word in ('name = "here"', 'model = "softmax"', "gradient_bytes = 252", "step_flops",
                     "samples_per_second", "hardware", "memory"):
            self.assertIn(word, text)

    def test_a_full_disk_leaves_the_old_files(self):
        path = self.folder / "full.toml"
        self.profile("-q", "--out", path)
        (kept,) = self.kept()
        old = path.read_text(), kept.read_text()

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        done = subprocess.run(
            [PROGRAM, "profile", "--seconds", "0.3", "-q", "--fresh", "--out", str(path)],
            text=True, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            env=self.environment, preexec_fn=little_room,
            restore_signals=False)  # SIGXFSZ stays ignored.
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("full.toml was not written", done.stderr)
        self.assertEqual((path.read_text(), kept.read_text()), old)
        self.assertEqual(sorted(kept.parent.iterdir()), [kept])

    def test_a_profile_can_be_simulated(self):
        path = self.folder / "worker.toml"
        self.profile("-q", "--out", path)
        result = self.run_json("simulate", "--cluster", path, "--steps", 3)
        self.assertEqual(len(result["workers"]), 1)

    def test_json_has_what_the_file_has(self):
        result = self.measured("--model", "mlp:8", "--features", 6, "--classes", 3)
        self.assertEqual(result["model"], "mlp:8")
        self.assertEqual(result["gradient_bytes"], 4 * (6 * 8 + 8 + 8 * 3 + 3))
        self.assertFalse(result["cached"])
        device = result["device"]
        self.assertGreater(device["samples_per_second"], 0)
        self.assertGreaterEqual(device["overhead_seconds"], 0)
        self.assertGreater(device["max_samples"], 0)
        self.assertGreater(device["hardware"]["threads"], 0)
        self.assertRegex(result["identity"], "^[0-9a-f]{16}$")
        times = [point["seconds"] for point in result["times"]]
        self.assertEqual(times, sorted(times))
        for way in ("up", "down"):
            self.assertGreater(result["link"][way]["bytes_per_second"], 0)
            self.assertGreater(result["link"][way]["latency_seconds"], 0)

    def test_what_was_measured_is_kept(self):
        first = self.measured()
        self.assertEqual(len(self.kept()), 1)
        again = self.measured("--name", "renamed")
        self.assertTrue(again["cached"])
        self.assertEqual(again["device"].pop("name"), "renamed")
        first["device"].pop("name")
        self.assertEqual(again["device"], first["device"])
        self.assertFalse(self.measured("--fresh")["cached"])
        self.assertEqual(len(self.kept()), 1)
        self.assertFalse(self.measured("--classes", 3)["cached"])
        self.assertFalse(self.measured("--threads", 1)["cached"])
        self.assertEqual(len(self.kept()), 3)

    def test_a_damaged_cache_is_measured_again(self):
        self.measured()
        self.kept()[0].write_text("samples_per_second = [")
        self.assertFalse(self.measured()["cached"])
        self.assertTrue(self.measured()["cached"])

    def test_a_cache_that_cannot_be_written_is_no_failure(self):
        self.cache.write_text("in the way")
        done = self.profile("--json")
        self.assertFalse(json.loads(done.stdout)["cached"])
        self.assertIn("the profile is not kept", done.stderr)

    def test_data_give_the_shape(self):
        result = self.measured("--data", self.data)
        self.assertEqual(result["gradient_bytes"], 4 * (12 * 4 + 4))
        sparse = self.folder / "sparse.svm"
        sparse.write_text("".join(f"{i % 2} {i % 5 + 1}:1 1000:2\n" for i in range(50)))
        result = self.measured("--data", sparse, "--model", "logistic")
        self.assertEqual(result["gradient_bytes"], 4 * 1001)
        self.assertEqual(result["step_flops"], 6 * (2 + 1) * 256)

    def test_errors_are_for_people(self):
        cases = [
            (2, ["softmx"], ["--model", "softmx"]),
            (2, ["--features", "--data"], ["--features", 3, "--data", self.data]),
            (2, ["0.1 to 3600"], ["--seconds", "0"]),
            (3, ["nowhere.csv"], ["--data", self.folder / "nowhere.csv"]),
            (3, ["--out", "folder"], ["--out", self.folder / "no" / "profile.toml"]),
            (2, ["--out", "--data"], ["--data", self.data, "--out", self.data]),
            (2, ["--fresh"], ["--frehs"]),
        ]
        for code, words, arguments in cases:
            with self.subTest(arguments):
                seconds = [] if "--seconds" in arguments else ["--seconds", "0.3"]
                done = self.run_program("profile", *seconds, *arguments, expect=code)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("motley: "), done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)
        self.assertTrue(self.data.read_text())


if __name__ == "__main__":
    unittest.main()
