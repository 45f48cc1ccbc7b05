#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose answers and parameters travel rounded (--wire)."""

import unittest

from tools.program import ProgramTest


class Wire(ProgramTest):
    def train(self, *arguments):
        return self.run_json("train", "--data", self.data, "--model", "mlp:32", "--workers", 4, "--batch", 64,
                             "--steps", 300, "--split", 0.9, "--optimizer", "adam", "--lr", 0.003, *arguments)

    def test_trains_like_float32(self):
        loss = self.train("--code", "none")["last_epoch_loss"]
        for wire in ("bf16", "int8"):
            for code in ("none", "repetition", "cyclic", "partial-coded", "auto"):
                for reduce in ("star", "direct"):
                    with self.subTest(wire=wire, code=code, reduce=reduce):
                        report = self.train("--wire", wire, "--code", code, "--reduce", reduce)
                        self.assertEqual(report["steps"], 300)
                        self.assertEqual(report["wire"], wire)
                        self.assertEqual(report["audited_steps"], 0)
                        self.assertEqual(report["steps_restarted"], 0)
                        self.assertAlmostEqual(report["last_epoch_loss"], loss, delta=0.05 * loss)

    def test_gives_the_same_model_twice(self):
        for wire in ("bf16", "int8"):
            for reduce in ("star", "direct"):
                with self.subTest(wire=wire, reduce=reduce):
                    models = []
                    for run in range(2):
                        out = self.folder / f"{wire}-{reduce}-{run}.safetensors"
                        self.train("--wire", wire, "--code", "none", "--shares", "equal", "--reduce", reduce,
                                   "--out", out)
                        models.append(out.read_bytes())
                    self.assertEqual(models[0], models[1])

    def test_loses_nothing_with_workers_that_die(self):
        loss = self.train("--code", "none")["last_epoch_loss"]
        for reduce in ("star", "direct"):
            with self.subTest(reduce=reduce):
                report = self.train("--wire", "int8", "--reduce", reduce, "--fault", "kill:2@step=20")
                self.assertEqual(report["steps"], 300)
                self.assertAlmostEqual(report["last_epoch_loss"], loss, delta=0.05 * loss)

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data)
        for wrong, words in ((("--wire", "fp16"), "float32, bf16"),
                             (("--wire", "int8", "--audit", 0.5), "would take rounding for a wrong answer"),
                             (("--wire", "int8", "--workers", 24, "--code", "cyclic", "--tolerate", 8),
                              "multiplies the variance of rounding")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*train, *wrong, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
