#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose workers come and go: the lines of the README's how-to, and what else they promise."""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading
import unittest

from program import PATIENCE_S, PROGRAM, ProgramTest, wait_until

README = pathlib.Path(__file__).parents[2] / "README.md"
TOKEN = "sixteen characters or more"
LONG = 100_000_000  # Steps that no test waits for.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Running:
    """A process of the program, and what it has said so far."""

    def __init__(self, test, *arguments, token=TOKEN):
        environment = {key: value for key, value in os.environ.items() if key != "MOTLEY_TOKEN"}
        if token:
            environment["MOTLEY_TOKEN"] = token
        self.test = test
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self.reader.start()
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def text(self):
        return "".join(self.lines)

    def wait_for(self, pattern, times=1):
        wait_until(lambda: len(re.findall(pattern, self.text(), re.M)) >= times
                   or self.process.poll() is not None, f"{pattern}\n{self.text()}")
        found = re.search(pattern, self.text(), re.M)
        self.test.assertTrue(found, f"{pattern}\n{self.text()}")
        return found

    def send(self, number):
        self.process.send_signal(number)

    def finish(self):
        """Exit code and standard output."""
        out = self.process.stdout.read()
        code = self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        return code, out


class Elastic(ProgramTest):
    def train(self, *arguments, listen="127.0.0.1:0", steps=LONG, **how):
        return Running(self, "train", "--data", self.data, "--steps", steps, "--remote",
                       "--listen", listen, *arguments, **how)

    def address(self, job):
        return job.wait_for(r"motley worker --server (\S+)")[1]

    def worker(self, address, *arguments, **how):
        return Running(self, "worker", "--server", address, "--threads", 1, *arguments, **how)

    def test_the_lines_of_the_readme(self):
        """Two machines, a third that comes, one that leaves, a stop, and on from there."""
        lines = re.findall(r"^    (laptop|pc2|pc3)\$ +(motley .*|Ctrl-C)$", README.read_text(), re.M)
        self.assertEqual([who for who, _ in lines],
                         ["laptop", "pc2", "pc3", "pc2", "laptop", "laptop"])
        port = free_port()
        here = {"192.168.1.20:7000": f"127.0.0.1:{port}", "runs/lab": str(self.folder / "lab"),
                "examples/data/digits.csv.gz": str(self.data),
                "model.safetensors": str(self.folder / "lab.model")}

        def start(line, *more):
            for there, this in here.items():
                line = line.replace(there, this)
            if " train " in line:
                more = ("--listen", f"127.0.0.1:{port}", "--wait", "1s", *more)
            return Running(self, *shlex.split(line)[1:], *more)

        laptop = start(lines[0][1], "--steps", LONG, "--json")
        pc2 = start(lines[1][1], "--name", "pc2", "--threads", 1)
        laptop.wait_for(r"^worker \d \(pc2\) joined from (127\.0\.0\.1|this machine) with ")
        laptop.wait_for(r"^starting with 2 workers; 6 more may join while it trains$")
        pc3 = start(lines[2][1], "--name", "pc3", "--threads", 1)
        laptop.wait_for(r"^worker 2 \(pc3\) is ready; it gets a share from the next step")
        laptop.wait_for(r"^checkpoint: ")
        pc2.send(signal.SIGINT)
        self.assertEqual(pc2.finish()[0], 0, pc2.text())
        self.assertIn("leaving: the work goes back to the server", pc2.text())
        laptop.wait_for(r"^worker \d \(pc2\) leaves; 2 workers go on$")
        self.assertNotIn("lost", laptop.text())
        laptop.send(signal.SIGINT)
        code, out = laptop.finish()
        self.assertEqual(code, 130, laptop.text())
        report = json.loads(out)
        self.assertEqual(report["error"]["exit_code"], 130)
        self.assertTrue(report["stopped_early"])
        rows = {worker["name"]: worker for worker in report["workers"]}
        self.assertEqual(set(rows), {socket.gethostname(), "pc2", "pc3"})
        self.assertEqual([rows["pc2"]["left"], rows["pc2"]["lost"]], [True, False])
        self.assertEqual([rows["pc3"]["left"], rows["pc3"]["lost"]], [False, False])
        self.run_program("predict", "--model", self.folder / "lab.model", "--data", self.data)
        again = start(lines[5][1], "--steps", report["checkpoint"]["step"] + 40)
        again.wait_for(r"\(pc3\) joined from ")  # It waits for the next job.
        code, out = again.finish()
        self.assertEqual(code, 0, again.text())
        self.assertRegex(out, rf"in all runs, [0-9.]+ s in this one, from step "
                              rf"{report['checkpoint']['step']} on")
        pc3.wait_for("waiting for the next job", times=2)
        pc3.send(signal.SIGTERM)
        self.assertEqual(pc3.finish()[0], 0, pc3.text())

    def test_a_job_waits_for_as_many_as_it_needs_and_no_more(self):
        job = self.train("--workers", 4, "--min-workers", 2, "--wait", "0s", "--no-local-worker",
                         steps=30)
        address = self.address(job)
        first = self.worker(address, "--name", "first")
        first.wait_for("joined the job")
        job.wait_for("waiting for workers 1, 2, 3 to join")
        self.assertNotIn("starting with", job.text())
        second = self.worker(address, "--name", "second")
        self.assertEqual(job.finish()[0], 0, job.text())
        self.assertIn("starting with 2 workers; 2 more may join", job.text())
        for worker in (first, second):
            self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_one_of_two_begins_after_the_wait_and_says_how_to_change_it(self):
        job = self.train("--workers", 2, "--wait", "1s", steps=30)
        code, out = job.finish()
        self.assertEqual(code, 0, job.text())
        self.assertRegex(job.text(), r"1 of at most 2 workers ready; training begins in 1 s, .*"
                                     r"--wait sets the time, --min-workers how many")
        self.assertRegex(out, rf"(?m)^ *0 {re.escape(socket.gethostname())}")

    def test_a_standing_worker_serves_one_job_after_the_other(self):
        address = f"127.0.0.1:{free_port()}"
        worker = self.worker(address, "--forever", "--name", "standing")
        worker.wait_for(rf"waiting for a server at {address} \(.*\); trying$")
        for done, model in ((1, "softmax"), (2, "mlp:8")):
            job = self.train("--workers", 1, "--no-local-worker", "--model", model, listen=address,
                             steps=20)
            self.assertEqual(job.finish()[0], 0, job.text())
            self.assertIn("worker 0 (standing) joined from", job.text())
            worker.wait_for("the job is done, after 20 of 20 steps", times=done)
        job = self.train("--no-local-worker", listen=address, token=TOKEN + " of others")
        worker.wait_for("sent away by the server .*the token is not this job's.*; trying again")
        job.wait_for(r"refused standing at (127\.0\.0\.1|this machine): the token is not this job's")
        self.assertIsNone(worker.process.poll())
        worker.send(signal.SIGTERM)
        self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_worker_that_waits_says_so_and_can_be_stopped(self):
        worker = self.worker(f"127.0.0.1:{free_port()}")
        worker.wait_for(r"waiting for a server at .*; trying for at most 600 s$")
        worker.send(signal.SIGINT)
        self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_stopped_job_keeps_what_was_done(self):
        model = self.folder / "half"
        job = Running(self, "train", "--data", self.data, "--steps", LONG, "--out", model)
        job.wait_for("^step ")
        job.send(signal.SIGINT)
        code, out = job.finish()
        self.assertEqual(code, 130, job.text())
        self.assertRegex(out, rf"stopped after \d+ of {LONG} steps: ")
        self.assertRegex(job.text(), rf"the model so far goes to {re.escape(str(model))}")
        self.run_program("predict", "--model", model, "--data", self.data)

    def test_how_many_workers_is_checked(self):
        for arguments, words in (
                (("--workers", "3..2"), "a least above its most"),
                (("--workers", "2..x"), "2..8"),
                (("--workers", "2..8", "--min-workers", "3"), "Say it once"),
                (("--workers", "4", "--min-workers", "5"), "at most 4 workers")):
            said = self.run_program("train", "--data", self.data, "--remote", *arguments, expect=2)
            self.assertIn(words, said.stderr)
        said = self.run_program("train", "--data", self.data, "--workers", "2..8", expect=2)
        self.assertIn("--remote", said.stderr)

    def test_loopback_is_said_to_reach_nobody_else(self):
        job = self.train(token=None)
        job.wait_for(r"no other machine reaches 127\.0\.0\.1:\d+; --listen 0\.0\.0\.0:7000 would")
        job.wait_for(r"Set MOTLEY_TOKEN to one of your own")


if __name__ == "__main__":
    unittest.main()
