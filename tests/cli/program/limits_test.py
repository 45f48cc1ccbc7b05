#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of the program under limits of the system, and without a reader of its messages."""

import fcntl
import json
import os
import re
import resource
import select
import signal
import stat
import subprocess
import tempfile
import unittest
from unittest import mock

from tools.program import PATIENCE_S, PROGRAM, ProgramTest, children_of, wait_until


class Audits(ProgramTest):
    """Jobs with a worker that sends false gradients."""

    def lie(self, *arguments, steps=120, expect=1):
        done = self.run_program("train", "--data", self.data, "--steps", steps, "--batch", 96,
                                "--fault", "lie:1@step=5,-0.5x", "--json", *arguments,
                                expect=expect)
        return json.loads(done.stdout), done.stderr

    def test_a_worker_that_lies_is_named_sent_away_and_the_exit_code_is_1(self):
        for code in ("none", "adaptive", "heterogeneous"):
            with self.subTest(code=code):
                # Shares that follow measured speeds may leave the liar without work.
                report, said = self.lie("--workers", 3, "--audit", 1, "--code", code,
                                        "--shares", "equal")
                self.assertEqual(report["steps"], 120, said)
                self.assertEqual(report["audit"]["tolerance"], 1e-4)
                # A warning about a step that the liar computed alone does not name it.
                named = [w for w in report["audit"]["warnings"] if "worker" in w]
                warning = named[0]
                self.assertEqual({w["worker"] for w in named}, {1}, said)
                self.assertTrue(warning["sent_away"], said)
                # The difference is a random projection of 1.5 times the answer, so it differs in each run.
                self.assertGreater(warning["difference"], report["audit"]["tolerance"])
                self.assertTrue(report["workers"][1]["lost"])
                self.assertIn(f"audit of step {warning['step']}: the gradient that worker 1", said)
                self.assertIn("do not rely on this result", said)

    def test_where_one_copy_is_enough_nobody_else_is_named(self):
        # The liar is the fastest worker, because copies that always come too late are not checked. Where
        # shares follow the speeds that such short steps show, it may be left without work.
        for code in (["repetition", "--tolerate", 2, "--worker-speeds", "0.5,1,0.5"],
                     ["auto", "--shares", "equal"]):
            with self.subTest(code=code[0]):
                report, said = self.lie("--workers", 3, "--audit", 1, "--code", *code, steps=40)
                warnings = report["audit"]["warnings"]
                self.assertGreater(len(warnings), 0, said)
                self.assertLessEqual({w["worker"] for w in warnings if "worker" in w}, {1}, said)

    def test_its_result_is_written_all_the_same(self):
        model = self.folder / "spoilt.safetensors"
        self.lie("--workers", 2, "--audit", 1, "--code", "none", "--shares", "equal",
                 "--out", model)
        self.assertTrue(model.exists())

    def test_nothing_is_audited_where_none_is_wanted(self):
        report, said = self.lie("--workers", 2, "--audit", 0, "--code", "none", expect=0)
        self.assertEqual(report["audit"]["steps"], 0)
        self.assertNotIn("audit", said)

    def test_honest_workers_are_not_accused(self):
        report = self.run_json("train", "--data", self.data, "--steps", 60, "--workers", 3,
                               "--audit", 1, "--model", "mlp:16", "--code", "heterogeneous")
        self.assertEqual(report["audit"]["warnings"], [])
        self.assertEqual(report["audit"]["steps"], 60)
        self.assertLess(report["audit"]["largest_difference"], 1e-5)


class Limits(ProgramTest):
    def start(self, *arguments, limit=None, **streams):
        """`limit` is (resource, soft, hard) of the program."""
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), *map(str, arguments)],
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               **streams},
            text=True,
            preexec_fn=lambda: limit and resource.setrlimit(limit[0], limit[1:]))
        self.addCleanup(self.end, process)
        return process

    def test_a_step_limit_ends_a_job_whose_workers_say_nothing(self):
        saved = tempfile.mkdtemp(dir=self.folder)
        job = self.start("--workers", 2, "--steps", 1000000, "--step-limit", 1, "--checkpoint",
                         saved, "--checkpoint-every", 10, "--json", "--code", "none")
        for line in job.stderr:
            if line.startswith("checkpoint: "):
                break
        workers = children_of(job.pid)
        self.assertEqual(len(workers), 2)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        out, said = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 4, said)
        self.assertRegex(said, r"step \d+ has made no progress for 1 s, the limit that --step-limit "
                               r"sets; 2 of 2 workers are connected")
        result = json.loads(out)
        self.assertEqual(result["error"]["exit_code"], 4)
        self.assertIn("no progress", result["error"]["message"])
        self.assertGreater(result["steps"], 0)
        self.assertEqual(result["checkpoint"]["step"], result["steps"])
        again = self.run_json("train", "--data", self.data, "--resume", saved, "--steps",
                              result["steps"] + 5, "-q")
        self.assertEqual(again["resumed_from"], result["steps"])

    def test_an_error_is_a_json_object_too(self):
        for code, words, arguments in (
                (3, "no-such.csv", ("--data", "no-such.csv")),
                (2, "--tolerate", ("--data", self.data, "--tolerate", 7, "--code", "rs"))):
            done = self.run_program("train", *arguments, "--json", expect=code)
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["exit_code"], code)
            self.assertIn(words, error["message"])
            self.assertIn(words, done.stderr)

    def test_the_soft_limit_of_open_files_is_no_limit_of_workers(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        job = self.start("--workers", 16, "--steps", 5, "--code", "none", "--json", "-q",
                         limit=(resource.RLIMIT_NOFILE, 24, hard))
        out, said = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0, said)
        self.assertEqual([w["lost"] for w in json.loads(out)["workers"]], [False] * 16)

    def test_a_server_says_that_it_may_open_no_more_files(self):
        job = self.start("--remote", "--workers", 60, "--steps", 5, "--no-local-worker",
                         "--listen", "127.0.0.1:0",
                         limit=(resource.RLIMIT_NOFILE, 32, 32))
        command = re.compile(r"^  MOTLEY_TOKEN=(\S+) motley worker --server (\S+)$")
        found = next(match for line in job.stderr if (match := command.match(line.rstrip("\n"))))
        for _ in range(24):
            worker = subprocess.Popen(
                [PROGRAM, "worker", "--server", found[2], "--threads", "1"],
                env={**os.environ, "MOTLEY_TOKEN": found[1]}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(self.end, worker)
        said = next(line for line in job.stderr if "ulimit -n" in line)
        self.assertIn("the 32 files that this process may open", said)

    def test_a_file_that_may_not_grow_is_an_error_and_no_sudden_death(self):
        saved = tempfile.mkdtemp(dir=self.folder)
        trace, curve = self.folder / "large.json", self.folder / "large.svg"
        curve.write_text("of another job")
        job = self.start("--steps", 20, "--checkpoint", saved, "--checkpoint-every", 10,
                         "--out", self.folder / "large", "--model", "mlp:64", "--trace", trace, "--curve", curve,
                         limit=(resource.RLIMIT_FSIZE, 512, 512), stdout=subprocess.DEVNULL)
        said = job.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(job.returncode, 1, said)
        self.assertIn("the checkpoint was not saved", said)
        for what in ("model", "trace", "curve"):
            self.assertIn(f"the {what} was not saved", said)
        self.assertFalse(trace.exists(), "no part of a file is left")
        self.assertEqual(curve.read_text(), "of another job")
        self.assertIn("File too large", said)

    def test_a_short_token_is_refused_where_other_machines_can_connect(self):
        with mock.patch.dict(os.environ, MOTLEY_TOKEN="a"):
            said = self.run_program("train", "--data", self.data, "--remote", "--listen",
                                    "0.0.0.0:0", expect=2).stderr
            self.assertIn("Use 16 or more", said)
            said = self.run_program("profile", "--serve", "0.0.0.0:0", expect=2).stderr
            self.assertIn("Use 16 or more", said)
        with mock.patch.dict(os.environ, MOTLEY_TOKEN="x" * 1025):
            said = self.run_program("train", "--data", self.data, "--remote", expect=2).stderr
            self.assertIn("at most 1024", said)

    def test_a_model_keeps_the_permissions_of_the_one_it_replaces(self):
        model = self.folder / "private"
        model.write_text("old")
        model.chmod(0o600)
        self.run_program("train", "--data", self.data, "--steps", 5, "-q", "--out", model)
        self.assertEqual(stat.S_IMODE(model.stat().st_mode), 0o600)
        self.assertGreater(model.stat().st_size, 100)


class Unread(ProgramTest):
    """Nobody reads the program's output."""

    def full_pipe(self):
        """The read and write ends of a full pipe."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(writing, b"." * 4096)
        except BlockingIOError:
            pass
        fcntl.fcntl(writing, fcntl.F_SETFL, flags)
        return reading, writing

    def start(self, writing, *arguments):
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", str(self.data), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing, text=True)
        os.close(writing)
        self.addCleanup(self.end, process)
        return process

    def test_a_job_ends_all_the_same(self):
        reading, writing = self.full_pipe()
        job = self.start(writing, "--steps", 60, "--json")
        self.assertEqual(json.loads(job.communicate(timeout=PATIENCE_S)[0])["steps"], 60)
        self.assertEqual(job.returncode, 0)

    def test_one_signal_ends_it_in_good_order(self):
        reading, writing = self.full_pipe()
        saved = tempfile.mkdtemp(dir=self.folder)
        job = self.start(writing, "--steps", 1000000, "--checkpoint", saved, "--checkpoint-every",
                         10)
        wait_until(lambda: os.listdir(saved), "the first checkpoint")
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 128 + signal.SIGTERM)

    def test_what_was_left_out_is_counted_for_who_reads_later(self):
        reading, writing = self.full_pipe()
        job = self.start(writing, "--steps", 1000000, "--code", "none")
        wait_until(lambda: len(children_of(job.pid)) == 2, "both workers")
        said = b""
        while b"because nobody read standard error" not in said:
            self.assertTrue(select.select([reading], [], [], PATIENCE_S)[0])
            said += os.read(reading, 65536)
        self.assertRegex(said.decode(), r"motley: [1-9]\d* messages were left out")


if __name__ == "__main__":
    unittest.main()
