#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose workers come and go: the commands of the tutorial, and other promises of the documentation."""

import gzip
import json
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import unittest

from tools.lab import Lab
from tools.program import TOKEN, ProgramTest, Running, free_port

ROOT = pathlib.Path(__file__).parents[3]
TUTORIAL = ROOT / "docs" / "tutorial" / "lab.md"
DIGITS = ROOT / "examples" / "data" / "digits.csv.gz"
LONG = 100_000_000  # No test waits for so many steps.


def set_folder(folder):
    """Makes the folder of the tutorial, with the digits and new rows without labels. Returns the folder and
    the labels."""
    (folder / "examples").mkdir(parents=True)
    (folder / "examples" / "data").symlink_to(DIGITS.parent)
    with gzip.open(DIGITS, "rt") as file:
        rows = [line.strip().rsplit(",", 1) for line in file][-50:]
    (folder / "new.csv").write_text("".join(values + "\n" for values, _ in rows))
    return folder, [label for _, label in rows]


def type_the_lines(test, start, origin, leave):
    """Runs the tutorial: two machines, a third joins, one leaves, a stop, a resume, and predictions.
    `start(who, line, *more)` runs a command of the tutorial. `origin` is the address of pc2 in messages,
    and `leave` the signal that ends pc2's worker."""
    lines = re.findall(r"^    (laptop|pc2|pc3)\$ +(motley .*|Ctrl-C)$", TUTORIAL.read_text(), re.M)
    test.assertEqual([who for who, _ in lines],
                     ["laptop", "pc2", "pc3", "pc2", "laptop", "laptop", "laptop"])
    laptop = start(*lines[0], "--steps", LONG, "--json")
    pc2 = start(*lines[1], "--threads", 1)
    laptop.wait_for(rf"^worker \d \(pc2\) joined from {origin} with ")
    laptop.wait_for(r"^starting with 2 workers; 6 more may join while it trains$")
    pc3 = start(*lines[2], "--threads", 1)
    laptop.wait_for(r"^worker 2 \(pc3\) is ready; it gets a share from the next step")
    laptop.wait_for(r"^checkpoint: ")
    pc2.send(leave)
    test.assertEqual(pc2.finish()[0], 0, pc2.text())
    test.assertIn("handing the work back", pc2.text())
    laptop.wait_for(r"^worker \d \(pc2\) leaves; 2 workers go on$")
    test.assertNotIn("lost", laptop.text())
    laptop.send(signal.SIGINT)
    code, out = laptop.finish()
    test.assertEqual(code, 130, laptop.text())
    report = json.loads(out)
    test.assertEqual((report["error"]["kind"], report["error"]["exit_code"]), ("stopped", 130))
    test.assertTrue(report["stopped_early"])
    rows = {worker["name"]: worker for worker in report["workers"]}
    test.assertEqual(set(rows), {socket.gethostname(), "pc2", "pc3"})
    test.assertEqual([rows["pc2"]["left"], rows["pc2"]["lost"]], [True, False])
    test.assertEqual([rows["pc3"]["left"], rows["pc3"]["lost"]], [False, False])
    again = start(*lines[5], "--steps", report["checkpoint"]["step"] + 40)
    again.wait_for(r"\(pc3\) joined from ")  # The worker waits for the next job.
    code, out = again.finish()
    test.assertEqual(code, 0, again.text())
    test.assertRegex(out, rf"in all runs, [0-9.]+ s in this one, from step "
                          rf"{report['checkpoint']['step']} on")
    pc3.wait_for("waiting for the next job", times=2)
    pc3.send(signal.SIGTERM)
    test.assertEqual(pc3.finish()[0], 0, pc3.text())
    predict = start(*lines[6])
    test.assertEqual(predict.finish()[0], 0, predict.text())
    said = (test.tutorial / "predictions.csv").read_text().splitlines()
    right = sum(line.split(",")[0] == label for line, label in zip(said[1:], test.labels))
    test.assertEqual(len(said), 1 + len(test.labels))
    test.assertGreater(right, 0.8 * len(test.labels))


class Elastic(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tutorial, cls.labels = set_folder(cls.folder / "tutorial")

    def train(self, *arguments, listen="127.0.0.1:0", steps=LONG, **how):
        return Running(self, "train", "--data", self.data, "--steps", steps, "--remote",
                       "--listen", listen, *arguments, **how)

    def address(self, job):
        return job.wait_for(r"motley worker --server (\S+)")[1]

    def worker(self, address, *arguments, **how):
        return Running(self, "worker", "--server", address, "--threads", 1, *arguments, **how)

    def test_the_lines_of_the_tutorial(self):
        port = free_port()
        here = {"192.168.1.20:7000": f"127.0.0.1:{port}"}

        def start(who, line, *more):
            for there, this in here.items():
                line = line.replace(there, this)
            if " train " in line:
                more = ("--listen", f"127.0.0.1:{port}", *more)
            name = ("--name", who) if " worker " in line else ()
            return Running(self, *shlex.split(line)[1:], *name, *more, folder=self.tutorial)

        type_the_lines(self, start, r"(127\.0\.0\.1|this machine)", signal.SIGINT)

    def test_a_job_waits_for_as_many_as_it_needs_and_no_more(self):
        job = self.train("--workers", 4, "--min-workers", 2, "--wait", "0s", "--no-local-worker",
                         steps=30)
        address = self.address(job)
        first = self.worker(address, "--name", "first")
        first.wait_for("joined the job")
        job.wait_for(r"1 worker ready; training begins with 2 \(--min-workers sets how many")
        self.assertNotIn("starting with", job.text())
        second = self.worker(address, "--name", "second")
        self.assertEqual(job.finish()[0], 0, job.text())
        self.assertIn("starting with 2 workers; 2 more may join", job.text())
        for worker in (first, second):
            self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_job_that_is_told_nothing_waits_for_one_other_machine(self):
        job = self.train(steps=30)
        address = self.address(job)
        job.wait_for(r"1 worker ready; training begins with 2 \(--min-workers sets how many")
        self.assertFalse(job.said("starting with"))
        self.assertEqual(self.worker(address).finish()[0], 0)
        self.assertEqual(job.finish()[0], 0, job.text())
        self.assertTrue(job.said("^starting with 2 workers; 6 more may join while it trains$"))

    def test_a_job_that_needs_nobody_else_begins_at_once(self):
        job = self.train("--min-workers", 1, steps=30)
        code, out = job.finish()
        self.assertEqual(code, 0, job.text())
        self.assertTrue(job.said("^starting with 1 worker; 7 more may join while it trains$"))
        self.assertFalse(job.said("training begins"), job.text())
        self.assertRegex(out, rf"(?m)^ *0 {re.escape(socket.gethostname())}")

    def test_it_gives_others_time_where_it_is_told_to(self):
        job = self.train("--workers", "1..2", "--wait", "1s", steps=30)
        self.assertEqual(job.finish()[0], 0, job.text())
        self.assertTrue(job.said(r"1 of at most 2 workers ready; training begins in 1 s, .*"
                                 r"--wait sets the time, --min-workers how many"), job.text())

    def test_a_job_that_lost_its_last_worker_keeps_what_was_done(self):
        model = self.folder / "left"
        job = self.train("--no-local-worker", "--wait", "1s", "--out", model, "--json")
        worker = self.worker(self.address(job))
        job.wait_for("^step ")
        worker.send(signal.SIGKILL)
        code, out = job.finish()
        self.assertEqual(code, 4, job.text())
        self.assertTrue(job.said("all workers are gone .*Waiting 1 s for one to come back"))
        self.assertTrue(job.said(rf"none came within 1 s.*; the model so far goes to {model}$"))
        report = json.loads(out)
        self.assertEqual((report["error"]["kind"], report["error"]["exit_code"]), ("other", 4))
        self.assertGreater(report["steps"], 0)
        self.assertTrue(report["workers"][0]["lost"])
        self.run_program("predict", "--model", model, "--data", self.data)

    def test_a_job_that_diverged_shows_how_far_it_came(self):
        model = self.folder / "diverged"
        done = self.run_program("train", "--data", self.data, "--optimizer", "sgd", "--lr", "1e30",
                                "--l2", 1, "--steps", 100, "--out", model, expect=1)
        self.assertRegex(done.stderr, rf"training diverged: .*; the model so far goes to {model}")
        self.assertIn("of 100 steps", done.stdout)
        self.assertTrue(model.exists())

    def test_a_job_that_diverged_leaves_a_model_that_was_there_alone(self):
        model = self.folder / "good"
        self.run_program("train", "--data", self.data, "--steps", 20, "--out", model)
        before = model.read_bytes()
        done = self.run_program("train", "--data", self.data, "--optimizer", "sgd", "--lr", "1e30",
                                "--l2", 1, "--steps", 100, "--out", model, expect=1)
        self.assertRegex(done.stderr, rf"the model so far goes to {model}\.diverged")
        self.assertEqual(model.read_bytes(), before)
        self.assertTrue(model.with_name("good.diverged").exists())

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
                (("--workers", "3..2"), "a minimum above its maximum"),
                (("--workers", "2..x"), "2..8"),
                (("--workers", "2..8", "--min-workers", "3"), "Give it once"),
                (("--workers", "4", "--min-workers", "5"), "at most 4 workers")):
            said = self.run_program("train", "--data", self.data, "--remote", *arguments, expect=2)
            self.assertIn(words, said.stderr)
        said = self.run_program("train", "--data", self.data, "--workers", "2..8", expect=2)
        self.assertIn("--workers 2..8: the workers of one machine", said.stderr)
        self.assertIn("add --remote", said.stderr)
        self.assertNotIn("--min-workers", said.stderr)

    def test_loopback_is_said_to_reach_nobody_else(self):
        job = self.train(token=None)
        job.wait_for(r"no other machine reaches 127\.0\.0\.1:\d+; use --listen 0\.0\.0\.0:7000")
        job.wait_for(r"With a MOTLEY_TOKEN of your own")


class Machines(ProgramTest):
    """The same on machines with separate networks. The commands are exactly those of the tutorial."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tutorial, cls.labels = set_folder(cls.folder / "tutorial")
        cls.lab = None
        try:
            cls.lab = Lab(3, "192.168.1.20")
        except (OSError, subprocess.CalledProcessError) as error:
            cls.why = f"network namespaces cannot be made here, which needs root ({error})"
        cls.addClassCleanup(lambda: cls.lab and cls.lab.close())

    def test_the_lines_of_the_tutorial(self):
        if self.lab is None:
            self.skipTest(self.why)
        machines = {"laptop": 0, "pc2": 1, "pc3": 2}

        def start(who, line, *more):
            # Namespaces share the name of their host.
            name = ("--name", who) if " worker " in line else ()
            return Running(self, *shlex.split(line)[1:], *name, *more, folder=self.tutorial,
                           inside=self.lab.on(machines[who]))

        type_the_lines(self, start, r"192\.168\.1\.21", signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
