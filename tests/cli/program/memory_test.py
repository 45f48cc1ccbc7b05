#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory that each process of a job takes, beside what the job prints before it starts."""

import pathlib
import re
import sys
import time
import unittest

from program import ProgramTest, Running

UNITS = {"MiB": 2**20, "GiB": 2**30}
# Parts of the prediction by which a process may be off, and what it may take for samples.
EXACT, SAMPLES = 0.1, 4 * 2**20


def own_bytes(pid):
    """The memory of a process now, without what it shares with others for messages; 0 if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(kib) * 1024 for kib in re.findall(r"^Rss(?:Anon|File):\s+(\d+) kB", status, re.M))


def available_bytes():
    return int(re.search(r"^MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)[1]) * 1024


class Memory(ProgramTest):
    WORKERS = 4

    def run_job(self, model, *flags):
        """Trains with one process for the server and each worker. Returns the predicted bytes of the server and of
        a worker, and the peaks of the server and of all workers."""
        server = Running(self, "train", "--data", self.data, "--model", model, "--remote", "--no-local-worker",
                         "--listen", "127.0.0.1:0", "--workers", f"{self.WORKERS}..{self.WORKERS}",
                         "--validation", 0, "--code", "none", "--batch", 32, *flags)
        address = server.wait_for(r"motley worker --server (\S+)")[1]
        workers = [Running(self, "worker", "--server", address, "--name", f"w{i}", "--devices", "cpu",
                           "--threads", 1) for i in range(self.WORKERS)]
        processes = [server, *workers]
        peaks = [0] * len(processes)
        while server.process.poll() is None:
            peaks = [max(peak, own_bytes(one.process.pid)) for peak, one in zip(peaks, processes)]
            time.sleep(0.01)
        self.assertEqual(server.finish()[0], 0, server.text())
        for worker in workers:
            worker.wait_for("the job is done")
        found = re.search(r"needs about ([\d.]+) (\w+) at the server and ([\d.]+) (\w+) at each worker", server.text())
        self.assertTrue(found, server.text())
        predicted = [float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]]]
        print(model, *flags, [f"{value / 2**20:.0f} MiB" for value in (*predicted, *peaks)], file=sys.stderr)
        return predicted, peaks

    def check(self, model, *flags):
        (server, worker), peaks = self.run_job(model, *flags)
        self.assertAlmostEqual(peaks[0], server, delta=EXACT * server + SAMPLES)
        # Parts follow the links that were measured, and the prediction is of an average one.
        mean = sum(peaks[1:]) / self.WORKERS
        self.assertAlmostEqual(mean, worker, delta=EXACT * worker + SAMPLES)

    def test_is_what_a_job_with_the_vector_at_the_workers_predicts(self):
        for optimizer in ("sgd", "adam"):
            with self.subTest(optimizer=optimizer):
                self.check("mlp:4400,4400", "--reduce", "direct", "--optimizer", optimizer, "--lr", 0.001, "--steps", 6)

    def test_of_a_checkpoint_is_predicted(self):
        self.check("mlp:4400,4400", "--reduce", "direct", "--optimizer", "momentum", "--lr", 0.001, "--steps", 4,
                   "--checkpoint", self.folder / "saved")


class LargeModel(Memory):
    """400 million parameters, in the slow tests."""

    test_of_a_checkpoint_is_predicted = None

    def test_is_what_a_job_with_the_vector_at_the_workers_predicts(self):
        if available_bytes() < 25 * 2**30:
            self.skipTest("it takes 25 GiB of memory")
        self.check("mlp:20000,20000", "--reduce", "direct", "--optimizer", "sgd", "--lr", 0.001, "--steps", 3)


if __name__ == "__main__":
    unittest.main()
