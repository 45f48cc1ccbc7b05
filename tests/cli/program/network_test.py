#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of separate processes over a network that fails. MOTLEY_FAULT_SEED repeats a run."""

import json
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from tools.fault_proxy import FaultProxy
from tools.program import PROGRAM, ProgramTest, Running, wait_until

SEED = int(os.environ.get("MOTLEY_FAULT_SEED", random.SystemRandom().randrange(1 << 32)))
DELAY_S = 0.002  # A step takes at least twice this delay, so the job's duration is known.
STEPS = 2400


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

    def start(self, *arguments, workers=2, listen="tcp://127.0.0.1:0"):
        job = Running(self, "train", "--data", self.data, "--steps", STEPS, "--remote",
                      "--no-local-worker", "--workers", workers, "--json", "--code", "none",
                      "--listen", listen, *arguments)
        return job, job.wait_for(r"motley worker --server (\S+)")[1]

    def proxy(self, target):
        proxy = FaultProxy(target, self.random.randrange(1 << 32), DELAY_S)
        self.addCleanup(proxy.stop)
        return proxy

    def worker(self, server, name, *arguments):
        return Running(self, "worker", "--server", server, "--name", name, "--threads", 1,
                       *arguments)

    def wait_for_step(self, job, step):
        wait_until(lambda: job.step() >= step or job.process.poll() is not None, f"step {step}")
        self.assertIsNone(job.process.poll(), job.text())

    def check(self, job, workers):
        """Checks that all steps are done, none was discarded, and the loss is that of an undisturbed job."""
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
                # Each cut must hit a working worker.
                wait_until(lambda i=i: workers[i].text().count("joined the job") > cuts[i]
                           or job.process.poll() is not None, "it works again")
                proxies[i].cut()
                cuts[i] += 1
            self.assertIsNone(job.process.poll(), f"over after {cut} cuts\n{job.text()}")
        self.check(job, workers)
        lost = sum(worker.text().count("lost the server") for worker in workers)
        self.assertEqual(lost, sum(cuts))

    def test_a_job_listens_at_a_local_socket_only(self):
        job, address = self.start(listen=f"unix://network-test-{os.getpid()}")
        self.assertTrue(address.startswith("unix://"), address)
        workers = [self.worker(address, f"local-{i}") for i in range(2)]
        self.check(job, workers)

    def test_a_lost_connection_that_the_server_does_not_notice(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, "half-open"), self.worker(address, "other")]
        self.wait_for_step(job, 50)
        proxy.half_open()
        job.wait_for("half-open.*it connected again")
        self.check(job, workers)

    def test_a_switch_restarts(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"behind-{i}") for i in range(2)]
        self.wait_for_step(job, 50)
        proxy.go_down()
        job.wait_for("all workers are gone")
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
        job.wait_for(r"vanishes\) has said nothing for 3 s")
        seen = time.monotonic() - began
        instead = self.worker(slow.address, "instead")
        instead.wait_for("joined the job")
        job.wait_for(r"silent, and another took its place")
        print(f"seen after {seen:.2f} s, replaced after {time.monotonic() - began:.2f} s",
              flush=True)
        self.assertLess(seen, 30)
        gone.wait_for("the server at .* has said nothing")
        self.check(job, [stays, instead])
        gone.end()

    def test_one_way_silence_is_seen(self):
        job, address = self.start()
        proxy, slow = self.proxy(address), self.proxy(address)
        workers = [self.worker(proxy.address, "mute"), self.worker(slow.address, "stays")]
        self.wait_for_step(job, 50)
        proxy.vanish("client")
        job.wait_for(r"mute\) has said nothing for 3 s")
        proxy.heal()
        job.wait_for(r"mute\) is back after")
        self.check(job, workers)
        self.assertFalse(job.said(r"mute\) lost"), job.text())

    def test_the_server_is_killed_and_resumed_on_the_same_port(self):
        saved = tempfile.mkdtemp(dir=self.folder)
        keep = ["--checkpoint", saved, "--checkpoint-every", "20"]
        job, address = self.start(*keep)
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"patient-{i}") for i in range(2)]
        job.wait_for("^checkpoint: ")
        self.wait_for_step(job, 100)
        job.send(signal.SIGKILL)
        self.assertEqual(job.finish()[0], -signal.SIGKILL)
        workers[0].wait_for("lost the server")
        again, _ = self.start(*keep, "--resume", saved, listen=f"tcp://{address}")
        self.check(again, workers)

    def test_a_server_that_dies_inside_its_last_checkpoint_is_resumed(self):
        """Workers must stay until the last checkpoint is safe."""
        for attempt in range(10):  # On a fast disk the job may end before the kill.
            saved = self.folder / f"last-{attempt}"
            job = ["train", "--data", self.data, "--model", "mlp:100000", "--remote",
                   "--no-local-worker", "--workers", 1, "--steps", 4, "--checkpoint", saved, "--checkpoint-every", 3,
                   "--checkpoint-code", "3+2", "--json", "--verbose", "--listen"]
            killed = Running(self, *job, "tcp://127.0.0.1:0")
            address = killed.wait_for(r"motley worker --server (\S+)")[1]
            worker = self.worker(address, "patient")
            wait_until(lambda k=killed, s=saved: any(s.glob("node-*/*0004.shard*"))
                       or k.process.poll() is not None, "it writes its last checkpoint")
            killed.send(signal.SIGKILL)
            if killed.finish()[0] == -signal.SIGKILL and not killed.said("4 steps are safe"):
                break
            worker.end()
        else:
            self.skipTest("the last checkpoint was always written at once")
        worker.wait_for("lost the server")
        again = Running(self, *job, f"tcp://{address}", "--resume", saved)
        code, out = again.finish()
        self.assertEqual(code, 0, again.text())
        self.assertEqual(json.loads(out)["steps"], 4)
        if again.said("resuming from the checkpoint of step 3"):
            self.assertEqual(worker.finish()[0], 0, worker.text())

    def test_a_server_that_stands_still_loses_nobody(self):
        job, address = self.start()
        proxy = self.proxy(address)
        workers = [self.worker(proxy.address, f"waits-{i}") for i in range(2)]
        self.wait_for_step(job, 50)
        job.send(signal.SIGSTOP)
        workers[0].wait_for("has said nothing for 3 s")
        job.send(signal.SIGCONT)
        workers[0].wait_for("is back after")
        self.check(job, workers)
        self.assertFalse(job.said("lost"), job.text())
        self.assertFalse(job.said("has said nothing"), job.text())

    def test_a_worker_waits_for_a_server_that_still_reads_its_data(self):
        slow = self.folder / "slow.csv"
        os.mkfifo(slow)
        job = Running(self, "train", "--data", slow, "--steps", 10, "--remote", "--workers", 1,
                      "--no-local-worker", "--json", "--listen", "tcp://127.0.0.1:0")
        worker = self.worker(job.wait_for(r"motley worker --server (\S+)")[1], "early")
        worker.wait_for("has not answered yet")
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
