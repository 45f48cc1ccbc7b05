#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose workers hold the vector (--reduce direct)."""

import unittest

from program import ProgramTest


class Direct(ProgramTest):
    def train(self, *arguments):
        return self.run_json("train", "--data", self.data, "--model", "mlp:32", "--workers", 4, "--batch", 64,
                             "--steps", 300, "--split", 0.9, "--optimizer", "adam", "--lr", 0.003, *arguments)

    def expect_same(self, report, reference):
        self.assertEqual(report["steps"], 300)
        loss = reference["last_epoch_loss"]
        self.assertAlmostEqual(report["last_epoch_loss"], loss, delta=1e-4 * loss)

    def test_gives_what_the_server_gives(self):
        reference = self.train("--code", "none")
        for code in ("none", "repetition", "cyclic", "adaptive", "auto"):
            with self.subTest(code=code):
                self.expect_same(self.train("--code", code, "--reduce", "direct"), reference)

    def test_loses_nothing_with_owners_that_die_or_stand_still(self):
        reference = self.train("--code", "none")
        for followers, faults in ((1, ["kill:2@step=20"]), (1, ["pause:1@step=20,2s"]),
                                  (2, ["kill:0@step=20", "kill:3@step=60", "pause:1@step=120,1s"])):
            with self.subTest(followers=followers, faults=faults):
                flags = [word for fault in faults for word in ("--fault", fault)]
                report = self.train("--reduce", "direct", "--followers", followers, *flags)
                self.expect_same(report, reference)

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data)
        for wrong, words in ((("--workers", 4, "--reduce", "ring"), "star or direct"),
                             (("--workers", 1, "--reduce", "direct"), "nobody to share with"),
                             (("--workers", 4, "--followers", 1), "Use --reduce direct"),
                             (("--workers", 4, "--reduce", "direct", "--followers", 4), "--followers"),
                             (("--workers", 4, "--reduce", "direct", "--audit", 0.5), "--audit")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*train, *wrong, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
