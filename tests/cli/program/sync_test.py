#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs without a barrier (--sync asp, ssp:S)."""

import unittest

from tools.program import ProgramTest


class Sync(ProgramTest):
    def train(self, *arguments):
        return self.run_json("train", "--data", self.data, "--model", "mlp:16", "--workers", 3, "--batch", 32,
                             "--steps", 240, "--split", 0.9, "--lr", 0.05, *arguments)

    def expect_trained(self, report):
        self.assertEqual(report["steps"], 240)
        self.assertEqual(report["code"], "none")
        self.assertGreater(report["test_accuracy"], 0.8)

    def test_trains_with_and_without_a_bound(self):
        for sync in ("asp", "ssp:0", "ssp:2"):
            with self.subTest(sync=sync):
                report = self.train("--sync", sync)
                self.expect_trained(report)
                self.assertEqual(report["sync"], sync)
        self.assertEqual(self.train()["sync"], "bsp")

    def test_waits_for_nobody_who_dies_or_stands_still(self):
        for fault in ("kill:1@step=30", "pause:2@step=30,2s"):
            with self.subTest(fault=fault):
                self.expect_trained(self.train("--sync", "ssp:2", "--fault", fault))

    def test_gives_validation_and_rates_by_the_number_of_updates(self):
        report = self.train("--sync", "ssp:1", "--schedule", "cosine", "--evaluate-every", 60)
        self.expect_trained(report)

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data, "--workers", 3)
        for wrong, words in ((("--sync", "ssp"), "ssp:S with a whole number S"),
                             (("--sync", "asp", "--code", "cyclic"), "--code none"),
                             (("--sync", "asp", "--reduce", "direct"), "--reduce star"),
                             (("--sync", "asp", "--audit", 0.5), "--audit 0"),
                             (("--sync", "ssp:2", "--checkpoint", self.folder / "saved"), "cannot be saved")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*train, *wrong, expect=2).stderr)
        # Before workers are asked to join.
        served = self.run_program(*train, "--remote", "--listen", "127.0.0.1:0", "--sync", "asp",
                                  "--reduce", "sharded:2", expect=2)
        self.assertIn("--reduce star", served.stderr)
        self.assertNotIn("motley worker", served.stderr)


if __name__ == "__main__":
    unittest.main()
