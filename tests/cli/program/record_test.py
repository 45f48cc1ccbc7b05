#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records and replays runs, simulates recorded rounds, and measures links to other machines."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import tomllib
import unittest

from tools.program import PATIENCE_S, PROGRAM, ProgramTest, wait_until
from tools.slow_link import SlowLink

ROUNDS = pathlib.Path(__file__).parents[3] / "examples" / "data" / "rounds.csv"
LAMBDA = pathlib.Path(__file__).parents[4] / "shared" / "data" / "traces" / "lambda256.csv.gz"


class Record(ProgramTest):
    def record(self, name, *arguments):
        profile = self.folder / f"{name}.toml"
        report = self.run_json("train", "--data", self.data, "--steps", 60, "--worker-speeds",
                               "1,1,0.5", "--record-profile", profile, *arguments)
        self.assertEqual(report["recording"]["profile"], str(profile))
        self.assertNotIn("error", report["recording"])
        return profile, pathlib.Path(report["recording"]["trace"])

    def lines(self, trace):
        with open(trace) as file:
            return list(csv.DictReader(file))

    def test_a_run_is_recorded_and_replayed(self):
        for code in ("none", "adaptive"):
            with self.subTest(code):
                profile, trace = self.record(code, "--code", code)
                cluster = tomllib.loads(profile.read_text())
                self.assertEqual(cluster["gradient_bytes"], 4 * (12 * 4 + 4))
                speeds = [worker["samples_per_second"] for worker in cluster["worker"]]
                self.assertEqual(len(speeds), 3)
                # A busy machine decides which one is the fastest; run_trace_test has the figures.
                self.assertGreater(min(speeds), 0)
                for worker in cluster["worker"]:
                    self.assertGreater(float(len(worker["link"]["latency"])), 0)
                lines = self.lines(trace)
                self.assertEqual({int(line["step"]) for line in lines}, set(range(60)))
                self.assertEqual({int(line["worker"]) for line in lines}, {0, 1, 2})
                self.assertTrue(all(float(line["compute_seconds"]) > 0 for line in lines))
                replayed = [
                    self.run_json("simulate", "--cluster", profile, "--replay", trace, "--code",
                                  code, "-q") for _ in range(2)]
                self.assertEqual(replayed[0], replayed[1])
                self.assertEqual(replayed[0]["steps"], 60)
                self.assertEqual(replayed[0]["replay"]["workers"], 3)
                self.assertTrue(replayed[0]["replay"]["assumed"])

    def test_what_was_seen_until_a_signal_is_recorded(self):
        profile = self.folder / "stopped.toml"
        trace = self.folder / "stopped.trace.csv"
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), "--steps", "1000000", "--worker-speeds",
             "1,1", "--record-profile", str(profile)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        # The trace is written piece by piece during the job.
        wait_until(lambda: trace.exists() and trace.stat().st_size > 100, "a recorded step")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 128 + signal.SIGINT)
        self.assertEqual(len(tomllib.loads(profile.read_text())["worker"]), 2)
        self.assertTrue(self.lines(trace))

    def test_files_of_a_recording_are_no_others(self):
        out = self.folder / "model.trace.csv"
        cases = [
            (2, ["--record-profile", "--out"], ["--out", out, "--record-profile",
                                                self.folder / "model.toml"]),
            (2, ["--record-profile", "--data"], ["--record-profile", self.data]),
            (3, ["--record-profile"], ["--record-profile", self.folder / "no" / "x.toml"]),
        ]
        for code, words, arguments in cases:
            with self.subTest(arguments):
                done = self.run_program("train", "--data", self.data, "--steps", 3, *arguments,
                                        expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
        self.assertTrue(self.data.read_text())

    def test_recorded_rounds_are_simulated_under_every_scheme(self):
        waited = None
        for code in ("none", "repetition", "adaptive"):
            result = self.run_json("simulate", "--replay", ROUNDS, "--code", code, "-q")
            self.assertEqual(result["steps"], 8)
            self.assertEqual(result["replay"]["workers"], 12)
            self.assertGreater(result["replay"]["wall_seconds"], 0)
            waited = waited or result["replay"]["wait_for_all_seconds"]
            self.assertEqual(result["replay"]["wait_for_all_seconds"], waited)
            # Copies hide the slow workers of the sample.
            if code == "repetition":
                self.assertLess(result["replay"]["wall_seconds"], 0.9 * waited)
        table = self.run_program("simulate", "--replay", ROUNDS, "-q").stdout
        for word in ("replayed", "12 workers", "waited for an equal share", "assumed:"):
            self.assertIn(word, table)

    def test_recorded_cloud_workers_are_simulated(self):
        if not LAMBDA.exists():
            self.skipTest(f"{LAMBDA} is not here")
        result = self.run_json("simulate", "--replay", LAMBDA, "--code", "repetition",
                               "--tolerate", 7, "--shares", "equal", "-q")
        self.assertEqual(result["steps"], 30)
        self.assertEqual(result["replay"]["workers"], 256)
        self.assertLess(result["replay"]["wall_seconds"],
                        0.6 * result["replay"]["wait_for_all_seconds"])

    def test_bad_recordings_are_refused(self):
        bad = self.folder / "bad.csv"
        columns = "step,worker,samples,compute_seconds,vector_bytes,vector_seconds\n"
        cases = [
            (1, ["bad.csv:3", "samples"], columns + "0,0,1,1,,\n0,1,-3,1,,\n", []),
            (1, ["the first line must name the columns"], "a,b,c\n1,2,3\n", []),
            (2, ["5 workers", "--cluster"], columns + "0,4,10,1,,\n", ["--worker-speeds", "1,1"]),
        ]
        for code, words, text, arguments in cases:
            with self.subTest(words):
                bad.write_text(text)
                done = self.run_program("simulate", "--replay", bad, *arguments, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
        done = self.run_program("simulate", "--replay", self.folder / "none.csv", expect=3)
        self.assertIn("--replay", done.stderr)
        done = self.run_program("simulate", "--trace", ROUNDS, expect=2)
        self.assertIn("--replay", done.stderr)
        self.assertTrue(ROUNDS.read_text().startswith("#"))


class Link(ProgramTest):
    """A link of known speed is never measured as faster. On a busy machine it may be slower."""

    RATE = 20e6
    LATENCY_S = 0.01

    def serve(self, token):
        process = subprocess.Popen(
            [PROGRAM, "profile", "--serve", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "MOTLEY_TOKEN": token})
        self.addCleanup(self.end, process)
        address = process.stdout.readline().split()[2].rstrip(".")
        return address

    def profile(self, server, token, *arguments, expect=0):
        done = subprocess.run(
            [PROGRAM, "profile", "--seconds", "0.5", "-q", "--server", server,
             *map(str, arguments)], text=True, capture_output=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "MOTLEY_TOKEN": token, "XDG_CACHE_HOME": str(self.folder)})
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def test_the_way_to_a_server_is_measured(self):
        slow = SlowLink(self.serve("secret"), self.RATE, self.LATENCY_S)
        self.addCleanup(slow.close)
        path = self.folder / "there.toml"
        done = self.profile(slow.address, "secret", "--json", "--out", path)
        link = json.loads(done.stdout)["link"]
        self.assertEqual(link["server"], slow.address)
        for way in ("up", "down"):
            self.assertGreaterEqual(link[way]["latency_seconds"], 0.9 * self.LATENCY_S)
            self.assertGreater(link[way]["bytes_per_second"], 0)
            # Some bytes were sent before the clock started.
            self.assertLessEqual(link[way]["bytes_per_second"], 1.2 * self.RATE)
        worker = tomllib.loads(path.read_text())["worker"][0]
        self.assertIn("bandwidth", worker["link"])
        self.assertIn("bandwidth", worker["link"]["down"])
        table = self.profile(slow.address, "secret", "--streams", 3).stdout
        self.assertIn(f"to the server at {slow.address} over 3 connections", table)

    def test_strangers_measure_nothing(self):
        server = self.serve("secret")
        self.assertIn("MOTLEY_TOKEN", self.profile(server, "guess", expect=5).stderr)
        self.assertIn("MOTLEY_TOKEN", self.profile(server, "", expect=2).stderr)
        done = self.profile("127.0.0.1:1", "secret", expect=4)
        self.assertIn("127.0.0.1:1", done.stderr)


if __name__ == "__main__":
    unittest.main()
