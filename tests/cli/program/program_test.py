#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the program: results, faults, processes."""

import fcntl
import json
import math
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import unittest

from tools.program import (PATIENCE_S, PROGRAM, ProgramTest, alive, catches, children_of,
                     ignores_interrupt, wait_until)

JOB = ["--worker-speeds", "1,1,0.5,0.25", "--batch", "60", "--steps", "30", "--optimizer",
       "sgd", "--lr", "0.2", "--sample-time", "500us", "--quiet"]
DIFFERENCE = 1e-4


class Training(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.undisturbed = json.loads(subprocess.run(
            [PROGRAM, "train", "--data", cls.data, *JOB, "--code", "none", "--json"], text=True,
            check=True, stdout=subprocess.PIPE).stdout)

    def check_disturbed(self, code, *more):
        """Checks that a kill and a pause change only the time."""
        result = self.run_json("train", "--data", self.data, *JOB, "--code", code, "--tolerate", 1,
                               "--fault", "kill:2@step=10", "--fault", "pause:1@step=5,300ms",
                               *more)
        self.assertEqual(result["steps"], 30)
        self.assertEqual(result["discarded_steps"], 0)
        self.assertEqual([w["lost"] for w in result["workers"]], [False, False, True, False])
        expected = self.undisturbed["final_loss"]
        self.assertLess(abs(result["final_loss"] - expected), DIFFERENCE * expected)
        return result

    def test_faults_change_nothing_without_a_code(self):
        self.check_disturbed("none")

    def test_faults_change_nothing_with_repetition(self):
        self.check_disturbed("repetition")

    def test_faults_change_nothing_with_cyclic(self):
        self.check_disturbed("cyclic")

    def test_faults_change_nothing_with_heterogeneous(self):
        self.check_disturbed("heterogeneous")

    def test_faults_change_nothing_with_rs(self):
        self.check_disturbed("rs")

    def test_faults_change_nothing_with_answers_of_half_the_length(self):
        self.assertEqual(self.check_disturbed("short", "--parts", 2)["parts"], 2)

    def test_faults_change_nothing_with_partial_coded(self):
        result = self.check_disturbed("partial-coded", "--parts", 2)
        self.assertEqual((result["code"], result["parts"]), ("partial-coded", 2))

    def test_answers_in_parts_go_on_from_a_checkpoint_on_the_same_curve(self):
        first = ["11" if before == "--steps" else word for before, word in zip(["", *JOB], JOB)]
        for code in ("short", "partial-coded"):
            folder = self.folder / code
            self.run_json("train", "--data", self.data, *first, "--code", code, "--checkpoint",
                          folder)
            result = self.run_json("train", "--data", self.data, *JOB, "--code", code, "--resume",
                                   folder)
            self.assertEqual(result["resumed_from"], 11)
            for what in ("batch_loss", "final_loss"):
                expected = self.undisturbed[what]
                self.assertLess(abs(result[what] - expected), DIFFERENCE * expected, what)

    def test_faults_change_nothing_with_multi_message(self):
        result = self.check_disturbed("multi-message", "--workers", 4, "--fault",
                                      "slow:0@step=8,5x")
        self.assertEqual(result["code"], "multi-message")
        # Several answers per worker and step.
        self.assertGreater(sum(w["steps_in_time"] for w in result["workers"]), 4 * 30)

    def test_a_slow_a_paused_and_a_killed_worker_change_nothing_with_adaptive(self):
        result = self.check_disturbed("adaptive", "--workers", 4, "--fault", "slow:0@step=8,5x")
        self.assertEqual(result["code"], "adaptive")
        # The loss curve: a step's loss is decoded with its gradient.
        digits = pathlib.Path(__file__).parents[3] / "examples/data/digits.csv.gz"
        faults = [word for fault in ("slow:0@step=2,5x", "pause:1@step=3,300ms", "kill:2@step=4")
                  for word in ("--fault", fault)]
        for steps in (7, 14, 21):
            job = [str(steps) if before == "--steps" else word
                   for before, word in zip(["", *JOB], JOB)]
            serial, leased = (
                self.run_json("train", "--data", digits, *job, *more)["batch_loss"]
                for more in (["--code", "none"], ["--code", "adaptive", *faults]))
            self.assertLess(abs(leased - serial), DIFFERENCE * serial, f"after {steps} steps")

    def test_approximate_goes_on_without_a_paused_worker_and_says_what_is_left_out(self):
        trace = self.folder / "approximate.json"
        result = self.run_json("train", "--data", self.data, "--worker-speeds", "1,1,1,1",
                               "--batch", 60, "--steps", 80, "--lr", 0.2, "--sample-time", "500us",
                               "--quiet", "--code", "approximate", "--tolerate", 0,
                               "--step-deadline", "100ms", "--fault", "pause:1@step=10,2s",
                               "--trace", trace)
        self.assertEqual(result["steps"], 80)
        self.assertEqual(result["discarded_steps"], 0)
        errors = [e["args"]["error"] for e in json.loads(trace.read_text())["traceEvents"]
                  if e["ph"] == "X" and e["name"].endswith("collect")]
        self.assertEqual(len(errors), 80)
        left = [error for error in errors if error != 0]
        record = result["approximate"]
        self.assertEqual(len(left), record["steps"])
        self.assertGreater(record["steps"], 0)
        self.assertLess(record["steps"], 80)
        self.assertGreater(min(left), 0)
        self.assertAlmostEqual(sum(left) / len(left), record["mean_error"])
        self.assertAlmostEqual(max(left), record["max_error"])
        self.assertLess(result["workers"][1]["steps_in_time"], 80)  # Nobody waited for it.
        self.assertLess(result["max_decode_error"], DIFFERENCE)  # Compared with the sum that was reported.
        self.assertLess(result["final_loss"], 0.5 * math.log(4))
        done = self.run_program("train", "--data", self.data, *JOB, "--code", "approximate",
                                "--tolerate", 0, "--quorum", 2)
        self.assertRegex(done.stdout, r"approximate: \d+ of 30 steps, error [\d.]+ mean [\d.]+ max")

    def test_faults_change_nothing_with_the_code_that_is_chosen(self):
        job = [str(60) if before == "--steps" else word
               for before, word in zip(["", *JOB], JOB) if word != "--quiet"]
        plain = self.run_json("train", "--data", self.data, *job, "--code", "none")
        done = self.run_program("train", "--data", self.data, *job, "--json",
                                "--fault", "kill:2@step=30", "--fault", "slow:1@step=20,5x")
        result = json.loads(done.stdout)
        self.assertEqual((result["steps"], result["discarded_steps"]), (60, 0))
        expected = plain["final_loss"]
        self.assertLess(abs(result["final_loss"] - expected), DIFFERENCE * expected)
        self.assertEqual(result["code"], "auto")
        choices = result["choices"]
        self.assertGreaterEqual(len(choices), 1)
        self.assertEqual(choices[-1]["code"], result["code_at_end"])
        self.assertNotRegex(done.stderr, r"code: .* a step")
        self.assertIn(" a step", choices[0]["why"])

    def test_adaptive_is_no_gradient_code(self):
        done = self.run_program("codes", "--speeds", "1,1", "--code", "adaptive", expect=2)
        self.assertIn("encodes nothing", done.stderr)

    def test_json_has_the_documented_keys(self):
        result = self.undisturbed
        for key in ("steps", "epochs", "final_loss", "test_accuracy", "wall_seconds",
                    "steps_per_second", "discarded_steps", "max_decode_error", "code", "tolerate",
                    "seed"):
            self.assertIn(key, result)
        self.assertEqual(set(result["step_seconds"]), {"median", "p99", "max", "max_step"})
        self.assertEqual(len(result["workers"]), 4)
        for key in ("name", "relative_speed", "samples", "held_bytes", "steps_in_time", "late",
                    "lost"):
            self.assertIn(key, result["workers"][0])

    def test_columns_of_the_table_are_explained(self):
        table = self.run_program("train", "--data", self.data, "--steps", 3).stdout
        columns = re.split(r" {2,}", table.splitlines()[0].strip())
        told = self.run_program("train", "--help").stdout
        self.assertIn("held MB", columns)
        for column in columns[1:]:  # The first column is the worker.
            self.assertRegex(told, rf"(?m)^  {re.escape(column)} {{2,}}\S")

    def test_what_has_no_effect_is_said(self):
        job = ["train", "--data", self.data, "--steps", 3, "--workers", 2, "--quiet"]
        for flags, said in ((["--code", "none", "--tolerate", 1], "--tolerate 1 has no effect"),
                            (["--code", "cyclic", "--tolerate", 0], "keeps no copies and waits for all workers")):
            lines = self.run_program(*job, *flags).stderr.splitlines()
            self.assertEqual(len([line for line in lines if said in line]), 1, lines)
        self.assertEqual(self.run_program(*job, "--code", "cyclic", "--tolerate", 1).stderr, "")

    def test_a_training_that_diverges_is_told_once(self):
        done = self.run_program("train", "--data", self.data, "--model", "mlp:32", "--lr", 1e4,
                                "--steps", 40, "--workers", 2, "--scale", "largest")
        advice = "the training diverges. Lower --lr, limit the gradients with --clip"
        self.assertEqual(done.stderr.count(advice), 1, done.stderr)

    def test_emulated_computing_uses_half_of_the_cores_at_most(self):
        emulation = self.run_json("train", "--data", self.data, "--worker-speeds", "1,1,0.5",
                                  "--model", "mlp:64", "--steps", 5)["emulation"]
        self.assertLessEqual(emulation["cores_used"], emulation["cores"] / 2 * 1.001)

    def test_model_learns_and_is_saved_and_predicts(self):
        model = self.folder / "model.safetensors"
        self.run_program("train", "--data", self.data, *JOB, "--out", model)
        result = self.run_json("predict", "--model", model, "--data", self.data)
        self.assertEqual(result["count"], 600)
        self.assertGreater(result["accuracy"], 0.9)

    def test_worker_that_sends_nan_is_refused_and_the_job_goes_on(self):
        # Without a code every answer is needed, so the bad one is read and not cancelled.
        result = self.run_json("train", "--data", self.data, *JOB, "--code", "none",
                               "--fault", "nan:1@step=5")
        self.assertEqual(result["steps"], 30)
        self.assertGreaterEqual(result["workers"][1]["rejected"], 1)
        expected = self.undisturbed["final_loss"]
        self.assertLess(abs(result["final_loss"] - expected), DIFFERENCE * expected)

    def test_trace_has_a_track_per_worker(self):
        trace = self.folder / "trace.json"
        self.run_program("train", "--data", self.data, *JOB, "--trace", trace)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual([e["args"]["name"] for e in events if e["ph"] == "M"],
                         ["server"] + [f"worker-{i}" for i in range(4)])
        for track in range(5):
            self.assertTrue(any(e["ph"] == "X" and e["tid"] == track for e in events))

    def test_full_disk_keeps_the_printed_result(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("there is no /dev/full here")
        done = self.run_program("train", "--data", self.data, *JOB, "--json", "--trace",
                                "/dev/full", expect=1)
        self.assertEqual(json.loads(done.stdout)["steps"], 30)
        self.assertIn("/dev/full", done.stderr)

    def test_progress_goes_to_stderr_as_plain_lines(self):
        done = self.run_program("train", "--data", self.data, *JOB[:-1])
        self.assertIn("step 30/30 (100 %)", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("worker-3", done.stdout)


class Terminal(ProgramTest):
    def on_terminal(self, **environment):
        """The output of a run to stderr that is a terminal."""
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal to be had: {error}")
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", self.data, *JOB[:-1]], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm",
                                                          **environment})
        os.close(slave)
        written = b""
        try:
            while chunk := os.read(master, 65536):
                written += chunk
        except OSError:  # Linux reports in this way that the other end is closed.
            pass
        os.close(master)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        return written.decode()

    def shown_on(self, columns, *arguments):
        """All lines that a terminal of this width receives, including erased ones."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        written = b""
        try:
            while chunk := os.read(master, 65536):
                written += chunk
        except OSError:
            pass
        os.close(master)
        process.wait(PATIENCE_S)
        plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", written.decode())
        return re.split(r"[\r\n]+", plain)

    def test_no_line_is_wider_than_the_terminal(self):
        commands = [["train", "--data", str(self.data), *JOB[:-1], "--code", "auto",
                     "--fault", "kill:1@step=10"],
                    ["train", "--help"], ["help"], ["help", "codes"], ["simulate", "--help"],
                    ["train", "--data", str(self.data), "--model", "mlq:3"],
                    ["simulate", "--workers", "4", "--steps", "20"],
                    ["simulate", "--workers", "4", "--steps", "20", "--compare", "none,adaptive"],
                    ["reproduce", "A1"]]
        for columns in (60, 80, 140):
            for command in commands:
                with self.subTest(columns=columns, command=command):
                    lines = self.shown_on(columns, *command)
                    self.assertGreater(len(lines), 1)
                    wide = [line for line in lines if len(line) > columns]
                    self.assertEqual(wide, [])

    def test_terminal_gets_a_bar(self):
        written = self.on_terminal()
        self.assertIn("\r\x1b[K", written)
        self.assertIn("| 30/30, ", written)
        self.assertTrue(written.endswith("\n"))

    def test_no_color_is_honoured(self):
        self.assertIn("\x1b[36m", self.on_terminal(NO_COLOR=""))
        self.assertNotIn("\x1b[36m", self.on_terminal(NO_COLOR="1"))

    def test_dumb_terminal_gets_plain_lines(self):
        self.assertNotIn("\x1b", self.on_terminal(TERM="dumb"))


class Processes(ProgramTest):
    def workers_of(self, process):
        def all_are_up():
            pids = children_of(process.pid)
            return len(pids) == 3 and all(map(ignores_interrupt, pids))

        wait_until(lambda: process.poll() is not None or all_are_up(), "all workers started")
        self.assertIsNone(process.poll(), "training ended early")
        return children_of(process.pid)

    def expect_gone(self, pids):
        wait_until(lambda: not any(map(alive, pids)), f"workers {pids} gone")

    def test_interrupted_start_leaves_no_workers(self):
        process = self.start_training()
        pids = self.workers_of(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(any(map(alive, pids)))

    def test_workers_have_names_in_lists_of_processes_also_when_the_program_was_replaced(self):
        copy = self.folder / "replaced"
        shutil.copy(PROGRAM, copy)
        fd = os.open(copy, os.O_RDONLY)
        copy.unlink()
        modules = {"MOTLEY_MODULE_DIR": str(pathlib.Path(PROGRAM).parent / "modules")}
        process = subprocess.Popen(
            [f"/proc/self/fd/{fd}", "train", "--data", str(self.data), "--steps", "1000000",
             "--worker-speeds", "1,1,1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, pass_fds=[fd], env={**os.environ, **modules})
        os.close(fd)
        self.addCleanup(self.end, process)
        pids = self.workers_of(process)
        names = sorted(pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids)
        self.assertEqual(names, ["motley-w0", "motley-w1", "motley-w2"])

    def test_interrupted_training_ends_with_its_paused_worker(self):
        process = self.start_training(steps=300)
        pids = self.workers_of(process)
        self.wait_for_steps(process)
        os.kill(pids[1], signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("of 300 steps", errors)
        self.assertFalse(any(map(alive, pids)))

    def test_training_whose_terminal_closes_ends_in_good_order(self):
        process = self.start_training(steps=10**6)
        pids = self.workers_of(process)
        wait_until(lambda: process.poll() is not None or catches(process.pid, signal.SIGHUP),
                   "the end of the terminal would be heard")
        for pid in pids + [process.pid]:  # The kernel signals all processes of a terminal.
            os.kill(pid, signal.SIGHUP)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP)
        self.assertNotIn("lost", errors)
        self.assertFalse(any(map(alive, pids)))

    def test_training_under_nohup_outlives_its_terminal(self):
        process = self.start_training(steps=10**6, hangup=signal.SIG_IGN)
        self.workers_of(process)
        wait_until(lambda: process.poll() is not None or catches(process.pid, signal.SIGINT),
                   "signals are heard")
        self.assertFalse(catches(process.pid, signal.SIGHUP))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)

    def test_second_signal_ends_all_at_once(self):
        process = self.start_training()
        pids = self.workers_of(process)
        os.kill(pids[1], signal.SIGSTOP)  # The first signal waits a little for this worker.
        process.send_signal(signal.SIGTERM)
        for line in process.stderr:
            if "stopping in good order; a second signal" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        self.assertIn(process.returncode, (-signal.SIGTERM, 128 + signal.SIGTERM))
        self.expect_gone(pids)

    def test_second_signal_ends_all_though_nobody_reads_what_is_said(self):
        process = self.start_training()
        pids = self.workers_of(process)
        wait_until(lambda: process.poll() is not None or catches(process.pid, signal.SIGTERM),
                   "training began")
        errors = os.open(f"/proc/{process.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(errors, b"\n" * 65536) > 0:
                pass
        except BlockingIOError:  # The pipe is full.
            pass
        os.close(errors)

        def ended():
            process.send_signal(signal.SIGTERM)  # Pending signals count as one.
            return process.poll() is not None

        wait_until(ended, "the program ends")
        self.expect_gone(pids)

    def test_two_signals_at_once_do_not_end_it_without_a_word(self):
        process = self.start_training()
        pids = self.workers_of(process)
        wait_until(lambda: process.poll() is not None or catches(process.pid, signal.SIGTERM),
                   "training began")
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        errors = process.communicate(timeout=PATIENCE_S)[1]
        self.assertIn(process.returncode, (-signal.SIGTERM, -signal.SIGINT))
        self.assertIn("stopping in good order", errors)
        self.assertIn("ended by a second signal", errors)
        self.expect_gone(pids)

    def test_workers_do_not_show_the_token(self):
        process = self.start_training()
        for pid in self.workers_of(process):
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            self.assertEqual(command[1:], [b"worker", b""])

    def test_killed_parent_leaves_no_workers(self):
        process = self.start_training()
        pids = self.workers_of(process)
        process.send_signal(signal.SIGKILL)
        self.expect_gone(pids)

    def test_killed_parent_leaves_no_stopped_worker(self):
        process = self.start_training()
        pids = self.workers_of(process)
        self.wait_for_steps(process)  # From now on all workers are certainly tied to their parent.
        os.kill(pids[1], signal.SIGSTOP)
        process.send_signal(signal.SIGKILL)
        self.expect_gone(pids)

    def test_worker_stopped_for_longer_than_the_job_does_not_keep_it(self):
        result = self.run_json("train", "--data", self.data, *JOB, "--code", "heterogeneous",
                               "--fault", "pause:1@step=5,600s")
        self.assertEqual(result["steps"], 30)
        self.assertEqual(result["discarded_steps"], 0)

    def test_job_without_workers_ends_and_says_so(self):
        done = self.run_program("train", "--data", self.data, *JOB, "--fault", "kill:0@step=5",
                                "--fault", "kill:1@step=5", "--fault", "kill:2@step=5", "--fault",
                                "kill:3@step=5", expect=4)
        self.assertRegex(done.stdout, r"(?m)^worker-0 .* yes ")
        self.assertIn("worker", done.stderr)
        self.assertIn("nothing was saved: --out and --checkpoint would keep it", done.stderr)

    def test_workers_that_never_join_are_not_waited_for(self):
        process = self.start_training()
        wait_until(lambda: len(children_of(process.pid)) == 3, "all workers started")
        for pid in children_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 4)
        self.assertIn("worker", errors)

    def test_worker_killed_before_it_joined_is_not_waited_for(self):
        process = self.start_training(steps=20)
        wait_until(lambda: children_of(process.pid), "a worker started")
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("waiting for", errors)

    def test_killed_worker_is_no_zombie_of_a_finished_job(self):
        process = self.start_training()
        pids = self.workers_of(process)
        os.kill(pids[0], signal.SIGKILL)
        self.expect_gone(pids[:1])
        wait_until(lambda: children_of(process.pid) == pids[1:], "killed worker reaped")


if __name__ == "__main__":
    unittest.main()
