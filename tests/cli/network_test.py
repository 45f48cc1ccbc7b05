#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of separate processes over a network that fails. MOTLEY_FAULT_SEED repeats a run."""

import json
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from fault_proxy import FaultProxy
from program import PATIENCE_S, PROGRAM, ProgramTest, wait_until

SEED = int(os.environ.get("MOTLEY_FAULT_SEED", random.SystemRandom().randrange(1 << 32)))
TOKEN = "a token of the network tests"
ENVIRONMENT = {**os.environ, "MOTLEY_TOKEN": TOKEN}
DELAY_S = 0.002  # A step takes two of these at least, so that it is known how long a job lasts.
STEPS = 2400


class Process:
    """The program, and all lines that it has said so far on its standard error."""

    def __init__(self, test, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        test.addCleanup(self.end)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def said(self, pattern):
        return any(re.search(pattern, line) for line in list(self.lines))

    def step(self):
        """The newest that it told."""
        steps = [int(found[1]) for line in list(self.lines)
                 if (found := re.match(r"step (\d+)", line))]
        return steps[-1] if steps else 0

    def text(self):
        return "\n".join(self.lines)

    def finish(self):
        out = self.process.stdout.read()
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join(timeout=PATIENCE_S)
        return self.process.returncode, out

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class Network(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        print(f"MOTLEY_FAULT_SEED={SEED}", flush=True)
        cls.random = random.Random(SEED)
        done = subprocess.run([PROGRAM, "train", "--data", str(cls.data), "--workers", "2",
                               "--steps", str(STEPS), "--code", "none", "--json", "--quiet"],
                              capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
        cls.undisturbed = json.loads(done.stdout)["batch_loss"]

    def start(self, *arguments, workers=2, listen="127.0.0.1:0"):
        job = Process(self, "train", "--data", self.data, "--steps", STEPS, "--remote",
                      "--no-local-worker", "--workers", workers, "--json", "--code", "none",
                      "--listen", f"tcp://{listen}", *arguments)
        wait_until(lambda: job.said(r"motley worker --server") or job.process.poll() is not None,
                   "the job listens")
        found = re.search(r"--server (\S+)", job.text())
        self.assertTrue(found, job.text())
        return job, found[1]

    def proxy(self, target):
        proxy = FaultProxy(target, self.random.randrange(1 << 32), DELAY_S)
        self.addCleanup(proxy.stop)
        return proxy

    def worker(self, server, name, *arguments):
        return Process(self, "worker", "--server", server, "--name", name, "--threads", 1,
                       *arguments)

    def wait_for(self, process, what, pattern):
        wait_until(lambda: process.said(pattern) or process.process.poll() is not None, what)
        self.assertTrue(process.said(pattern), f"{what}:\n{process.text()}")

    def wait_for_step(self, job, step):
        wait_until(lambda: job.step() >= step or job.process.poll() is not None, f"step {step}")
        self.assertIsNone(job.process.poll(), job.text())

    def check(self, job, workers):
        """All steps are done, none was discarded, and the loss is that of an undisturbed job."""
        code, out = job.finish()
        self.assertEqual(code, 0, job.text())
        report = json.loads(out)
        self.assertEqual(report["steps"], STEPS)
        self.assertEqual(report["discarded_steps"], 0)
        self.assertAlmostEqual(report["batch_loss"], self.undisturbed,
                               delta=1e-5 * abs(self.undisturbed))
        for worker in workers:
            self.assertEqual(worker.finish()[0], 0, worker.text())
            self.assertTrue(worker.said(r"sent home by the server"), worker.text())

    def test_two_workers_are_cut_ten_times(self):
        job, address = self.start()
        proxies = [self.proxy(address) for _ in range(2)]
        workers = [self.worker(proxy.address, f"cut-{i}") for i, proxy in enumerate(proxies)]
        self.wait_for_step(job, 1)
        cuts = [0, 0]
        for cut in range(10):
            time.sleep(self.random.uniform(0.05, 0.35))
            which = self.random.choice([[0], [1], [0, 1]])
            for i in which:
                # So that each cut hits a worker that works.
                wait_until(lambda i=i: workers[i].text().count("joined the job") > cuts[i]
                           or job.process.poll() is not None, "it works again")
                proxies[i].cut()
                cuts[i] += 1
            self.assertIsNone(job.process.poll(), f"over after {cut} cuts\n{job.text()}")
        self.check(job, workers)
        lost = sum(worker.text().count("lost the server") for worker in workers)
        self.assertEqual(lost, sum(cuts))

    def test_a_lost_connection_that_the_server_does_not_notice(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, "half-open"), self.worker(address, "other")]
        self.wait_for_step(job, 50)
        proxy.half_open()
        self.wait_for(job, "it takes its own seat again", "half-open.*it connected again")
        self.check(job, workers)

    def test_a_switch_restarts(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"behind-{i}") for i in range(2)]
        self.wait_for_step(job, 50)
        proxy.go_down()
        self.wait_for(job, "it waits", "all workers are gone")
        time.sleep(2)
        proxy.come_up()
        self.check(job, workers)

    def test_a_machine_that_vanishes_is_seen_and_replaced(self):
        job, address = self.start()
        proxy, slow = self.proxy(address), self.proxy(address)
        gone = self.worker(proxy.address, "vanishes")
        stays = self.worker(slow.address, "stays")
        self.wait_for_step(job, 50)
        began = time.monotonic()
        proxy.vanish()
        self.wait_for(job, "it is seen", r"vanishes\) has said nothing for 3 s")
        seen = time.monotonic() - began
        instead = self.worker(slow.address, "instead")
        self.wait_for(instead, "its replacement joins", "joined the job")
        self.wait_for(job, "its seat is taken", r"silent, and another took its place")
        print(f"seen after {seen:.2f} s, replaced after {time.monotonic() - began:.2f} s",
              flush=True)
        self.assertLess(seen, 30)
        self.wait_for(gone, "the worker sees it as well", "the server at .* has said nothing")
        self.check(job, [stays, instead])
        gone.end()

    def test_one_way_silence_is_seen(self):
        job, address = self.start()
        proxy, slow = self.proxy(address), self.proxy(address)
        workers = [self.worker(proxy.address, "mute"), self.worker(slow.address, "stays")]
        self.wait_for_step(job, 50)
        proxy.vanish("client")
        self.wait_for(job, "it is seen", r"mute\) has said nothing for 3 s")
        proxy.heal()
        self.wait_for(job, "it is back", r"mute\) is back after")
        self.check(job, workers)
        self.assertFalse(job.said(r"mute\) lost"), job.text())

    def test_the_server_is_killed_and_resumed_on_the_same_port(self):
        saved = tempfile.mkdtemp(dir=self.folder)
        keep = ["--checkpoint", saved, "--checkpoint-every", "20"]
        job, address = self.start(*keep)
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"patient-{i}") for i in range(2)]
        self.wait_for(job, "a checkpoint is safe", "^checkpoint: ")
        self.wait_for_step(job, 100)
        job.process.send_signal(signal.SIGKILL)
        self.assertEqual(job.finish()[0], -signal.SIGKILL)
        self.wait_for(workers[0], "it waits", "lost the server")
        again, _ = self.start(*keep, "--resume", saved, listen=address)
        self.check(again, workers)

    def test_a_server_that_dies_inside_its_last_checkpoint_is_resumed(self):
        """Its workers have not been sent home before that was safe."""
        for attempt in range(10):  # A fast disk may be done before it is killed.
            saved = self.folder / f"last-{attempt}"
            job = ["train", "--data", self.data, "--model", "mlp:100000", "--remote",
                   "--no-local-worker", "--workers", 1, "--steps", 4, "--checkpoint", saved, "--checkpoint-every", 3,
                   "--checkpoint-code", "3+2", "--json", "--listen"]
            killed = Process(self, *job, "tcp://127.0.0.1:0")
            self.wait_for(killed, "it listens", "motley worker --server")
            address = re.search(r"--server (\S+)", killed.text())[1]
            worker = self.worker(address, "patient")
            wait_until(lambda k=killed, s=saved: any(s.glob("node-*/*0004.shard*"))
                       or k.process.poll() is not None, "it writes its last checkpoint")
            killed.process.send_signal(signal.SIGKILL)
            if killed.finish()[0] == -signal.SIGKILL and not killed.said("4 steps are safe"):
                break
            worker.end()
        else:
            self.skipTest("the last checkpoint was always written at once")
        self.wait_for(worker, "it looks for the server", "lost the server")
        again = Process(self, *job, f"tcp://{address}", "--resume", saved)
        code, out = again.finish()
        self.assertEqual(code, 0, again.text())
        self.assertEqual(json.loads(out)["steps"], 4)
        if again.said("going on from the checkpoint of step 3"):
            self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_server_that_stands_still_loses_nobody(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"waits-{i}") for i in range(2)]
        self.wait_for_step(job, 50)
        job.process.send_signal(signal.SIGSTOP)
        self.wait_for(workers[0], "it notices", "has said nothing for 3 s")
        job.process.send_signal(signal.SIGCONT)
        self.wait_for(workers[0], "it is back", "is back after")
        self.check(job, workers)
        self.assertFalse(job.said("lost"), job.text())
        self.assertFalse(job.said("has said nothing"), job.text())

    def test_a_worker_waits_for_a_server_that_still_reads_its_data(self):
        slow = self.folder / "slow.csv"
        os.mkfifo(slow)
        job = Process(self, "train", "--data", slow, "--steps", 10, "--remote", "--workers", 1,
                      "--no-local-worker", "--json", "--listen", "tcp://127.0.0.1:0")
        self.wait_for(job, "it listens before it has read its data", "motley worker --server")
        worker = self.worker(re.search(r"--server (\S+)", job.text())[1], "early")
        self.wait_for(worker, "it says what it waits for", "has not answered yet")
        with open(slow, "w") as file:
            file.write(self.data.read_text())
        self.assertEqual(job.finish()[0], 0, job.text())
        self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_worker_looks_for_its_server_as_long_as_it_is_told_to(self):
        proxy = self.proxy("127.0.0.1:1")
        proxy.go_down()
        worker = self.worker(proxy.address, "alone", "--wait", "1s")
        self.assertEqual(worker.finish()[0], 4)
        self.assertTrue(worker.said("trying for at most 1 s"), worker.text())


if __name__ == "__main__":
    unittest.main()
