#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modes of synchronisation: without a barrier (asp, ssp:S), with local steps (local:H), and motley compare."""

import json
import pathlib
import subprocess
import sys
import unittest

from tools.program import PROGRAM, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Sync(ProgramTest):
    def train(self, *arguments):
        return self.run_json("train", "--data", self.data, "--model", "mlp:16", "--workers", 3, "--batch", 32,
                             "--steps", 240, "--split", 0.9, "--lr", 0.05, *arguments)

    def expect_trained(self, report):
        self.assertEqual(report["steps"], 240)
        self.assertEqual(report["code"], "none")
        self.assertGreater(report["test_accuracy"], 0.8)

    def test_trains_with_and_without_a_bound(self):
        for sync in ("asp", "ssp:0", "ssp:2", "dssp:0,3", "r2sp"):
            with self.subTest(sync=sync):
                report = self.train("--sync", sync)
                self.expect_trained(report)
                self.assertEqual(report["sync"], sync)
                self.assertGreater(report["staleness"]["max"], 0)
        report = self.train()
        self.assertEqual(report["sync"], "bsp")
        self.assertNotIn("staleness", report)

    def test_keeps_momenta_apart_and_lowers_stale_rates(self):
        report = self.train("--sync", "dana")
        self.expect_trained(report)
        self.assertEqual(report["learning"]["optimizer"], "nag")
        self.expect_trained(self.train("--sync", "ssp:2", "--staleness", "rate"))
        self.expect_trained(self.train("--sync", "asp", "--staleness", "gap"))

    def test_backup_workers_let_steps_end_without_the_last_answers(self):
        report = self.train("--sync", "backup:1")
        self.assertEqual((report["sync"], report["code"]), ("backup:1", "approximate"))
        self.assertGreater(report["approximate"]["steps"], 0)
        self.assertGreater(report["test_accuracy"], 0.8)

    def test_takes_local_steps(self):
        for sync, *how in (("local:4",), ("local:4", "--reduce", "direct"),
                           ("local:4", "--optimizer", "sgd", "--outer-momentum", 0),
                           ("local:4,2",), ("local:4,3", "--reduce", "direct", "--optimizer", "adam", "--lr", 0.002)):
            with self.subTest(sync=sync, how=how):
                report = self.run_json("train", "--data", self.data, "--model", "mlp:16", "--workers", 3, "--batch", 16,
                                       "--epochs", 30, "--split", 0.9, "--sync", sync,
                                       *(() if "--lr" in how else ("--lr", 0.05)), *how)
                self.assertEqual((report["sync"], report["code"]), (sync, "approximate"))
                learning = report["learning"]
                self.assertEqual(learning["local"].get("ahead", 0), int((sync + ",0").split(",")[1]))
                self.assertEqual(learning["batch"], 3 * 4 * 16)
                self.assertEqual(learning["local"]["steps"], 4)
                self.assertEqual(learning["local"]["batch"], 16)
                self.assertEqual(learning["local"]["outer_momentum"], 0 if "sgd" in how else 0.9)
                self.assertGreater(report["test_accuracy"], 0.8)

    def test_a_round_ends_without_a_worker_that_stands_still(self):
        report = self.run_json("train", "--data", self.data, "--model", "mlp:16", "--workers", 3, "--batch", 16,
                               "--steps", 200, "--split", 0.9, "--lr", 0.05, "--sync", "local:4",
                               "--fault", "pause:2@step=30,2s")
        self.assertEqual(report["steps"], 200)
        self.assertGreater(report["test_accuracy"], 0.8)

    def test_waits_for_nobody_who_dies_or_stands_still(self):
        for fault in ("kill:1@step=30", "pause:2@step=30,2s"):
            with self.subTest(fault=fault):
                self.expect_trained(self.train("--sync", "ssp:2", "--fault", fault))

    def test_gives_validation_and_rates_by_the_number_of_updates(self):
        report = self.train("--sync", "ssp:1", "--schedule", "cosine", "--evaluate-every", 60)
        self.expect_trained(report)

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data, "--workers", 3)
        for wrong, words in ((("--sync", "ssp"), "such as ssp:2 or dssp:1,4"),
                             (("--sync", "bsp", "--outer-rate", 0.5), "local:H"),
                             (("--sync", "bsp", "--outer-momentum", 0), "local:H"),
                             (("--sync", "asp", "--outer-momentum", 0), "local:H"),
                             (("--sync", "local:4", "--outer-momentum", 1), "below 1"),
                             (("--sync", "local:4", "--outer-momentum", 0.99999999),
                              "motley: --outer-momentum 0.99999999: it must be below 1"),
                             *((("--sync", "local:4", "--outer-rate", rate), f"{rate} is not a learning rate")
                               for rate in ("0", "-1", "inf", "nan", "x")),
                             (("--sync", "local:4", "--outer-rate", "1e-320"), "--outer-rate 1e-320: it must"),
                             (("--sync", "local:4", "--outer-rate", 101), "from 1e-45 to 100"),
                             (("--sync", "local:4", "--code", "cyclic"), "leave --code"),
                             (("--sync", "local:4", "--audit", 0.5), "--audit 0"),
                             (("--sync", "local:4", "--checkpoint", self.folder / "saved"), "cannot be saved"),
                             (("--sync", "local:4", "--schedule", "plateau:sqrt=64"), "each worker's own steps"),
                             (("--sync", "local:0"), "B and H from 1 on"),
                             (("--sync", "local:4,4"), "K below H"),
                             (("--sync", "asp", "--code", "cyclic"), "--code none"),
                             (("--sync", "asp", "--tolerate", 1), "motley: --tolerate: with --sync asp"),
                             (("--sync", "ssp:2", "--quorum", 2), "motley: --quorum: with --sync ssp:2"),
                             (("--sync", "dana", "--step-deadline", "1s"), "motley: --step-deadline: with --sync dana"),
                             (("--sync", "dana", "--optimizer", "adam"), "--optimizer nag"),
                             (("--sync", "backup:3"), "at least one must answer"),
                             (("--sync", "bsp", "--staleness", "rate"), "gradients are never old"),
                             (("--sync", "dana", "--staleness", "gap"), "the momenta look ahead instead"),
                             (("--sync", "asp", "--reduce", "direct"), "--reduce star"),
                             (("--sync", "asp", "--audit", 0.5), "--audit 0"),
                             (("--sync", "ssp:2", "--checkpoint", self.folder / "saved"), "cannot be saved")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*train, *wrong, expect=2).stderr)
        # Before workers are asked to join.
        served = self.run_program(*train, "--remote", "--listen", "127.0.0.1:0", "--sync", "asp",
                                  "--reduce", "sharded:2", expect=2)
        self.assertIn("--reduce star", served.stderr)
        self.assertNotIn("motley worker", served.stderr)


class Compare(ProgramTest):
    def compare(self, *arguments):
        return ("compare", "--data", self.data, "--model", "mlp:16", "--worker-speeds", "1,1,0.25", "--epochs", 4,
                "--seeds", 2, *arguments)

    def test_gives_the_time_to_a_target_in_each_mode(self):
        trials = self.run_json(*self.compare("--sync", "bsp,ssp:1,asp", "--rates", "0.05,0.01",
                                             "--target-accuracy", 0.8))
        self.assertEqual([trial["sync"] for trial in trials], ["bsp", "ssp:1", "asp"])
        for trial in trials:
            self.assertEqual((trial["workers"], trial["seeds_that_reach_it"]), (3, 2), trial)
            self.assertIn(trial["rate"], (0.05, 0.01))
            self.assertGreater(trial["seconds_to_target_mean"], 0)
            self.assertGreater(trial["final_accuracy"], 0.8)
        # The slowest of these workers takes half of the time if all have to do the same number of batches.
        self.assertNotEqual(trials[0]["seconds_to_target_mean"], trials[2]["seconds_to_target_mean"])

    def test_counts_the_samples_of_updates(self):
        def work(*arguments):
            trials = self.run_json("compare", "--data", self.data, "--model", "softmax", "--worker-speeds", "1,1,1",
                                   "--batch", 12, "--steps", 40, "--seeds", 1, *arguments)
            return {trial["sync"]: trial["by_seed"][0] for trial in trials}

        calm = work("--sync", "bsp,asp,backup:1,local:2")
        self.assertEqual(calm["bsp"]["samples"], calm["asp"]["samples"])
        self.assertAlmostEqual(calm["bsp"]["samples"], 40 * 12, delta=24)
        # Without the last answer of three, about a third of the samples does not count.
        self.assertAlmostEqual(calm["backup:1"]["samples"] / calm["bsp"]["samples"], 2 / 3, delta=0.1)
        self.assertGreater(calm["local:2"]["samples"], 5 * calm["bsp"]["samples"])
        paused = work("--sync", "local:2", "--fault", "pause:1@step=10,1s")
        self.assertLess(paused["local:2"]["samples"], calm["local:2"]["samples"])
        self.assertGreater(paused["local:2"]["seconds"], calm["local:2"]["seconds"])

    def test_each_mode_follows_the_schedule(self):
        def losses(*schedule):
            trials = self.run_json(*self.compare("--sync", "bsp,asp,dana,local:2", *schedule))
            return [trial["final_loss"] for trial in trials]

        stopped = losses("--schedule", "step:every=1,factor=0.001")
        for mode, (kept, without) in enumerate(zip(losses(), stopped)):
            self.assertLess(kept, 0.8 * without, mode)
        refused = self.run_program(*self.compare("--schedule", "sine"), expect=2)
        self.assertIn("sine", refused.stderr)

    def test_steps_ahead_of_a_round_hide_slow_links(self):
        lab = self.folder / "thin.toml"
        lab.write_text('name = "thin"\n[server]\nlink = { bandwidth = "10Mbit/s" }\n[[worker]]\nname = "w"\ncount = 3\n'
                       'samples_per_second = 1000\nlink = { latency = "1ms", bandwidth = "10Mbit/s" }\n')
        trials = self.run_json("compare", "--data", self.data, "--model", "mlp:64", "--cluster", lab, "--batch", 12,
                               "--steps", 20, "--seeds", 1, "--sync", "local:8,local:8,4")
        self.assertEqual([trial["sync"] for trial in trials], ["local:8", "local:8,4"])
        plain, ahead = (trial["by_seed"][0] for trial in trials)
        self.assertEqual(plain["samples"], ahead["samples"])
        self.assertLess(ahead["seconds"], 0.9 * plain["seconds"])  # Simulated.

    def test_places_and_rounds_the_vector(self):
        lab = self.folder / "thin.toml"
        lab.write_text('name = "thin"\n[server]\nlink = { bandwidth = "10Mbit/s" }\n[[worker]]\nname = "w"\ncount = 4\n'
                       'samples_per_second = 100000\nlink = { latency = "1ms", bandwidth = "10Mbit/s" }\n')
        job = ("compare", "--data", self.data, "--model", "mlp:600", "--cluster", lab, "--batch", 12, "--steps", 20,
               "--seeds", 1)

        def work(*arguments):
            done = self.run_program(*job, *arguments, "--json")
            return {trial["sync"]: trial["by_seed"][0] for trial in json.loads(done.stdout)}, done.stderr

        modes = ("--sync", "bsp,backup:1,local:2")
        star = work(*modes)[0]
        for vector in (("--reduce", "direct"), ("--reduce", "direct", "--followers", 0), ("--wire", "int8")):
            with self.subTest(vector=vector):
                placed = work(*modes, *vector)[0]
                for mode, seen in placed.items():
                    self.assertLess(seen["seconds"], 0.9 * star[mode]["seconds"], mode)  # Simulated.
                self.assertEqual(placed["bsp"]["samples"], star["bsp"]["samples"])
        sharded, alone = (work(*modes, "--reduce", "sharded:2", "--followers", followers)[0] for followers in (1, 0))
        self.assertEqual(sharded["bsp"]["samples"], star["bsp"]["samples"])
        self.assertGreater(sharded["bsp"]["seconds"], alone["bsp"]["seconds"])
        self.assertEqual(work(*modes, "--reduce", "auto")[0], star)  # The vector is short.
        # Modes without a barrier keep the parameters at the server.
        some, said = work("--reduce", "direct")
        self.assertEqual(list(some), ["bsp", "local:4"])
        self.assertIn("leaving asp out", said)
        refused = self.run_program(*job, "--sync", "bsp,asp", "--reduce", "direct", expect=2).stderr
        self.assertIn("use --reduce star; or leave asp out of --sync", refused)

    def test_goes_on_while_learners_are_away(self):
        script = ROOT / "benchmarks" / "sync_published.py"
        done = subprocess.run([sys.executable, script, PROGRAM, "--only", "chaos", "--learners", "8",
                               "--seconds", "300", "--json"], text=True, capture_output=True, check=True)
        found = {one["sync"]: one for one in json.loads(done.stdout)["chaos"]}
        for sync, least in (("bsp", 0.85), ("local:1", 0.85), ("local:8", 0.3)):
            self.assertGreater(found[sync]["pauses"], 5)
            self.assertGreater(found[sync]["goodput"], least * found[sync]["there"], sync)
            self.assertLess(found[sync]["goodput"], 1.05 * found[sync]["there"], sync)

    def test_trainings_shorter_than_some_pauses_are_refused(self):
        script = ROOT / "benchmarks" / "sync_published.py"
        refused = subprocess.run([sys.executable, script, PROGRAM, "--seconds", "1"], text=True, capture_output=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'1' is not a whole number from 200", refused.stderr)

    def test_repeats_itself(self):
        job = self.compare("--sync", "bsp,asp", "--lr", 0.02, "--quiet")
        first = self.run_program(*job, "--plot", self.folder / "sync.svg")
        self.assertEqual(first.stdout, self.run_program(*job).stdout)
        self.assertIn("gain: how many times faster than bsp", first.stdout)
        self.assertIn("<polyline", (self.folder / "sync.svg").read_text())

    def test_takes_several_clusters_and_a_rate_that_diverges(self):
        files = []
        for name, speeds in (("even", (100, 100)), ("uneven", (100, 25))):
            workers = "".join(f'[[worker]]\nname = "w"\nsamples_per_second = {speed}\n' for speed in speeds)
            path = self.folder / f"{name}.toml"
            path.write_text(f'name = "{name}"\n{workers}')
            files += ["--cluster", path]
        trials = self.run_json("compare", "--data", self.data, *files, "--model", "mlp:16", "--sync",
                               "bsp,ssp:0", "--epochs", 1, "--seeds", 1, "--rates", "1e30,0.02")
        self.assertEqual([trial["cluster"] for trial in trials], ["even", "even", "uneven", "uneven"])
        self.assertEqual({trial["rate"] for trial in trials}, {0.02})

    def test_leaves_out_a_default_mode_that_the_optimizer_does_not_go_with(self):
        done = self.run_program("compare", "--data", self.data, "--optimizer", "adam", "--lr", 0.01, "--steps", 4,
                                "--seeds", 1, "--json")
        self.assertEqual([trial["sync"] for trial in json.loads(done.stdout)], ["bsp", "local:4", "ssp:3", "asp"])
        self.assertIn("leaving dana out", done.stderr)
        unknown = self.run_program("compare", "--data", self.data, "--optimizer", "foo", expect=2)
        self.assertNotIn("leaving", unknown.stderr)

    def test_treats_old_gradients_in_the_modes_that_have_them(self):
        job = ("compare", "--data", self.data, "--model", "softmax", "--worker-speeds", "1,1,0.25", "--steps", 60,
               "--seeds", 1)

        def losses(*arguments):
            return {trial["sync"]: trial["final_loss"] for trial in self.run_json(*job, *arguments)}

        plain, gap = losses(), losses("--staleness", "gap")
        self.assertEqual([mode for mode in plain if plain[mode] == gap[mode]], ["bsp", "local:4", "dana"])
        shown = self.run_json(*job, "--sync", "bsp,asp", "--staleness", "gap")
        self.assertEqual([trial["staleness"] for trial in shown], ["none", "gap"])
        self.assertIn("--staleness gap: ssp:3, asp\n", self.run_program(*job, "--staleness", "gap").stdout)
        for wrong, words in ((("bsp,local:4", "gap"), "gradients are never old"),
                             (("dana", "rate"), "the momenta look ahead instead"),
                             (("bsp,asp", "foo"), "--staleness 'foo' is not known")):
            with self.subTest(wrong=wrong):
                refused = self.run_program(*job, "--sync", wrong[0], "--staleness", wrong[1], expect=2)
                self.assertIn(words, refused.stderr)
                self.assertNotIn("or leave", refused.stderr)

    def test_checks_every_mode_and_cluster_before_the_first_run(self):
        cluster = self.folder / "pair.toml"
        cluster.write_text('[[worker]]\nname = "w"\nsamples_per_second = 100\ncount = 2\n')
        broken = self.folder / "broken.toml"
        broken.write_text("workers = [")
        endless = ("compare", "--data", self.data, "--steps", 10**9, "--cluster", cluster)
        for wrong, words, code in ((("--sync", "bsp,dana", "--optimizer", "adam"), "leave dana out of --sync", 2),
                                   (("--sync", "bsp,backup:2"), "leave backup:2 out of --sync", 2),
                                   (("--cluster", broken), "broken.toml", 1),
                                   (("--cluster", self.folder / "absent.toml"), "absent.toml", 3)):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*endless, *wrong, expect=code).stderr)

    def test_refuses_clusters_of_one_name(self):
        files = [self.folder / "first.toml", self.folder / "second.toml"]
        for path in files:
            path.write_text('name = "lab"\n[[worker]]\nname = "w"\nsamples_per_second = 100\ncount = 2\n')
        for pair in (files, files[:1] * 2):
            with self.subTest(pair=pair):
                refused = self.run_program("compare", "--data", self.data, "--cluster", pair[0], "--cluster", pair[1],
                                           expect=2)
                self.assertIn(f"--cluster {pair[0]} and --cluster {pair[1]}: both are named lab. Leave one out",
                              refused.stderr)

    def test_a_run_that_diverges_reaches_nothing(self):
        job = ("compare", "--data", self.data, "--steps", 30, "--seeds", 2, "--rates", 1e30)
        for task, model, target in (("classify", "mlp:16", "--target-accuracy"),
                                    ("regress", "linear", "--target-loss")):
            kind = ("--task", task, "--model", model)
            with self.subTest(task=task):
                refused = self.run_program(*job, "--sync", "bsp,asp", *kind, expect=2)
                self.assertIn(f"smaller --rates, or give a {target}", refused.stderr)
                for trial in self.run_json(*job, "--sync", "bsp,asp", *kind, target, 0.5):
                    self.assertEqual(trial["seeds_that_reach_it"], 0)
                    self.assertIsNone(trial["final_loss"])
                    self.assertEqual(trial["final_accuracy"], 0 if task == "classify" else None)

    def test_refuses_what_cannot_be(self):
        for wrong, words in ((("--sync", "bsp,ssq:1"), "ssp:S"),
                             (("--sync", "bsp,bsp"), "bsp is given twice"),
                             (("--sync", "foo"), "motley: --sync foo: use one of"),
                             (("--sync", "bsp,"), "--sync 'bsp,': a mode is missing"),
                             (("--rates", "0.1,none"), "'none' is not a learning rate"),
                             (("--rates", "0.1,inf"), "--rates 0.1,inf: 'inf' is not"),
                             (("--rates", "0.1,0.10"), "--rates 0.1,0.10: 0.10 is given twice"),
                             (("--rates", "1e300"), "--rates 1e300: '1e300' is not"),
                             (("--lr", "inf"), "motley: --lr inf"),
                             (("--model", "mlp:x"), "motley: mlp:x"),
                             (("--sync", "backup:2", "--workers", 2), "motley: --sync backup:2: of 2 workers"),
                             (("--plot", self.folder / "a.png"), "a.svg"),
                             (("--target-loss", "inf"), "a finite loss above 0"),
                             (("--target-loss", "nan"), "a finite loss above 0"),
                             (("--target-accuracy", 1.5), "fraction between 0 and 1")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program("compare", "--data", self.data, *wrong, expect=2).stderr)
        absent = self.run_program("compare", "--data", self.data, "--cluster", self.folder / "absent.toml", expect=3)
        self.assertIn("absent.toml", absent.stderr)


if __name__ == "__main__":
    unittest.main()
