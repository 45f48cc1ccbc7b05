#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job whose workers are started like those on other machines: by the command that it prints."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest
from unittest import mock

from tools.program import PATIENCE_S, PROGRAM, ProgramTest

COMMAND = re.compile(r"^  (MOTLEY_TOKEN=(\S+) motley worker --server (\S+))( --forever)?$")


class Remote(ProgramTest):
    def start(self, *arguments, steps=40, listen="127.0.0.1:0"):
        """Starts a job. Returns it and the command that it prints for starting workers."""
        job = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), "--steps", str(steps), "--remote",
             "--no-local-worker", "--listen", listen, "--json", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, job)
        for line in job.stderr:
            if found := COMMAND.match(line.rstrip("\n")):
                return job, found
        self.fail("it does not say how workers are started")

    def join(self, command, **environment):
        path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
        worker = subprocess.Popen(
            ["sh", "-c", f"exec env {command}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PATH": path, **environment})
        self.addCleanup(self.end, worker)
        return worker

    def check(self, job, workers):
        report = json.loads(job.communicate(timeout=PATIENCE_S)[0])
        self.assertEqual(job.returncode, 0)
        self.assertEqual(report["steps"], 40)
        self.assertEqual([w["lost"] for w in report["workers"]], [False] * len(workers))
        for worker in workers:
            said = worker.communicate(timeout=PATIENCE_S)[1]
            self.assertEqual(worker.returncode, 0, said)
            self.assertIn("the job is done, after 40 of 40 steps", said)
        return report

    def test_workers_join_with_the_command_that_the_job_tells(self):
        job, found = self.start("--workers", "2", "--quiet", "--code", "none")
        self.assertIsNone(found[4], "the next job would have another token")
        self.check(job, [self.join(found[1]), self.join(found[1] + " --name other --devices cpu")])

    def test_workers_are_named_after_their_host(self):
        job, found = self.start("--workers", "2", "--quiet", "--code", "none")
        report = self.check(job, [self.join(found[1] + " --devices cpu") for _ in range(2)])
        self.assertEqual([(w["worker"], w["name"]) for w in report["workers"]],
                         [(0, socket.gethostname()), (1, socket.gethostname())])

    def test_a_server_on_all_addresses_tells_one_that_workers_reach(self):
        job, found = self.start("--workers", "1", listen="0.0.0.0:0")
        self.assertNotIn("0.0.0.0", found[3])
        self.check(job, [self.join(found[1])])

    def test_a_token_that_is_given_is_the_jobs_and_is_not_shown(self):
        with mock.patch.dict(os.environ, MOTLEY_TOKEN="a well-kept secret"):
            job, found = self.start("--workers", "1")
        self.assertEqual((found[2], found[4]), ("...", " --forever"))
        wrong = self.join(f"motley worker --server {found[3]}", MOTLEY_TOKEN="another")
        wrong.communicate(timeout=PATIENCE_S)
        self.assertEqual(wrong.returncode, 5)
        self.check(job, [self.join(f"motley worker --server {found[3]}",
                                   MOTLEY_TOKEN="a well-kept secret")])

    def start_long(self):
        """Starts a job with one worker, and waits for its first checkpoint."""
        saved = tempfile.mkdtemp(dir=self.folder)
        job, found = self.start("--workers", "1", "--checkpoint", saved, "--checkpoint-every", "20",
                                "--wait", "1s", steps=1000000)
        worker = self.join(found[1] + " --name alice --wait 1s")
        joined = worker.stderr.readline()
        self.assertRegex(joined, rf"^motley: joined the job at {re.escape(found[3])} as worker 0 "
                                 r"\(alice\): softmax, 0 of 1000000 steps are done$")
        for line in job.stderr:
            if line.startswith("checkpoint: "):
                return job, worker, saved
        self.fail("the job ended")

    def test_a_worker_says_that_its_job_was_stopped(self):
        job, worker, _ = self.start_long()
        job.send_signal(signal.SIGINT)
        said = worker.communicate(timeout=PATIENCE_S)[1]
        self.assertRegex(said, r"the job was stopped after \d+ of 1000000 steps")
        self.assertEqual(worker.returncode, 0)

    def test_a_worker_that_loses_its_server_says_so_and_fails(self):
        job, worker, _ = self.start_long()
        job.kill()
        said = worker.communicate(timeout=PATIENCE_S)[1]
        self.assertIn("lost the server", said)
        self.assertEqual(worker.returncode, 4)

    def test_a_job_whose_workers_are_gone_says_how_to_go_on(self):
        job, worker, saved = self.start_long()
        worker.kill()
        said = job.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(job.returncode, 4)
        self.assertIn("worker 0 (alice) lost: ", said)
        self.assertIn("all workers are gone", said)
        self.assertRegex(said, rf"no worker is left.*; \d+ steps are safe: --resume {saved} continues from there")

    def test_what_is_the_workers_own_is_refused(self):
        for flag, value in (("--devices", "cpu"), ("--threads", "1")):
            said = self.run_program("train", "--data", self.data, "--remote", "--no-local-worker",
                                    flag, value, expect=2)
            self.assertIn(flag, said.stderr)
            self.assertIn("--no-local-worker", said.stderr)
        said = self.run_program("train", "--data", self.data, "--remote", "--worker-speeds", "1,1",
                                expect=2)
        self.assertIn("--worker-speeds", said.stderr)


if __name__ == "__main__":
    unittest.main()
