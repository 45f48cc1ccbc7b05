#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose workers hold the vector (--reduce direct, or auto over thin links)."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from tools.lab import Lab
from tools.program import ProgramTest, Running, wait_until

UNITS = {"MiB": 2**20, "GiB": 2**30}
# Parts of the prediction by which a process may be off, and what it may take for samples.
EXACT, SAMPLES = 0.1, 4 * 2**20


def own_bytes(pid):
    """The memory of a process now, without what it shares with others for messages; 0 if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    kinds = re.findall(r"^(?:RssAnon|RssFile|VmSwap):\s+(\d+) kB", status, re.M)
    return sum(int(kib) * 1024 for kib in kinds)


def available_bytes():
    """Memory and swap."""
    found = re.findall(r"^(?:MemAvailable|SwapFree):\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)
    return sum(int(kib) * 1024 for kib in found)


class Direct(ProgramTest):
    def train(self, *arguments, steps=300):
        return self.run_json("train", "--data", self.data, "--model", "mlp:32", "--workers", 4, "--batch", 64,
                             "--steps", steps, "--split", 0.9, "--optimizer", "adam", "--lr", 0.003, *arguments)

    def expect_same(self, report, reference):
        self.assertEqual(report["steps"], 300)
        loss = reference["last_epoch_loss"]
        self.assertAlmostEqual(report["last_epoch_loss"], loss, delta=1e-4 * loss)

    def test_gives_what_the_server_gives(self):
        reference = self.train("--code", "none")
        for code in ("none", "repetition", "cyclic", "adaptive", "auto"):
            with self.subTest(code=code):
                self.expect_same(self.train("--code", code, "--reduce", "direct"), reference)

    def test_loses_nothing_with_owners_that_die_or_stand_still(self):
        reference = self.train("--code", "none")
        for followers, faults in ((1, ["kill:2@step=20"]), (1, ["pause:1@step=20,2s"]),
                                  (2, ["kill:0@step=20", "kill:3@step=60", "pause:1@step=120,1s"]),
                                  (3, ["kill:0@step=20", "kill:1@step=20", "kill:3@step=20"])):
            with self.subTest(followers=followers, faults=faults):
                flags = [word for fault in faults for word in ("--fault", fault)]
                report = self.train("--reduce", "direct", "--followers", followers, *flags)
                self.expect_same(report, reference)

    def test_without_followers_a_lost_owner_ends_the_job(self):
        self.expect_same(self.train("--reduce", "direct", "--followers", 0), self.train("--code", "none"))
        done = self.run_program("train", "--data", self.data, "--model", "mlp:32", "--workers", 4, "--steps", 300,
                                "--reduce", "direct", "--followers", 0, "--fault", "kill:2@step=20", expect=4)
        self.assertIn("--followers", done.stderr)

    def test_goes_on_from_checkpoints_that_come_beside_steps(self):
        """Owners die and stand still while they send some of them."""
        reference = self.train("--code", "none")
        saved = self.folder / "beside"
        report = self.train("--reduce", "direct", "--checkpoint", saved, "--checkpoint-every", 2, "--fault",
                            "kill:2@step=21", "--fault", "pause:1@step=60,2s", steps=151)
        self.assertEqual(report["checkpoint"]["step"], 151)
        self.run_program("checkpoint", "verify", saved)
        steps = [one["step"] for one in self.run_json("checkpoint", "list", saved)]
        self.assertIn(151, steps)
        for step in steps:
            with self.subTest(step=step):
                self.expect_same(self.train("--code", "none", "--resume", saved, "--resume-step", step), reference)

    def test_checks_what_the_workers_send_each_other(self):
        report = self.train("--reduce", "direct", "--audit", 1)
        self.assertEqual(report["audit"]["steps"], 300)
        self.assertEqual(report["audit"]["warnings"], [])
        self.assertLess(report["max_decode_error"], 1e-4)
        done = self.run_program("train", "--data", self.data, "--workers", 4, "--batch", 64, "--steps", 120,
                                "--reduce", "direct", "--code", "none", "--shares", "equal", "--audit", 1,
                                "--fault", "lie:1@step=5,-0.5x", "--json", expect=1)
        report = json.loads(done.stdout)
        self.assertEqual(report["steps"], 120)
        named = [w for w in report["audit"]["warnings"] if "worker" in w]
        self.assertEqual({w["worker"] for w in named}, {1}, done.stderr)
        self.assertTrue(named[0]["sent_away"], done.stderr)

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data)
        for wrong, words in ((("--workers", 4, "--reduce", "rung"), "auto, star, sharded:S or direct"),
                             (("--workers", 4, "--reduce", "ring"), "waits for every worker"),
                             (("--workers", 4, "--reduce", "mpi"), "mpirun -n 4 motley-sum --reduce mpi"),
                             (("--workers", 1, "--reduce", "direct"), "nobody to share with"),
                             (("--workers", 4, "--reduce", "star", "--followers", 1), "or use --reduce direct"),
                             (("--workers", 4, "--reduce", "direct", "--followers", 4), "--followers")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.run_program(*train, *wrong, expect=2).stderr)


class ShardServers(ProgramTest):
    """The same with motley server --shard, in processes of their own."""

    MODEL = ("--model", "mlp:32", "--batch", 64, "--split", 0.9, "--optimizer", "adam", "--lr", 0.003,
             "--code", "none", "--workers", 3)

    def start(self, *flags, steps):
        """Starts the server of a job and its workers. Returns it and its address."""
        job = Running(self, "train", "--data", self.data, *self.MODEL, "--steps", steps, "--remote",
                      "--min-workers", 3, "--no-local-worker", "--listen", "127.0.0.1:0", "--json", *flags)
        address = job.wait_for(r"motley worker --server (\S+)")[1]
        workers = [Running(self, "worker", "--server", address, "--name", f"w{i}", "--threads", 1)
                   for i in range(3)]
        return job, address, workers

    def shard_server(self, address, name, **how):
        return Running(self, "server", "--shard", "--server", address, "--name", name, **how)

    def finish(self, job, steps, others):
        code, out = job.finish()
        self.assertEqual(code, 0, job.text())
        report = json.loads(out)
        self.assertEqual(report["steps"], steps)
        self.assertEqual(report["discarded_steps"], 0)
        for other in others:
            self.assertEqual(other.finish()[0], 0, other.text())
            self.assertTrue(other.said("the job is done"), other.text())
        return report

    def test_a_job_waits_for_them_and_outlives_one(self):
        steps = 3000
        reference = self.run_json("train", "--data", self.data, *self.MODEL, "--steps", steps)
        job, address, workers = self.start("--reduce", "sharded:2", steps=steps)
        job.wait_for(rf"^  motley server --shard --server {address}")
        job.wait_for("0 of 2 shard servers joined; waiting")
        first = self.shard_server(address, "first")
        job.wait_for("1 of 2 shard servers joined; waiting")
        self.assertEqual(job.step(), 0)
        second = self.shard_server(address, "second")
        first.wait_for(r"joined the job at \S+ as shard server 0 \(first\): mlp:32")
        wait_until(lambda: job.step() >= 100 or job.process.poll() is not None, "step 100")
        first.send(signal.SIGKILL)
        job.wait_for(r"shard server 0 \(first\) lost")
        job.wait_for(r"part.? of the vector, which shard server 0 \(first\) held, (is|are) now held by "
                     r"shard server 1 \(second\)")
        report = self.finish(job, steps, [second, *workers])
        loss = reference["last_epoch_loss"]
        self.assertAlmostEqual(report["last_epoch_loss"], loss, delta=1e-4 * loss)

    def test_one_that_joins_a_direct_job_leaves_in_good_order(self):
        job, address, workers = self.start("--reduce", "direct", steps=100000)
        server = self.shard_server(address, "spare")
        job.wait_for(r"shard server 0 \(spare\) joined from")
        wait_until(lambda: job.step() >= 10 or job.process.poll() is not None, "step 10")
        server.send(signal.SIGTERM)
        self.assertEqual(server.finish()[0], 0, server.text())
        job.wait_for(r"shard server 0 \(spare\) left")
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130, job.text())
        for worker in workers:
            self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_job_without_places_refuses_them(self):
        job, address, _ = self.start("--reduce", "star", steps=100000)
        refused = self.shard_server(address, "unwanted")
        code, _ = refused.finish()
        self.assertEqual(code, 4, refused.text())
        self.assertIn("takes no shard servers: start it with --reduce sharded:S", refused.text())
        wrong = self.shard_server(address, "wrong", token="this is no token at all")
        self.assertNotEqual(wrong.finish()[0], 0)
        self.assertIn("token", wrong.text())
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130, job.text())

    def test_refuses_what_cannot_be(self):
        train = ("train", "--data", self.data)
        served = (*train, "--remote", "--listen", "127.0.0.1:0")
        for wrong, words in (((*train, "--reduce", "sharded:2"), "motley train --remote"),
                             ((*served, "--reduce", "sharded:0"), "1 to 64, like sharded:4"),
                             ((*served, "--reduce", "sharded:65"), "1 to 64, like sharded:4"),
                             (("server", "--server", "127.0.0.1:1"), "--shard"),
                             (("server", "--shard"), "--server"),
                             (("server", "--shard", "--server", "127.0.0.1:1"), "MOTLEY_TOKEN")):
            with self.subTest(wrong=wrong):
                done = Running(self, *wrong, token=None)
                self.assertEqual(done.finish()[0], 2, done.text())
                self.assertIn(words, done.text())


class NewOwners(ProgramTest):
    """Workers that were late, or that join a running job, hold parts of the vector again."""

    def start(self, workers, optimizer):
        model = ("--model", "mlp:32", "--batch", 64, "--optimizer", optimizer, "--lr", 0.003, "--code", "none",
                 "--workers", workers)
        job = Running(self, "train", "--data", self.data, *model, "--steps", 1000000, "--remote", "--min-workers",
                      workers, "--no-local-worker", "--listen", "127.0.0.1:0", "--reduce", "direct", "--log",
                      self.folder / "job.jsonl")
        address = job.wait_for(r"motley worker --server (\S+)")[1]
        others = [self.worker(address, f"w{i}") for i in range(workers)]
        wait_until(lambda: job.step() >= 20 or job.process.poll() is not None, "step 20")
        return model, job, address, others

    def worker(self, address, name):
        return Running(self, "worker", "--server", address, "--name", name, "--threads", 1)

    def losses(self, log):
        """The losses by step. A long job logs one in many."""
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return {line["step"]: line["loss"] for line in lines if line["kind"] == "step"}

    def expect_serial(self, model, job):
        """Stops the job. Its losses must be those of the same steps on the server alone."""
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130, job.text())
        found = self.losses(self.folder / "job.jsonl")
        log = self.folder / "reference.jsonl"
        self.run_json("train", "--data", self.data, *model, "--steps", max(found), "--log", log)
        right = self.losses(log)
        both = sorted(right.keys() & found.keys())
        self.assertGreater(len(both), 5)
        for step in both:
            self.assertAlmostEqual(found[step], right[step], delta=1e-3 * right[step] + 1e-5, msg=f"step {step}")

    def test_a_worker_that_joins_owns_what_the_lost_one_did(self):
        for workers, optimizer in ((2, "sgd"), (3, "adam")):
            with self.subTest(workers=workers, optimizer=optimizer):
                model, job, address, others = self.start(workers, optimizer)
                others[1].send(signal.SIGKILL)
                job.wait_for(r"1 part of the vector, which worker \d \(w1\) held, is now held by worker")
                self.worker(address, "w9")
                job.wait_for(r"worker \d \(w9\) got 1 part of the vector")
                self.expect_serial(model, job)

    def test_a_worker_that_stood_still_owns_its_part_again(self):
        for workers, optimizer in ((2, "sgd"), (3, "adam")):
            with self.subTest(workers=workers, optimizer=optimizer):
                model, job, _, others = self.start(workers, optimizer)
                others[1].send(signal.SIGSTOP)
                job.wait_for(r"1 part of the vector, which worker \d \(w1\) held, is now held by worker")
                others[1].send(signal.SIGCONT)
                job.wait_for(r"worker \d \(w1\) got 1 part of the vector")
                self.expect_serial(model, job)


class ThinLinks(ProgramTest):
    """The same on machines of their own, behind links of 100 Mbit/s."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = None
        try:
            cls.lab = Lab(4, "10.79.0.1", [100] * 4)
        except (OSError, subprocess.CalledProcessError) as error:
            cls.why = f"network namespaces cannot be made here, which needs root ({error})"
        cls.addClassCleanup(lambda: cls.lab and cls.lab.close())

    def train(self, model, *flags, workers=(1, 2, 3), shard_servers=(), steps=5, code=("none",)):
        """Trains on machines 1 to 3, with the server on machine 0. Returns all that the server printed."""
        if self.lab is None:
            self.skipTest(self.why)
        address = f"{self.lab.addresses[0]}:7440"
        server = Running(self, "train", "--data", self.data, "--model", model, "--batch", 32, "--steps",
                         steps, "--code", *code, "--workers", len(workers), "--remote", "--no-local-worker",
                         "--listen", address, *flags, inside=self.lab.on(0))
        server.wait_for("started with")
        others = [Running(self, "server", "--shard", "--server", address, "--name", f"s{i}", inside=self.lab.on(i))
                  for i in shard_servers]
        server.wait_for(r"^shard server \d \(s\d\) joined from", times=len(others))
        others += [Running(self, "worker", "--server", address, "--name", f"w{i}", inside=self.lab.on(i))
                   for i in workers]
        code, out = server.finish()
        self.assertEqual(code, 0, server.text())
        for other in others:
            other.wait_for("the job is done")
        return out + server.text()

    @staticmethod
    def loss(text):
        return float(re.search(r"(?:last epoch's|final) loss ([\d.]+)", text)[1])

    def test_auto_lets_the_workers_sum_a_long_vector(self):
        star = self.train("mlp:512,512", "--reduce", "star")
        auto = self.train("mlp:512,512", "--reduce", "auto")
        self.assertNotIn("the workers sum", star)
        self.assertRegex(auto, r"the workers sum the vector of \d.* and the server alone would need")
        self.assertAlmostEqual(self.loss(auto), self.loss(star), delta=1e-4 * self.loss(star))

    def test_shard_servers_sum_a_long_vector(self):
        star = self.train("mlp:512,512", "--reduce", "star", workers=(1, 2))
        # One of them is on the machine of the job's server.
        sharded = self.train("mlp:512,512", "--reduce", "sharded:2", workers=(1, 2), shard_servers=(0, 3))
        self.assertRegex(sharded, r"the shard servers sum the vector of .*\(shard server 0 \(s\d\) \d+ %, "
                                  r"shard server 1 \(s\d\) \d+ %\)")
        self.assertAlmostEqual(self.loss(sharded), self.loss(star), delta=1e-4 * self.loss(star))
        spare = self.train("mlp:512,512", "--reduce", "direct", shard_servers=(0,))
        self.assertRegex(spare, r"the workers( and shard servers)? sum the vector of .*shard server 0 \(s0\) \d+ %")
        self.assertAlmostEqual(self.loss(spare), self.loss(star), delta=1e-4 * self.loss(star))

    def test_answers_that_a_code_does_not_need_are_held(self):
        plain = self.train("mlp:512,512", "--reduce", "star", steps=14)
        self.assertNotIn("are held", plain)
        for _ in range(4):  # On a busy machine all measurements of a link may be disturbed.
            coded = self.train("mlp:512,512", "--reduce", "star", steps=14, code=("cyclic", "--tolerate", 1))
            if "are held" in coded:
                break
        self.assertRegex(coded, r"an answer takes the server's link for \d+ ms: the first 2 of 3 that decode are sent, "
                                r"and the others are held")
        self.assertAlmostEqual(self.loss(coded), self.loss(plain), delta=1e-4 * self.loss(plain))

    def test_auto_leaves_a_short_vector_at_the_server(self):
        self.assertNotIn("the workers sum", self.train("mlp:16", "--reduce", "auto"))


class Memory(ProgramTest):
    """The memory that each process of a job takes, beside what the job prints before it starts."""

    WORKERS = 4
    EACH = False  # Each worker is held to its prediction, and not their mean alone.

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
        # In a short job, one that was late takes less than the others, or others own its parts.
        for peak in peaks[1:] if self.EACH else [sum(peaks[1:]) / self.WORKERS]:
            self.assertAlmostEqual(peak, worker, delta=EXACT * worker + SAMPLES)

    def test_is_what_a_job_with_the_vector_at_the_workers_predicts(self):
        for optimizer in ("sgd", "adam"):
            with self.subTest(optimizer=optimizer):
                self.check("mlp:4400,4400", "--reduce", "direct", "--optimizer", optimizer, "--lr", 0.001, "--steps", 6)

    def test_of_a_checkpoint_is_predicted(self):
        self.check("mlp:4400,4400", "--reduce", "direct", "--optimizer", "momentum", "--lr", 0.001, "--steps", 4,
                   "--checkpoint", self.folder / "saved")

    def test_of_checkpoints_beside_steps_is_predicted(self):
        """The audit of the first step could go on while the first checkpoint is read."""
        self.check("mlp:4400,4400", "--reduce", "direct", "--optimizer", "adam", "--lr", 0.001, "--steps", 10,
                   "--checkpoint", self.folder / "beside", "--checkpoint-every", 2, "--audit", 0)


class LargeModel(Memory):
    """400 million parameters, in the slow tests."""

    EACH = True
    test_of_a_checkpoint_is_predicted = None
    test_of_checkpoints_beside_steps_is_predicted = None

    def test_is_what_a_job_with_the_vector_at_the_workers_predicts(self):
        if available_bytes() < 25 * 2**30:
            self.skipTest("it takes 25 GiB of memory and swap")
        self.check("mlp:20000,20000", "--reduce", "direct", "--optimizer", "sgd", "--lr", 0.001, "--steps", 3)


if __name__ == "__main__":
    unittest.main()
