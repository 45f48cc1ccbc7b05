#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""motley sweep: searches that end, that are interrupted, and that cannot work."""

import ctypes
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time
import unittest

from tools.program import (
    PATIENCE_S, PROGRAM, ProgramTest, Running, alive, catches, children_of, process_state, stopped, wait_until)


class Sweep(ProgramTest):
    def setUp(self):
        super().setUp()
        self.results = self.folder / f"{self.id().rpartition('.')[2]}.out"

    def write(self, sweep, tried, train=""):
        path = self.results.with_suffix(".toml")
        path.write_text(f'[train]\ndata = "{self.data}"\nmodel = "mlp:8"\n{train}\n[sweep]\n{sweep}\n[try]\n{tried}\n')
        return path

    def test_tries_each_point_of_a_grid(self):
        path = self.write("epochs = 2\nat_once = 2", "lr = [0.05, 0.000001]\nbatch = [16, 32]")
        result = self.run_json("sweep", path, "--plot", self.folder / "sweep.svg")
        self.assertEqual((result["planned"], result["runs"], len(result["trials"])), (4, 4, 4))
        best = result["trials"][0]
        self.assertEqual(best["values"]["lr"], "0.05")
        self.assertEqual([trial["loss"] for trial in result["trials"]],
                         sorted(trial["loss"] for trial in result["trials"]))
        self.assertIn("--lr=0.05", result["best_command"])
        self.assertIn("<circle", (self.folder / "sweep.svg").read_text())
        report = self.run_json("predict", "--model", result["best_model"], "--data", self.data)
        self.assertGreater(report["accuracy"], 0.5)

    def test_shows_the_command_of_the_best_model(self):
        # At this rate the loss goes up and down, so the last version is not the best.
        data, self.data = self.data, self.folder / "it's.csv"
        self.data.symlink_to(data)
        path = self.write('epochs = 6\ndevices = ["cpu"]', "lr = [3.0]", train='optimizer = "sgd"')
        result = self.run_json("sweep", path)
        best = result["trials"][0]
        again = self.folder / "again.safetensors"
        self.assertIn("--devices=cpu", result["best_command"])
        words = [*shlex.split(result["best_command"])[1:], "--out", again]
        report = self.run_json(*words)
        self.assertTrue(report["judging"]["kept_best"])
        self.assertLess(report["judging"]["best_step"], report["steps"])
        self.assertEqual(report["judging"]["best_loss"], best["loss"])
        self.assertEqual(report["test_accuracy"], best["test_accuracy"])
        self.assertEqual(again.read_bytes(), pathlib.Path(result["best_model"]).read_bytes())

    def test_trains_the_best_trials_longer(self):
        path = self.write('method = "asha"\ntrials = 9\nepochs = 9\nat_once = 2',
                          'lr = { from = 1e-6, to = 1e-1, scale = "log" }')
        result = self.run_json("sweep", path)
        epochs = [trial["epochs"] for trial in result["trials"]]
        self.assertEqual(len(epochs), 9)
        self.assertEqual(epochs[0], 9)
        self.assertIn(1, epochs)
        runs = [json.loads(line) for line in (self.results / "runs.jsonl").read_text().splitlines()[1:]]
        self.assertEqual(len(runs), result["runs"])
        # A trial that went on did so from its own state.
        longest = [run for run in runs if run["trial"] == result["trials"][0]["trial"]]
        self.assertEqual([run["epochs"] for run in longest], [1, 3, 9])
        self.assertLess(longest[-1]["loss"], longest[0]["loss"])
        self.assertEqual(list(self.results.glob("*.checkpoint")), [])

    def test_says_that_no_trial_was_trained_to_its_end(self):
        path = self.write('method = "asha"\ntrials = 2\nepochs = 3', "lr = [0.05, 0.01]")
        self.assertIn("no trial was trained for all 3 epochs", self.run_program("sweep", path).stdout)

    def test_goes_on_after_an_interruption(self):
        path = self.write("epochs = 3\nat_once = 1", "seed = [1, 2, 3, 4, 5, 6]")
        log = self.results / "runs.jsonl"
        for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            before = len(log.read_text().splitlines()) if log.exists() else 1
            sweep = subprocess.Popen([PROGRAM, "sweep", path, "--quiet"], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE)
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until and not (log.exists() and len(log.read_text().splitlines()) > before):
                time.sleep(0.01)
            sweep.send_signal(number)
            sweep.communicate(timeout=PATIENCE_S)
            self.assertEqual(sweep.returncode, code)
        leftover = self.results / "trial-0005.safetensors.12.13.tmp"
        leftover.touch()
        with open(log, "a") as file:
            file.write('{"trial":5,"ru')  # A line that was cut off.
        done = log.read_text().splitlines()[1:-1]
        self.assertGreaterEqual(len(done), 2)
        result = self.run_json("sweep", path)
        self.assertEqual((result["runs"], len(result["trials"])), (6, 6))
        lines = log.read_text().splitlines()
        self.assertEqual(lines[1:1 + len(done)], done)
        self.assertEqual(sorted(json.loads(line)["trial"] for line in lines[1:]), list(range(6)))
        self.assertFalse(leftover.exists())
        # Nothing is left to do.
        self.assertEqual(self.run_json("sweep", path)["runs"], 6)
        other = self.run_program("sweep", self.write("epochs = 4", "seed = [1]"), expect=6)
        self.assertIn("another search", other.stderr)

    def test_takes_more_trials_when_it_was_done(self):
        tried = 'lr = { from = 1e-3, to = 1e-1, scale = "log" }'
        path = self.write('method = "asha"\ntrials = 5\nepochs = 4\nkeep = 2', tried)
        first = self.run_json("sweep", path)
        # More trials send old ones on, whose checkpoints are gone.
        path = self.write('method = "asha"\ntrials = 10\nepochs = 4\nkeep = 2', tried)
        result = self.run_json("sweep", path)
        self.assertGreater(result["runs"], first["runs"] + 5)
        self.assertEqual([trial.get("error") for trial in result["trials"]], [None] * 10)

    def test_shows_a_trial_that_diverges_last(self):
        path = self.write("epochs = 2", "lr = [0.05, 1e30]", train='optimizer = "sgd"')
        result = self.run_json("sweep", path)
        self.assertEqual(result["trials"][0]["values"]["lr"], "0.05")
        self.assertIsNone(result["trials"][1]["loss"])
        self.assertIn("diverged", result["trials"][1]["error"])

    def test_ends_at_once_if_no_trial_can_work(self):
        wrong = self.run_program("sweep", self.write("epochs = 2\nat_once = 1", "batch = [0, -1]"), expect=2)
        self.assertIn("every trial is refused; trial 0 (batch 0) failed", wrong.stderr)
        self.assertIn("--batch", wrong.stderr)
        path = self.folder / "absent.toml"
        self.assertIn("absent.toml", self.run_program("sweep", path, expect=3).stderr)
        path = self.write("epochs = 2", "lr = []")
        self.assertIn(".toml:", self.run_program("sweep", path, expect=1).stderr)

    def test_a_misspelt_flag_is_found_before_the_first_trial(self):
        for table, tried, train in (("[try]", "bach = [16, 32]", ""), ("[train]", "lr = [0.1]", "bach = 16")):
            with self.subTest(table):
                wrong = self.run_program("sweep", self.write("epochs = 2", tried, train), expect=2)
                self.assertIn(f"'bach' in {table} is no flag of motley train. Did you mean 'batch'?", wrong.stderr)
                self.assertFalse(self.results.exists())

    def test_a_refused_value_is_the_result_of_its_trial_alone(self):
        for name, batches in (("first", "[0, 16]"), ("last", "[16, 0]")):
            with self.subTest(name):
                self.results = self.folder / f"refused-{name}.out"
                result = self.run_json("sweep", self.write("epochs = 2\nat_once = 2", f"batch = {batches}"))
                self.assertEqual([trial["values"]["batch"] for trial in result["trials"]], ["16", "0"])
                self.assertIn("--batch", result["trials"][1]["error"])
                self.assertEqual(len((self.results / "runs.jsonl").read_text().splitlines()), 3)

    def test_what_other_things_disturb_is_trained_again(self):
        log = self.results / "runs.jsonl"
        data, self.data = self.data, self.folder / "later.csv"
        path = self.write("epochs = 2", "seed = [1, 2]")
        absent = self.run_program("sweep", path, expect=3)
        self.assertRegex(absent.stderr, r"trial \d \(seed \d\) failed: .*later.csv")
        self.assertEqual(len(log.read_text().splitlines()), 1)
        self.data.symlink_to(data)
        self.assertEqual([trial.get("error") for trial in self.run_json("sweep", path)["trials"]], [None] * 2)

    def test_a_trial_that_was_killed_is_trained_again(self):
        path = self.write("epochs = 300", "seed = [1]")
        sweep = subprocess.Popen([PROGRAM, "sweep", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        children = pathlib.Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children")
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not children.read_text().split():
            time.sleep(0.001)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        self.assertIn("the same command trains it again", sweep.communicate(timeout=PATIENCE_S)[1])
        self.assertEqual(sweep.returncode, 4)
        self.assertEqual(len((self.results / "runs.jsonl").read_text().splitlines()), 1)
        self.assertIsNone(self.run_json("sweep", path)["trials"][0].get("error"))

    def test_a_trial_with_a_damaged_checkpoint_begins_anew(self):
        path = self.write('method = "asha"\ntrials = 3\nepochs = 3\nat_once = 1', "lr = [0.05, 0.0001]")
        best = self.run_json("sweep", path)["trials"][0]
        self.assertEqual(best["epochs"], 3)
        log = self.results / "runs.jsonl"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if '"rung":1' not in line))
        checkpoint = self.results / f"trial-{best['trial']:04}.checkpoint"
        checkpoint.mkdir()
        (checkpoint / "step-1").write_text("damaged")
        again = self.run_json("sweep", path)["trials"][0]
        self.assertEqual({**again, "seconds": 0}, {**best, "seconds": 0})

    def test_a_damaged_checkpoint_that_cannot_be_removed_ends_the_sweep(self):
        path = self.write('method = "asha"\ntrials = 3\nepochs = 3\nat_once = 1', "lr = [0.05, 0.0001]")
        best = self.run_json("sweep", path)["trials"][0]
        log = self.results / "runs.jsonl"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if '"rung":1' not in line))
        checkpoint = self.results / f"trial-{best['trial']:04}.checkpoint"
        checkpoint.mkdir()
        (checkpoint / "step-1").write_text("damaged")
        checkpoint.chmod(0o555)
        drop_capability, override_permissions = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: for root.
        library = ctypes.CDLL(None)
        try:
            failed = subprocess.run(
                [PROGRAM, "sweep", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                timeout=PATIENCE_S, check=False,
                preexec_fn=lambda: library.prctl(drop_capability, override_permissions, 0, 0, 0))
        finally:
            checkpoint.chmod(0o755)
        self.assertRegex(failed.stderr, rf"the checkpoint of trial {best['trial']} .* cannot be removed: "
                         rf"{re.escape(str(checkpoint))}: Permission denied")
        self.assertNotEqual(failed.returncode, 0)
        again = self.run_json("sweep", path)["trials"][0]
        self.assertEqual({**again, "seconds": 0}, {**best, "seconds": 0})

    def test_a_checkpoint_stays_if_something_else_fails(self):
        data, self.data = self.data, self.folder / "checkpoint.csv"
        self.data.symlink_to(data)
        path = self.write('method = "asha"\ntrials = 3\nepochs = 3\nat_once = 1', "lr = [0.05, 0.0001]")
        result = self.run_json("sweep", path)
        best = result["trials"][0]
        log = self.results / "runs.jsonl"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if '"rung":1' not in line))
        checkpoint = self.results / f"trial-{best['trial']:04}.checkpoint"
        words = [word for word in shlex.split(result["best_command"])[1:] if not word.startswith("--epochs")]
        self.run_program(*words, "--epochs", 1, "--checkpoint", checkpoint)
        self.data.unlink()
        failed = self.run_program("sweep", path, expect=3)
        self.assertIn("checkpoint.csv", failed.stderr)
        self.assertTrue(list(checkpoint.iterdir()))
        self.data.symlink_to(data)
        again = self.run_json("sweep", path)["trials"][0]
        self.assertEqual({**again, "seconds": 0}, {**best, "seconds": 0})

    def running(self, *flags, train=""):
        """A sweep whose only trial is too long to end by itself, and the trial's process."""
        sweep = Running(self, "sweep", self.write("epochs = 100000", "seed = [1]", train), *flags)
        wait_until(lambda: children_of(sweep.process.pid), "no trial begins")
        return sweep, children_of(sweep.process.pid)[0]

    def test_ctrl_z_stops_the_trials_until_they_go_on(self):
        sweep, trial = self.running()
        wait_until(lambda: children_of(trial), "no worker begins")
        pids = [sweep.process.pid, trial, *children_of(trial)]
        sweep.send(signal.SIGTSTP)
        wait_until(lambda: all(stopped(pid) for pid in pids), "not all processes stop")
        sweep.send(signal.SIGCONT)
        wait_until(lambda: not any(stopped(pid) for pid in pids), "not all processes go on")
        sweep.send(signal.SIGINT)
        self.assertEqual(sweep.finish()[0], 130)

    def test_a_trial_that_does_not_end_is_named_and_killed(self):
        sweep, trial = self.running("--grace", "100ms")
        wait_until(lambda: catches(trial, signal.SIGTERM), "the trial does not watch signals")
        os.kill(trial, signal.SIGSTOP)  # It then waits with SIGTERM.
        sweep.send(signal.SIGTERM)
        self.assertEqual(sweep.finish()[0], 143)
        self.assertTrue(sweep.said("stopping trial 0;"), sweep.text())
        self.assertTrue(sweep.said(r"trial 0 still runs 0.1 s after SIGTERM \(--grace\), and is killed"), sweep.text())
        self.assertFalse(alive(trial))

    def test_an_error_ends_the_other_trials(self):
        absent = self.folder / "absent.safetensors"
        path = self.write("epochs = 100000\nat_once = 2", f'init = ["{absent}", "{self.folder}/fine"]')
        self.run_program("train", "--data", self.data, "--model", "mlp:8", "--steps", 1, "--out", self.folder / "fine")
        failed = self.run_program("sweep", path, expect=3)
        self.assertIn("an error ends the sweep; waiting for trial 1", failed.stderr)
        self.assertIn("absent.safetensors", failed.stderr)

    def test_a_trial_that_was_done_before_a_signal_is_recorded(self):
        path = self.write("epochs = 2\nat_once = 1", "seed = [1, 2]")
        sweep = Running(self, "sweep", path)
        wait_until(lambda: children_of(sweep.process.pid), "no trial begins")
        trial = children_of(sweep.process.pid)[0]
        sweep.send(signal.SIGSTOP)
        wait_until(lambda: stopped(sweep.process.pid) and process_state(trial)[0] == "Z", "the trial does not end")
        sweep.send(signal.SIGINT)
        sweep.send(signal.SIGCONT)
        self.assertEqual(sweep.finish()[0], 130, sweep.text())
        runs = (self.results / "runs.jsonl").read_text().splitlines()[1:]
        self.assertEqual([json.loads(run)["trial"] for run in runs], [0])

    def test_workers_may_have_emulated_speeds(self):
        result = self.run_json("sweep", self.write("epochs = 1", "lr = [0.01]", train='worker-speeds = "1,0.5"'))
        self.assertIsNone(result["trials"][0].get("error"))
        self.assertIn("--worker-speeds=1,0.5", result["best_command"])
        self.assertNotIn("--workers=", result["best_command"])

    def test_counts_that_are_too_large_are_refused_by_the_trials(self):
        path = self.write("epochs = 1", "lr = [0.01]", train="workers = 65536\nthreads = 65536")
        self.assertIn("every trial is refused", self.run_program("sweep", path, expect=2).stderr)

    def test_the_picture_may_be_among_the_results(self):
        picture = self.results / "sweep.svg"
        self.run_program("sweep", self.write("epochs = 1", "lr = [0.01]"), "--plot", picture)
        self.assertIn("<circle", picture.read_text())

    def test_a_pipe_is_no_picture(self):
        pipe = self.folder / "pipe.svg"
        os.mkfifo(pipe)
        refused = self.run_program("sweep", self.write("epochs = 1", "lr = [0.01]"), "--plot", pipe, expect=2)
        self.assertIn("pipe.svg", refused.stderr)
        self.assertFalse((self.results / "runs.jsonl").exists())

    def test_the_table_is_shown_even_if_the_picture_cannot_be_written(self):
        folder = self.folder / "pictures"
        folder.mkdir()
        sweep = Running(self, "sweep", self.write("epochs = 2", "lr = [0.01]"), "--plot", folder / "sweep.svg")
        wait_until(lambda: children_of(sweep.process.pid), "no trial begins")
        folder.rmdir()
        code, table = sweep.finish()
        self.assertNotEqual(code, 0)
        self.assertIn("best: trial 0", table)
        self.assertTrue(sweep.said("sweep.svg"), sweep.text())

    def test_two_sweeps_do_not_share_a_folder(self):
        path = self.write("epochs = 50\nat_once = 1", "seed = [1, 2, 3]")
        log = self.results / "runs.jsonl"
        first = subprocess.Popen([PROGRAM, "sweep", path, "--quiet"], stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until and not (log.exists() and log.stat().st_size > 0):
                time.sleep(0.01)
            self.assertIn("another motley sweep", self.run_program("sweep", path, expect=6).stderr)
        finally:
            first.terminate()
            first.wait(timeout=PATIENCE_S)


if __name__ == "__main__":
    unittest.main()
