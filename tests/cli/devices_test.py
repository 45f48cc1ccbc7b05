#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine computes with is listed, chosen, and works together in one step."""

import signal
import unittest

from program import PATIENCE_S, ProgramTest, children_of, ignores_interrupt

FIELDS = ("driver", "index", "name", "platform", "kind", "memory_bytes", "units", "usable",
          "reason")


class Devices(ProgramTest):
    def losses(self, *arguments):
        report = self.run_json("train", "--data", self.data, "--model", "mlp:32", "--workers", 2,
                               "--steps", 60, "--code", "none", *arguments)
        self.assertLess(report["max_decode_error"], 1e-5)
        return report

    def test_every_driver_is_listed_with_its_devices_or_the_reason(self):
        devices = self.run_json("devices")
        for device in devices:
            self.assertEqual(tuple(device), FIELDS)
            self.assertEqual(device["usable"], device["reason"] == "")
        self.assertEqual(devices[0]["driver"], "cpu")
        self.assertTrue(devices[0]["usable"])
        self.assertEqual({device["driver"] for device in devices}, {"cpu", "cuda", "opencl"})
        text = self.run_program("devices").stdout
        self.assertIn("cpu:0", text)

    def test_what_cannot_be_used_is_refused_with_the_reason(self):
        for choice, code, words in (("tpu", 2, ["--devices", "tpu", "cpu, cuda, opencl"]),
                                    ("cpu,cpu", 2, ["--devices", "twice"]),
                                    ("opencl:99", 4, ["--devices", "opencl:99"])):
            with self.subTest(choice):
                said = self.run_program("train", "--data", self.data, "--devices", choice,
                                        expect=code).stderr
                for word in words:
                    self.assertIn(word, said)

    def test_devices_of_two_kinds_make_the_sums_of_one(self):
        listed = self.run_json("devices")
        usable = [d for d in listed if d["kind"] not in ("cpu", "none") and d["usable"]]
        if not usable:
            self.skipTest("; ".join(f"{d['driver']}: {d['reason']}" for d in listed[1:]))
        alone = self.losses()
        for device in usable:
            label = f"{device['driver']}:{device['index']}"
            with self.subTest(label):
                both = self.losses("--devices", f"cpu,{label}")
                self.assertAlmostEqual(both["final_loss"], alone["final_loss"], delta=1e-4)
                only = self.losses("--devices", label)
                self.assertAlmostEqual(only["final_loss"], alone["final_loss"], delta=1e-4)

    def test_drivers_leave_it_to_the_program_what_signals_do(self):
        listed = self.run_json("devices")
        usable = [d for d in listed if d["kind"] not in ("cpu", "none") and d["usable"]]
        if not usable:
            self.skipTest("; ".join(f"{d['driver']}: {d['reason']}" for d in listed[1:]))
        for device in usable:
            with self.subTest(device["name"]):
                process = self.start_training("--devices", f"{device['driver']}:{device['index']}")
                self.wait_for_steps(process)
                workers = children_of(process.pid)
                self.assertEqual([ignores_interrupt(worker) for worker in workers], [True] * 3)
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
