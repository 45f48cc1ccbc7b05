#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks errors of the program: exit codes and messages."""

import gzip
import json
import os
import pathlib
import resource
import socket
import subprocess
import unittest
from unittest import mock

from program import PATIENCE_S, PROGRAM, SANITIZED, ProgramTest, write_samples


class Errors(ProgramTest):
    def refuse(self, code, words, *arguments):
        """Checks that the program ends with `code`, writes nothing to stdout, and each of `words` to stderr."""
        done = self.run_program(*arguments, expect=code)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("motley: "), done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)

    def train(self, code, words, *arguments):
        self.refuse(code, words, "train", "--data", self.data, "--steps", "2", *arguments)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_missing_file(self):
        path = self.folder / "nowhere.csv"
        self.refuse(3, [path], "train", "--data", path)

    def test_truncated_gzip(self):
        path = self.folder / "cut.csv.gz"
        path.write_bytes(gzip.compress(self.data.read_bytes())[:-200])
        self.refuse(1, [path], "train", "--data", path)

    def test_nan_feature_names_file_and_line(self):
        path = self.file("nan.csv", b"1,2,0\n3,nan,1\n5,6,0\n7,8,1\n")
        self.refuse(1, ["nan.csv:2", "a value is missing"], "train", "--data", path, "--missing",
                    "error")
        path = self.file("inf.csv", b"1,2,0\n3,-inf,1\n5,6,0\n7,8,1\n")
        self.refuse(1, ["inf.csv:2", "column 1", "not a finite number"], "train", "--data", path)

    def test_line_with_another_length(self):
        path = self.file("short.csv", b"1,2,0\n3,4,1\n5,0\n7,8,1\n")
        self.refuse(1, ["short.csv", "3"], "train", "--data", path)

    def test_unknown_label_column(self):
        path = self.file("named.csv", b"height,width,kind\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n")
        self.refuse(3, ["kidn"], "train", "--data", path, "--label", "kidn")

    def test_as_many_stragglers_as_workers(self):
        self.train(2, ["--tolerate", "at most 1"], "--workers", "2", "--code", "rs", "--tolerate",
                   "2")

    def test_more_workers_than_samples(self):
        path = self.file("few.csv", b"1,0\n2,1\n3,0\n4,1\n5,0\n")
        self.refuse(2, ["samples"], "train", "--data", path, "--workers", "5")

    def test_an_empty_value_is_no_default(self):
        for flag in ("--devices", "--storage", "--out"):
            self.train(2, [f"{flag} has no value"], flag, "")
            self.train(2, [f"{flag} has no value"], f"{flag}=")

    def test_unknown_flag_gets_a_suggestion(self):
        self.train(2, ["--wokers", "--workers"], "--wokers", "4")
        self.refuse(2, ["--dta", "--data"], "train", "--dta", "x")
        self.refuse(2, ["trian", "train"], "trian")

    def test_values_that_make_no_sense(self):
        self.train(2, ["--batch"], "--batch", "0")
        self.train(2, ["--batch"], "--batch", "-5")
        self.train(2, ["--worker-speeds"], "--worker-speeds", "1,fast")
        self.train(2, ["--workers"], "--workers", "3", "--worker-speeds", "1,1")
        self.train(2, ["'heterogeneous'"], "--code", "heterogenous")
        self.train(2, ["--split"], "--split", "1.5")
        self.train(2, ["--epochs"], "--epochs", "1")  # --steps is given, too.
        self.train(2, ["--worker-speeds"], "--fault", "slow:0@step=1,5x")
        self.train(2, ["--quorum: with --code auto every step waits until it is exact"], "--quorum", "1")
        self.train(2, ["--step-deadline", "0ms"], "--code", "approximate", "--step-deadline", "0ms")
        self.train(2, ["kill"], "--fault", "kil:0@step=1")
        self.train(2, ["5"], "--fault", "kill:5@step=1")
        self.train(2, ["--steps", "more than once"], "--steps", "3")
        self.train(2, ["foo"], "--listen", "foo")
        self.train(2, ["rate"], "--lr", "-1")
        self.train(2, ["rate"], "--lr", "0")
        self.train(2, ["--l2: much is not a weight"], "--l2", "much")

    def test_errors_say_what_to_do_next(self):
        for count in ("0", "-1", "many", "1.5"):
            self.train(2, ["--workers", f"{count} is not a number of workers", "from 1 to 256", "2..8"],
                       f"--workers={count}")
        for time in ("soon", "10", "-3s", "1e9h"):
            words = [f"--wait {time}: this is not a time",
                     "like 30s, 10min or 2h, up to 1000000s; 0s does not wait"]
            self.train(2, words, f"--wait={time}")
            with mock.patch.dict(os.environ, MOTLEY_TOKEN="sixteen characters"):
                self.refuse(2, words, "worker", "--server", "127.0.0.1:1", f"--wait={time}")
        model = self.folder / "standard"
        self.run_program("train", "--data", self.data, "--steps", 2, "-q", "--out", model)
        self.train(2, ["--scale largest: the model of --init has standard, and its parameters",
                       "Leave --scale out"], "--init", model, "--scale", "largest")

    def test_a_flag_without_its_value_takes_no_other_flag_for_it(self):
        self.train(2, ["--out has no value"], "--out=", "--json")
        self.assertFalse(pathlib.Path("--json").exists())

    def test_flags_that_mean_nothing_alone_or_together(self):
        self.train(2, ["--epochs and --steps cannot both be given"], "--epochs", "1")
        for flag, value in (("--checkpoint-every", "5"), ("--checkpoint-code", "3+2")):
            self.train(2, [f"{flag} means nothing without --checkpoint"], flag, value)
        self.refuse(2, ["list, verify, restore, export"], "checkpoint")

    def test_memory_has_a_unit_and_a_least_size(self):
        for size in ("1", "1048576", "1KiB", "0.9MiB", "-1GiB", "1MiBs", "MiB", "1e30GiB", "nan"):
            self.train(2, ["--memory", "at least 1MiB"], f"--memory={size}")
        for size in ("1MiB", "1.5 gb", "2048k", "1048576B"):
            self.run_program("train", "--data", self.data, "--steps", 2, "--memory", size)
        self.assertIn("--memory SIZE ", self.run_program("train", "--help").stdout)

    def test_data_that_a_job_cannot_go_on_with_are_told_by_their_shape(self):
        folder = self.folder / "state"
        self.run_program("train", "--data", self.data, "--steps", 2, "--checkpoint", folder)
        other = self.folder / "narrow.csv"
        write_samples(other, features=5)
        self.refuse(6, ["has 6 columns", "learned from has 13", "start a new job"], "train",
                    "--data", other, "--steps", "4", "--resume", folder, "-q")
        shown = self.run_program("checkpoint", "verify", folder).stdout
        self.assertIn("step 2 (the newest; others with --step)", shown)
        shown = self.run_program("checkpoint", "verify", folder, "--step", 2).stdout
        self.assertIn("step 2 as 4+2", shown)

    def test_a_job_goes_on_with_more_workers_than_it_had(self):
        folder = self.folder / "many"
        self.run_program("train", "--data", self.data, "--steps", 2, "--checkpoint", folder)
        done = self.run_program("train", "-q", "--data", self.data, "--steps", 3, "--resume",
                                folder, "--workers", 5, "--json")
        self.assertEqual(json.loads(done.stdout)["steps"], 3)

    def test_a_folder_without_checkpoints(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse(3, [f"there is no checkpoint in {empty}"], "checkpoint", "verify", empty)
        self.train(3, [f"there is no checkpoint in {empty}"], "--resume", empty)

    def test_folders_that_may_not_be_written_to(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        folder = self.folder / "closed"
        folder.mkdir(mode=0o555)
        self.train(5, ["--out"], "--out", folder / "model")
        self.train(5, ["--checkpoint"], "--checkpoint", folder / "state")

    def test_a_file_and_the_checkpoints_need_two_names(self):
        state = self.folder / "both"
        for flag in ("--out", "--trace", "--record-profile"):
            self.train(2, [flag, "would overwrite --checkpoint"], "--checkpoint", state, flag,
                       state)
        self.assertFalse(state.exists())

    def test_too_few_open_files_are_told_by_any_limit(self):
        """With a limit below 4 the system itself cannot start a program with shared libraries."""
        if "undefined" in os.environ.get("MOTLEY_SANITIZE", ""):
            self.skipTest("the sanitizer itself opens a pipe to look at an address")
        told = starts = 0
        for limit in (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 24):
            done = subprocess.run(
                [PROGRAM, "train", "--data", str(self.data), "--steps", "2", "--workers", "2"],
                text=True, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            self.assertIn(done.returncode, (0, 1), f"{limit}: {done.stderr}")
            if done.returncode == 1:
                told += 1
                self.assertIn("too many open files", done.stderr.lower(), limit)
                if "the process of worker" in done.stderr:
                    starts += 1
                    self.assertIn("raise the limit of open files (ulimit -n)", done.stderr, limit)
        self.assertGreaterEqual(told, 5)
        self.assertGreaterEqual(starts, 1)

    def test_too_little_memory_is_told_by_any_limit(self):
        if SANITIZED:
            self.skipTest("sanitizers need all addresses there are")
        simulated = ["simulate", "--workers", "64", "--steps", "20", "--model", "mlp:500"]
        training = ["train", "--data", str(self.data), "--steps", "2", "--model", "mlp:1000,1000",
                    "--checkpoint", str(self.folder / "little")]
        told = 0
        for command, limits in ((simulated, (26, 40)),
                                (["codes", "--workers", "2000", "--code", "rs"], (26, 60)),
                                (training, (26, 32, 36))):
            for mebibytes in limits:
                limit = mebibytes << 20
                done = subprocess.run(
                    [PROGRAM] + command, text=True, capture_output=True, timeout=PATIENCE_S,
                    stdin=subprocess.DEVNULL,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
                said = f"{command[0]} with {mebibytes} MiB: {done.stderr}"
                self.assertIn(done.returncode, (0, 1, 4), said)
                self.assertNotIn("bug of motley", done.stderr, said)
                told += done.returncode != 0
        self.assertGreaterEqual(told, 3)

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.train(4, [address], "--listen", address)

    def test_outputs_are_checked_before_training(self):
        self.train(3, ["--out", "folder"], "--out", self.folder / "no" / "model")
        self.train(2, ["--trace", "folder"], "--trace", self.folder)

    def test_outputs_replace_nothing_but_outputs(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.train(2, ["--out", "regular file"], "--out", pipe)
        self.assertTrue(pipe.is_fifo())
        before = self.data.read_bytes()
        link = self.folder / "link.csv"
        link.symlink_to(self.data)
        self.train(2, ["--out", "--data"], "--out", link)
        self.train(2, ["--trace", "--data"], "--trace", self.data)
        self.assertEqual(self.data.read_bytes(), before)
        both = self.folder / "both"
        self.train(2, ["--out", "--trace"], "--out", both, "--trace", both)
        self.train(2, ["--out"], "--out", self.folder / ("x" * 300))

    def test_numbers_out_of_range_are_told_in_readable_words(self):
        for seed in ("-1", "18446744073709551616", " -1", "0x10", "1.5", ""):
            self.train(2, ["--seed"], f"--seed={seed}")
        self.train(2, ["--split", "between 0 and 1, ends excluded"], "--split", "0")
        self.train(2, ["--split"], "--split", "nan")
        self.train(2, ["--tolerate"], "--tolerate", "-1")
        self.train(2, ["learning rate"], "--lr", "2e30")
        self.train(2, ["--worker-speeds"], "--worker-speeds", "1e308,1,1")
        self.train(2, ["--sample-time", "60s"], "--worker-speeds", "1,1", "--sample-time", "61s")
        done = self.run_program("worker", "--server", "127.0.0.1:1", "--threads", "-1", expect=2)
        self.assertLess(len(done.stderr), 120)

    def test_largest_seed_is_used(self):
        self.run_program("simulate", "--steps", "1", "--seed", str((1 << 64) - 1))

    def test_too_many_workers_are_refused_at_once(self):
        for count in (257, 1000000, 1 << 30):
            self.train(2, ["--workers", "256"], "--workers", count, "--code", "rs")
            if count > 1024:
                self.refuse(2, ["--workers", "1024"], "simulate", "--workers", count, "--steps", 1)

    def test_worker_of_a_job_here_needs_a_pipe_as_input(self):
        for path in (os.devnull, self.data):
            with open(path) as file:
                done = subprocess.run([PROGRAM, "worker"], stdin=file, capture_output=True, text=True,
                                      timeout=60, env={**os.environ, "MOTLEY_SERVER": "127.0.0.1:1",
                                                       "MOTLEY_TOKEN": "secret", "MOTLEY_WORKER_INDEX": "0"})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("standard input is not a pipe", done.stderr)

    def test_worker_needs_a_server_and_a_token(self):
        self.refuse(2, ["--server"], "worker")
        self.refuse(2, ["set the environment variable MOTLEY_TOKEN"], "worker", "--server", "127.0.0.1:1")

    def test_a_short_token_is_told_how_to_make_a_long_one(self):
        with mock.patch.dict(os.environ, MOTLEY_TOKEN="12345678901"):
            self.train(2, ["MOTLEY_TOKEN: 11 characters", "openssl rand -hex 16"],
                       "--remote", "--listen", "0.0.0.0:0")

    def test_a_server_without_a_port_is_told_by_an_example(self):
        with mock.patch.dict(os.environ, MOTLEY_TOKEN="12345678901"):
            done = self.run_program("worker", "--server", "127.0.0.1", expect=2)
        self.assertEqual(done.stderr, 'motley: "127.0.0.1": the port is missing; write HOST:PORT, '
                                      "like 192.168.1.10:7000\n")

    def test_a_model_without_its_sizes_is_told_an_example(self):
        self.train(2, ["model 'mlp' needs its sizes, as in mlp:256"], "--model", "mlp")
        self.train(2, ["as in cnn:16,32"], "--model", "cnn")
        self.train(2, ["as in factorization:16"], "--model", "factorization")

    def test_codes_says_which_codes_of_jobs_are_no_matrix(self):
        self.refuse(2, ["--code auto", "motley plan"], "codes", "--workers", 4, "--code", "auto")
        self.refuse(2, ["--code adaptive", "no matrix"], "codes", "--workers", 4, "--code",
                    "adaptive")
        self.refuse(2, ["'adaptiv'", "cyclic"], "codes", "--workers", 4, "--code", "adaptiv")

    def test_predict_refuses_what_is_no_model(self):
        self.refuse(1, ["clouds.csv"], "predict", "--model", self.data, "--data", self.data)
        self.refuse(3, ["none"], "predict", "--model", self.folder / "none", "--data", self.data)

    def test_no_command_is_a_usage_error(self):
        done = self.run_program(expect=2)
        self.assertIn("train", done.stderr)


if __name__ == "__main__":
    unittest.main()
