#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose user gives few learning options: the choices, the end, the model and the messages."""

import json
import random
import signal
import unittest
import xml.dom.minidom

from tools.program import ProgramTest, Running, wait_until, write_samples


def write_line(path, rows=300, seed=3):
    """Writes samples with a real label: a line in two features, with noise."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        for _ in range(rows):
            x, y = draw.gauss(0, 1), draw.gauss(0, 1)
            file.write(f"{x:.4f},{y:.4f},{2 * x - y + draw.gauss(0, 0.3):.4f}\n")


def write_rare(path, seed=5):
    """Writes 600 samples. 60 are "yes", and as many others look like them."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write("x,y,answer\n")
        for row in range(600):
            yes = row % 10 == 0
            x, y = draw.gauss(1 if yes else 0, 1), draw.gauss(1 if yes else 0, 1)
            file.write(f"{x:.4f},{y:.4f},{'yes' if yes else 'no'}\n")


class Learning(ProgramTest):
    def exactly(self, *arguments):
        """Options of a job that forms sums in the same order each time."""
        return self.run_json("train", "--workers", 2, "--code", "none", "--shares", "equal", "-q",
                             *arguments)

    def test_a_job_that_is_told_nothing_learns_and_ends(self):
        done = self.run_program("train", "--data", self.data, "--json")
        self.assertIn("learns by adam at rate", done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["test_accuracy"], 0.95)
        self.assertIn("stopped_early", report)
        self.assertEqual(report["judging"]["samples"], 0)
        self.assertEqual(report["learning"]["optimizer"], "adam")

    def test_a_network_is_judged_on_samples_that_are_held_out(self):
        data = self.folder / "many.csv"
        write_samples(data, rows=1500)
        report = self.exactly("--data", data, "--model", "mlp:32")
        self.assertEqual(report["judging"]["samples"], 120)
        self.assertTrue(report["judging"]["kept_best"])
        self.assertLess(report["judging"]["best_step"], report["steps"])
        self.assertGreater(report["test_accuracy"], 0.95)

    def test_epochs_that_are_given_are_done_exactly(self):
        report = self.exactly("--data", self.data, "--epochs", 3, "--batch", 100)
        self.assertEqual((report["epochs"], report["steps"]), (3, 15))
        self.assertNotIn("stopped_early", report)
        self.assertNotIn("judging", report)

    def test_train_and_predict_agree(self):
        for name, model, scores in (("line", "linear", {"r2", "rmse", "mae"}),
                                    ("clouds", "softmax", {"accuracy", "f1", "log_loss"})):
            data, test, saved = (self.folder / f"{name}.{end}" for end in ("csv", "test.csv", "st"))
            write = write_line if model == "linear" else write_samples
            write(data)
            write(test, seed=9) if model == "linear" else write(test)
            trained = self.exactly("--data", f"{data}:test={test}", "--model", model, "--out", saved)
            said = self.run_json("predict", "--model", saved, "--data", test)
            self.assertEqual(said.keys() - {"count", "loss", "confusion"}, scores)
            for key in scores | {"loss"}:
                self.assertAlmostEqual(trained["test"][key], said[key], 6, key)
            self.assertEqual(trained["test_loss"], trained["test"]["loss"])
            text = self.run_program("predict", "--model", saved, "--data", test).stdout
            self.assertIn("R2 0.9" if model == "linear" else "accuracy ", text)
            self.assertEqual(model == "softmax", "rows" in text)

    def test_a_job_that_ends_by_itself_is_resumed_to_the_same_end(self):
        data = self.folder / "several.csv"
        write_samples(data, rows=1500)
        how = ("--data", data, "--model", "mlp:16", "--lr", "0.01", "--clip", "0.5")
        whole = self.exactly(*how)
        folder = self.folder / "state"
        part = self.exactly(*how, "--checkpoint", folder, "--checkpoint-every", 37)
        self.assertEqual(part["judging"], {**whole["judging"],
                                           "waited_seconds": part["judging"]["waited_seconds"]})
        shown = json.loads(self.run_program("checkpoint", "list", folder, "--json").stdout)
        steps = [each["step"] for each in shown]
        self.assertGreater(len(steps), 1)
        again = self.exactly("--data", data, "--resume", folder, "--resume-step", steps[-1])
        self.assertEqual(again["resumed_from"], steps[-1])
        self.assertEqual(again["judging"]["best_step"], whole["judging"]["best_step"])
        self.assertEqual(again["steps"], whole["steps"])
        self.assertEqual(again["test"], whole["test"])

    def stopped(self, *arguments):
        job = Running(self, "train", "--data", self.data, "--steps", 10**7, "--workers", 2, *arguments)
        wait_until(lambda: job.step() > 0 or job.process.poll() is not None, "a step")
        job.send(signal.SIGINT)
        code, out = job.finish()
        self.assertEqual(code, 130, job.text())
        return out

    def test_a_job_that_is_stopped_has_scores_or_says_why_not(self):
        quick = self.stopped()
        self.assertRegex(quick, r"(?m)^test: accuracy [\d.]+ %, F1 ")
        self.assertNotIn("final loss", quick)
        slow = self.stopped("--split", "0.1", "--model", "mlp:1400,1400", "--batch", 8)
        self.assertRegex(slow, r"(?m)^test: no scores, because the job was stopped, and 540 test samples")
        self.assertNotIn("accuracy", slow)
        report = json.loads(self.stopped("--json"))
        self.assertGreater(report["test"]["accuracy"], 0)
        self.assertNotIn("not_tested", report)

    def test_a_curve_that_is_no_svg_is_refused_before_training(self):
        done = self.run_program("train", "--data", self.data, "--steps", 5, "--curve",
                                self.folder / "curve.png", expect=2)
        self.assertIn("written as SVG", done.stderr)
        self.assertNotIn("step", done.stderr)

    def test_the_log_and_the_curve_show_what_happened(self):
        log, curve = self.folder / "run.jsonl", self.folder / "run.svg"
        report = self.exactly("--data", self.data, "--steps", 40, "--evaluate-every", 10, "--batch",
                              48, "--schedule", "cosine:warmup=4", "--lr", "0.05", "--log", log,
                              "--curve", curve)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        steps = [line for line in lines if line["kind"] == "step"]
        judged = [line for line in lines if line["kind"] == "judged"]
        self.assertEqual([line["step"] for line in steps], list(range(1, 41)))
        self.assertEqual([line["step"] for line in judged], [10, 20, 30, 40])
        self.assertEqual(judged[0]["validation"]["count"], 48)
        self.assertAlmostEqual(steps[0]["rate"], 0.05 / 5)
        self.assertAlmostEqual(steps[4]["rate"], 0.05)
        self.assertLess(steps[-1]["rate"], 0.001)
        self.assertEqual(steps[-1]["workers"], 2)
        self.assertAlmostEqual(judged[0]["loss"], sum(line["loss"] for line in steps[:10]) / 10)
        self.assertEqual(report["judging"]["evaluations"], 4)
        xml.dom.minidom.parse(str(curve))
        self.assertIn("validation loss", curve.read_text())

    def test_rates_follow_the_samples_of_updates(self):
        log = self.folder / "scaled.jsonl"

        def rates(schedule, *arguments):
            self.run_json("train", "--data", self.data, "--steps", 40, "--batch", 50, "--lr", 0.08,
                          "--optimizer", "sgd", "--schedule", schedule, "--log", log, *arguments)
            return [each["rate"] for each in map(json.loads, log.read_text().splitlines()) if each["kind"] == "step"]

        last = len(self.data.read_text().splitlines()) * 8 // 10 % 50  # Samples of the last batch of an epoch.
        self.assertGreater(last, 0)
        scaled = rates("constant:linear=200")
        self.assertEqual({round(rate, 9) for rate in scaled}, {0.02, round(0.08 * last / 200, 9)})
        rooted = rates("constant:warmup=3,sqrt=200")
        for rate, wanted in zip(rooted, (0.01, 0.02, 0.03, 0.04)):
            self.assertAlmostEqual(rate, wanted)
        # The last worker is late, and three steps of four end without its quarter of the samples.
        partial = rates("constant:linear=50", "--worker-speeds", "1,1,1,0.2", "--sample-time", "1ms",
                        "--shares", "equal", "--sync", "backup:1")
        self.assertLessEqual(max(partial), 0.08 + 1e-9)
        self.assertLess(min(partial), 0.07)

    def test_classes_weigh_what_they_are_given(self):
        data = self.folder / "rare.csv"
        write_rare(data)
        how = ("--data", data, "--epochs", 20, "--audit", 1)
        plain = self.exactly(*how)
        done = self.run_program("train", *how, "--workers", 3, "--class-weights", "balanced",
                                "--json")
        balanced = json.loads(done.stdout)
        self.assertIn("class weights: no 0.5", done.stderr)
        self.assertNotIn("class_weights", plain["learning"])
        weights = balanced["learning"]["class_weights"]
        self.assertAlmostEqual(1 / weights[0] + 1 / weights[1], 2, 5)  # n / (k m), summed up.
        self.assertEqual(balanced["audit"]["warnings"], [])
        self.assertEqual(balanced["audit"]["failures"], 0)
        found = [sum(report["test"]["confusion"]["matrix"][1][1:]) for report in (plain, balanced)]
        self.assertGreater(found[1], found[0], "more of the rare class are found")
        # Names and numbers give the same result.
        said = ",".join(f"{name}={weight!r}" for name, weight in zip(("no", "yes"), weights))
        for written in (said, f"1={weights[1]!r},0={weights[0]!r}"):
            named = self.exactly(*how, "--class-weights", written)
            self.assertEqual(named["learning"]["class_weights"], weights)
            self.assertAlmostEqual(named["final_loss"], balanced["final_loss"], 4)
        self.resume_with_weights(data, weights)

    def resume_with_weights(self, data, weights):
        folder = self.folder / "weighted"
        how = ("--data", data, "--class-weights", "balanced", "--batch", 50)
        whole = self.exactly(*how, "--steps", 40)
        self.exactly(*how, "--steps", 20, "--checkpoint", folder)
        for again in ((), ("--class-weights", "balanced")):
            rest = self.exactly("--data", data, "--resume", folder, "--steps", 40, *again)
            self.assertEqual(rest["learning"]["class_weights"], weights)
            self.assertEqual(rest["test"], whole["test"])
        refused = self.run_program("train", "--data", data, "--resume", folder, "--steps", 40,
                                   "--class-weights", "yes=2", expect=6).stderr
        self.assertIn("class weights", refused)
        self.assertIn("start a new job", refused)

    def test_weighted_classes_accuse_nobody_but_a_liar(self):
        data = self.folder / "rare.csv"
        write_rare(data)
        for code in ("none", "adaptive", "heterogeneous"):
            with self.subTest(code):
                done = self.run_program(
                    "train", "--data", data, "--class-weights", "balanced", "--audit", 1,
                    "--workers", 3, "--code", code, "--shares", "equal", "--batch", 96, "--steps",
                    60, "--fault", "lie:1@step=5,-0.5x", "--json", expect=1)
                report = json.loads(done.stdout)
                named = {w["worker"] for w in report["audit"]["warnings"] if "worker" in w}
                self.assertEqual(named, {1}, done.stderr)
                self.assertEqual([w["lost"] for w in report["workers"]], [False, True, False])

    def test_approximate_steps_weigh_classes_too(self):
        data = self.folder / "rare.csv"
        write_rare(data)
        how = ("--data", data, "--class-weights", "balanced", "--steps", 60, "--batch", 120, "--lr",
               "0.05", "--workers", 3, "--shares", "equal", "-q")
        exact = self.run_json("train", *how, "--code", "none")
        job = (*how, "--code", "approximate", "--tolerate", 0, "--audit", 1)
        whole = self.run_json("train", *job, "--quorum", 3)
        self.assertAlmostEqual(whole["final_loss"], exact["final_loss"], 4)
        rough = self.run_json("train", *job, "--quorum", 2)
        weights = [report["learning"]["class_weights"] for report in (rough, exact)]
        self.assertEqual(weights[0], weights[1])
        self.assertLess(abs(rough["final_loss"] / exact["final_loss"] - 1), 0.3)
        for report in (whole, rough):
            self.assertEqual(report["audit"]["warnings"], [])

    def test_every_model_begins_with_its_own_parameters(self):
        two, line = self.folder / "two.csv", self.folder / "line.csv"
        write_samples(two, rows=300, features=16, classes=2)
        write_line(line)
        still = ("--steps", 1, "--optimizer", "sgd", "--lr", "1e-20", "--l2", 0)
        for data, model in ((two, "softmax"), (two, "logistic"), (two, "hinge"), (two, "mlp:8,norm,6"),
                            (two, "cnn@4x4x1:3/8"), (two, "factorization:4"), (line, "linear"), (line, "mlp:8")):
            with self.subTest(model):
                saved, again = self.folder / "saved.st", self.folder / "again.st"
                self.exactly("--data", data, "--model", model, "--epochs", 3, "--out", saved)
                self.exactly("--data", data, "--init", saved, *still, "--out", again)
                first, second = (self.run_json("predict", "--model", file, "--data", data) for file in (saved, again))
                self.assertAlmostEqual(first["loss"], second["loss"], 6)

    def test_dropout_is_the_same_wherever_it_is_computed(self):
        plainly = ("--data", self.data, "--model", "mlp:24,12", "--batch", 60, "--lr", "0.01")
        how = (*plainly, "--dropout", "0.3", "--audit", 1)
        whole = self.exactly(*how, "--steps", 40)
        self.assertEqual(whole["learning"]["dropout"], 0.3)
        self.assertGreater(whole["test_accuracy"], 0.8)
        for code, workers in (("none", 1), ("heterogeneous", 3), ("rs", 4), ("adaptive", 3),
                              ("multi-message", 3), ("short", 3)):
            report = self.run_json("train", *how, "--steps", 40, "--workers", workers, "--code",
                                   code, "-q")
            self.assertAlmostEqual(report["final_loss"], whole["final_loss"], 4, code)
            self.assertEqual(report["audit"]["warnings"], [], code)
        plain = self.exactly(*plainly, "--steps", 40)
        self.assertNotAlmostEqual(plain["final_loss"], whole["final_loss"], 3)
        self.assertNotIn("dropout", plain["learning"])
        none = self.exactly(*plainly, "--dropout", 0, "--steps", 40)
        self.assertEqual(none["test"], plain["test"])
        folder = self.folder / "dropped"
        self.exactly(*how, "--steps", 20, "--checkpoint", folder)
        rest = self.exactly("--data", self.data, "--resume", folder, "--steps", 40)
        self.assertEqual((rest["learning"]["dropout"], rest["test"]), (0.3, whole["test"]))
        for other in (0.5, 0):
            refused = self.run_program("train", "--data", self.data, "--resume", folder, "--steps",
                                       40, "--dropout", other, expect=6).stderr
            self.assertIn(f"--dropout {other}: the job of the checkpoint has 0.3", refused)

    def test_class_weights_that_make_no_sense_are_refused(self):
        line = self.folder / "line.csv"
        write_line(line)
        for data, weights, words in ((self.data, "heavy", "like setosa=2"),
                                     (self.data, "1=-2", "a number from 0"),
                                     (self.data, "1=2,1=3", "twice"),
                                     (self.data, "7=2", "not one of the 4 classes, 0, 1, 2, 3"),
                                     (self.data, "0=0,1=0,2=0,3=0", "nothing would be learned"),
                                     (line, "balanced", "real numbers")):
            said = self.run_program("train", "--data", data, "--class-weights", weights, expect=2)
            self.assertIn("--class-weights", said.stderr)
            self.assertIn(words, said.stderr)

    def test_what_makes_no_sense_is_refused(self):
        for words, arguments in (("Did you mean 'cosine'", ["--schedule", "cosin"]),
                                 ("--evaluate-every", ["--evaluate-every", "often"]),
                                 ("--validation", ["--validation", "1"]),
                                 ("--weight-decay", ["--weight-decay", "0.1", "--optimizer", "adam"]),
                                 ("--clip", ["--clip", "-1"]),
                                 ("--dropout", ["--dropout", "1"]),
                                 ("hidden layers", ["--dropout", "0.5"]),
                                 ("--patience", ["--patience", "x"])):
            said = self.run_program("train", "--data", self.data, *arguments, expect=2).stderr
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
