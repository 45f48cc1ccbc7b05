#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices of a machine are listed and chosen, and work together in one step."""

import json
import os
import pathlib
import signal
import unittest
from unittest import mock

from tools.program import PATIENCE_S, ProgramTest, children_of, ignores_interrupt

FIELDS = ("driver", "index", "name", "platform", "kind", "memory_bytes", "units", "usable",
          "default", "reason")


class Devices(ProgramTest):
    def losses(self, *arguments, model="mlp:32", steps=60):
        report = self.run_json("train", "--data", self.data, "--model", model, "--workers", 2,
                               "--steps", steps, "--code", "none", *arguments)
        self.assertLess(report["max_decode_error"], 1e-5)
        return report

    def test_every_driver_is_listed_with_its_devices_or_the_reason(self):
        devices = self.run_json("devices")
        for device in devices:
            self.assertEqual(tuple(device), FIELDS)
            self.assertEqual(device["usable"], device["reason"] == "")
        self.assertEqual(devices[0]["driver"], "cpu")
        self.assertTrue(devices[0]["usable"])
        self.assertTrue(devices[0]["default"])
        self.assertEqual({device["driver"] for device in devices}, {"cpu", "cuda", "opencl"})
        text = self.run_program("devices").stdout
        self.assertIn("cpu:0", text)

    def test_what_the_processor_has_several_of_is_said(self):
        for topology, words in (("numa:2 core:3 pu:1", "2 NUMA nodes"), ("numa:1 core:3 pu:1", None)):
            with self.subTest(topology), mock.patch.dict(os.environ, HWLOC_SYNTHETIC=topology):
                platform = self.run_json("devices")[0]["platform"]
                if words:
                    self.assertIn(words, platform)
                else:
                    self.assertNotIn("NUMA", platform)

    def test_what_cannot_be_used_is_refused_with_the_reason(self):
        for choice, code, words in (("tpu", 2, ["--devices", "tpu", "cpu, cuda, opencl"]),
                                    ("cpu,cpu", 2, ["--devices", "twice"]),
                                    ("cpu+cpu", 2, ["--devices", "twice"]),
                                    ("cpu+", 2, ["--devices", "plus"]),
                                    ("cpu,", 2, ["--devices", "empty name beside a comma"]),
                                    ("opencl:-1", 2, ["--devices", "'-1'", "count from 0"]),
                                    ("", 2, ["--devices has no value"]),
                                    ("opencl:99", 4, ["--devices", "opencl:99"])):
            with self.subTest(choice):
                said = self.run_program("train", "--data", self.data, "--devices", choice,
                                        expect=code).stderr
                for word in words:
                    self.assertIn(word, said)

    def test_a_time_limit_that_is_none_is_refused(self):
        for limit in ("abc", "0", "-1", "1e9"):
            with self.subTest(limit), mock.patch.dict(os.environ, MOTLEY_DEVICE_TIMEOUT=limit):
                said = self.run_program("train", "--data", self.data, "--steps", 1, expect=2).stderr
                for word in ("MOTLEY_DEVICE_TIMEOUT", f"'{limit}'", "seconds"):
                    self.assertIn(word, said)

    def test_a_folder_of_compiled_kernels_that_cannot_be_written_is_said(self):
        with mock.patch.dict(os.environ, {"POCL_CACHE_DIR": "/proc/none/pocl"}):
            devices = self.run_json("devices")
        found = [d for d in devices if "Portable Computing Language" in d["platform"] + d["reason"]]
        if not found:
            self.skipTest("no PoCL")
        for device in found:
            self.assertFalse(device["usable"])
            self.assertIn("/proc/none/pocl, which cannot be written", device["reason"])
            self.assertIn("POCL_CACHE_DIR", device["reason"])

    def test_pocl_with_damaged_files_is_done_without(self):
        devices = self.run_json("devices")
        if not any("Portable Computing Language" in d["platform"] and d["usable"] for d in devices):
            self.skipTest("no PoCL")
        folder = self.folder / "pocl"
        # Only the driver's own files are damaged; a program from the cache is complete.
        caches = {"POCL_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(self.folder / "caches")}
        with mock.patch.dict(os.environ, caches):
            self.run_program("train", "--data", self.data, "--steps", 20, "--workers", 1,
                             "--devices", "opencl:0", patience_s=10 * PATIENCE_S)
            for path in folder.rglob("*.so"):
                os.truncate(path, 100)
            process = self.start_training("--devices", "cpu+opencl:0", "--code", "none")
        said = []
        for line in process.stderr:
            said.append(line)
            if "goes on without one of its devices" in line:
                break
        self.assertIn("'opencl' called abort()", said[-1])
        self.wait_for_steps(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)

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
                joined = self.losses("--devices", f"cpu+{label},cpu")
                self.assertAlmostEqual(joined["final_loss"], alone["final_loss"], delta=1e-4)
                only = self.losses("--devices", label)
                self.assertAlmostEqual(only["final_loss"], alone["final_loss"], delta=1e-4)

    def test_joined_devices_are_one_worker(self):
        listed = self.run_json("devices")
        usable = [d for d in listed if d["kind"] not in ("cpu", "none") and d["usable"]]
        if not usable:
            self.skipTest("; ".join(f"{d['driver']}: {d['reason']}" for d in listed[1:]))
        label = f"{usable[0]['driver']}:{usable[0]['index']}"
        for code in ("cyclic", "adaptive", "multi-message"):  # Complex weights, leases, lists.
            with self.subTest(code):
                how = ("train", "--data", self.data, "--model", "mlp:32", "--steps", 40, "--code", code,
                       "--tolerate", 1, "--workers", 3)
                alone = self.run_json(*how)
                joined = self.run_json(*how, "--devices", f"cpu+{label}")
                self.assertEqual([w["lost"] for w in joined["workers"]], [False] * 3)
                self.assertLess(joined["max_decode_error"], 1e-5)
                self.assertAlmostEqual(joined["final_loss"], alone["final_loss"], delta=1e-4)

    def test_every_kernel_is_checked_against_float64(self):
        usable = [f"{d['driver']}:{d['index']}" for d in self.run_json("devices") if d["usable"]]
        # Takes some seconds of one core per device.
        done = self.run_program("devices", "--check", "--json", patience_s=10 * PATIENCE_S)
        checked = json.loads(done.stdout)
        self.assertEqual([device["device"] for device in checked], usable)
        for device in checked:
            self.assertTrue(device["ok"], device)
            self.assertIn("gemm", [kernel["kernel"] for kernel in device["kernels"]])
            for kernel in device["kernels"]:
                self.assertLessEqual(kernel["worst_error"], kernel["tolerance"])
        for label in usable:
            self.assertRegex(done.stderr, rf"checking the kernels of {label}")
            self.assertRegex(done.stderr, rf"{label}: \d+ kernels are right, 0 wrong\n")
        only = self.run_program("devices", "--check", "--devices", "cpu", "--quiet",
                                patience_s=10 * PATIENCE_S)
        self.assertEqual(only.stderr, "")
        text = only.stdout
        for word in ("cpu:0", "worst error", "softmax_cross_entropy: gradient"):
            self.assertIn(word, text)
        self.assertIn("--devices", self.run_program("devices", "--devices", "cpu", expect=2).stderr)
        self.run_program("devices", "--check", "--devices", "tpu", expect=2)

    def test_every_kind_of_model_makes_the_same_sums_on_two_devices(self):
        listed = self.run_json("devices")
        usable = [d for d in listed if d["kind"] not in ("cpu", "none") and d["usable"]]
        if not usable:
            self.skipTest("; ".join(f"{d['driver']}: {d['reason']}" for d in listed[1:]))
        for model in ("cnn@3x4x1:6/8,norm", "factorization:4"):
            how = {"model": model, "steps": 30}
            alone = self.losses("--lr", "0.02", **how)
            for device in usable:
                label = f"{device['driver']}:{device['index']}"
                with self.subTest(f"{model} on {label}"):
                    both = self.losses("--lr", "0.02", "--devices", f"cpu,{label}", **how)
                    self.assertAlmostEqual(both["final_loss"], alone["final_loss"], delta=1e-4)

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


class DeviceFailures(ProgramTest):
    """A device fails during a job, and the job goes on without it (tests/devices/mock_module.cc)."""

    def trouble(self, which, timeout_s=""):
        modules = pathlib.Path(os.environ["MOTLEY_PROGRAM"]).parent / "tests" / "mock_modules"
        changes = {"MOTLEY_MODULE_DIR": str(modules), "MOTLEY_MOCK": which,
                   "MOTLEY_DEVICE_TIMEOUT": str(timeout_s)}
        return mock.patch.dict(os.environ, changes)

    def train(self, devices, workers=3, expect=0):
        return self.run_program("train", "--data", self.data, "--model", "mlp:32", "--code", "none",
                                "--workers", workers, "--steps", 300, "--batch", 256,
                                "--devices", devices, "--json", expect=expect)

    def test_jobs_go_on_without_the_device_and_say_what_became_of_it(self):
        with self.trouble("nothing"):
            undisturbed = json.loads(self.train("cpu,opencl").stdout)
        self.assertEqual([w["lost"] for w in undisturbed["workers"]], [False] * 3)
        for which, words in (("build", ["cannot measure the speed", "mock 0", "line 1: what"]),
                             ("memory", ["mock 0", "the mock fell off", "smaller model"]),
                             ("lost", ["mock 0", "the mock fell off", "system's log"])):
            with self.subTest(which), self.trouble(which):
                done = self.train("cpu,opencl")
                report = json.loads(done.stdout)
                self.assertEqual([w["lost"] for w in report["workers"]], [False, True, False])
                self.assertEqual(report["steps"], 300)
                self.assertEqual(report["discarded_steps"], 0)
                self.assertLess(report["max_decode_error"], 1e-5)
                self.assertAlmostEqual(report["final_loss"], undisturbed["final_loss"], delta=1e-4)
                for word in ["worker 1", "given up", "--devices", *words]:
                    self.assertIn(word, done.stderr)

    def test_a_joined_device_that_cannot_be_used_is_done_without(self):
        with self.trouble("nothing"):
            undisturbed = json.loads(self.train("cpu+opencl").stdout)
        with self.trouble("build"):
            done = self.train("cpu+opencl")
        report = json.loads(done.stdout)
        self.assertEqual([w["lost"] for w in report["workers"]], [False] * 3)
        self.assertEqual(report["steps"], 300)
        self.assertLess(report["max_decode_error"], 1e-5)
        self.assertAlmostEqual(report["final_loss"], undisturbed["final_loss"], delta=1e-4)
        for word in ("goes on without one of its devices", "mock 0", "given up", "line 1: what"):
            self.assertIn(word, done.stderr)

    def test_of_joined_devices_the_others_do_the_part_of_one_that_fails(self):
        for which, words in (("memory", ["the mock fell off", "smaller model"]),
                             ("lost", ["the mock fell off", "system's log"]),
                             ("hang", ["has not come back"])):
            with self.subTest(which), self.trouble(which, 2):
                process = self.start_training("--devices", "cpu+opencl", "--code", "none", "--batch", "480")
                said = []
                for line in process.stderr:
                    said.append(line)
                    if "goes on without one of its devices" in line:
                        break
                for word in ["reports: ", "mock 0", "given up", *words]:
                    self.assertIn(word, said[-1])
                self.assertNotIn(" lost: ", "".join(said))
                self.wait_for_steps(process)
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 130)

    def test_a_driver_that_aborts_ends_its_devices_and_nothing_else(self):
        for which in ("abort", "abort-work", "abort-pool"):
            for devices, lost in (("cpu,opencl", True), ("cpu+opencl", False)):
                with self.subTest(which, devices=devices), self.trouble(which):
                    done = self.train(devices)
                    report = json.loads(done.stdout)
                    self.assertEqual(any(w["lost"] for w in report["workers"]), lost)
                    self.assertEqual(report["steps"], 300)
                    self.assertEqual(report["discarded_steps"], 0)
                    self.assertLess(report["max_decode_error"], 1e-5)
                    for word in ("mock 0", "driver 'mock' called abort()", "given up", "--devices"):
                        self.assertIn(word, done.stderr)
                    self.assertNotIn("ended by signal", done.stderr)

    def test_what_ends_the_program_all_the_same_is_said(self):
        with self.trouble("abort-find"):
            said = self.run_program("devices", expect=-signal.SIGABRT).stderr
            self.assertIn("a driver of devices ended the program: mock", said)
        with self.trouble("exit"):
            said = self.run_program("devices", "--check", "--devices", "opencl", expect=1).stderr
            self.assertIn("a driver of devices ended the program: mock", said)
        process = self.start_training("--devices", "cpu")
        self.wait_for_steps(process)
        process.send_signal(signal.SIGABRT)  # Sent by another process.
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, -signal.SIGABRT)

    def test_a_check_goes_on_after_a_driver_that_aborts(self):
        for which in ("abort", "abort-work", "abort-pool"):
            with self.subTest(which), self.trouble(which):
                said = self.run_program("devices", "--check", "--devices", "opencl,cpu", expect=1,
                                        patience_s=10 * PATIENCE_S).stdout
                self.assertIn("the device failed: its driver 'mock' called abort()", said)
                self.assertIn("cpu:0", said)

    def test_a_check_ends_where_a_device_hangs(self):
        with self.trouble("hang", 2):
            said = self.run_program("devices", "--check", "--devices", "opencl", expect=1,
                                    patience_s=10 * PATIENCE_S).stdout
        self.assertIn("has not come back", said)

    def test_devices_that_no_worker_would_have_are_refused(self):
        with self.trouble("nothing"):
            said = self.train("cpu,opencl", workers=1, expect=2).stderr
        for word in ("--devices cpu,opencl", "no worker would use opencl:0", "--workers 2", "plus"):
            self.assertIn(word, said)

    def test_a_device_that_is_given_up_is_told_once(self):
        with self.trouble("lost"):
            said = self.train("cpu,opencl").stderr
        self.assertEqual(said.count("the mock fell off"), 1, said)

    def test_a_job_with_no_other_device_says_why_it_ends(self):
        for which, word in (("build", "line 1: what"), ("lost", "fell off"),
                            ("hang", "not come back"), ("abort", "called abort()")):
            with self.subTest(which), self.trouble(which, 2):
                self.assertIn(word, self.train("opencl", workers=1, expect=4).stderr)

    def test_a_check_that_fails_ends_with_one(self):
        for which, word in (("wrong", "axpy is wrong at"), ("build", "line 1: what is this")):
            with self.subTest(which), self.trouble(which):
                said = self.run_program("devices", "--check", "--devices", "opencl", expect=1,
                                        patience_s=10 * PATIENCE_S).stdout
                self.assertIn(word, said)

    def test_a_device_that_hangs_is_given_up(self):
        with self.trouble("hang", 2):
            process = self.start_training("--devices", "cpu,opencl")
            said = []
            for line in process.stderr:
                said.append(line)
                if "lost: it left" in line:
                    break
            self.assertIn("has not come back", said[-1])
            self.assertIn("mock 0", said[-1])
            self.wait_for_steps(process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 130)

    def test_a_job_ends_in_time_while_a_device_hangs(self):
        with self.trouble("hang"):
            report = json.loads(self.train("cpu,opencl").stdout)
        self.assertEqual(report["steps"], 300)


if __name__ == "__main__":
    unittest.main()
