#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`motley run` under a real Slurm: slurmctld and three slurmd, which pretend to be nodes, on this machine."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from run_test import PATIENCE_S, PROGRAM, RunTest, alive, free_port, wait_until

SOURCE = pathlib.Path(__file__).parents[3]
NODES = 3
CONFIGURATION = """
ClusterName=motley
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SchedulerParameters=bf_interval=1,sched_interval=1
ReturnToService=2
SlurmdTimeout=5
InactiveLimit=0
KillWait=10
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=500
PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """The reason why this machine cannot run Slurm; empty: it can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root here"
    missing = [name for name in ("slurmctld", "slurmd", "srun", "munged")
               if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    return f"{', '.join(missing)} not installed here (slurm-wlm, munge)" if missing else ""


def variable_of(pid, name):
    try:
        for word in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(name.encode() + b"="):
                return word.split(b"=", 1)[1].decode()
    except OSError:
        pass
    return ""


class Cluster:
    """Its daemons, its own munged included, write to `folder` only."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"),
                            "PATH": f"{os.environ['PATH']}:/usr/sbin:{pathlib.Path(PROGRAM).parent}"}
        first = free_port(consecutive=NODES + 1)
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=folder, port=first, first=first + 1, last=first + NODES,
            nodes=NODES))
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)
        self.run("munged", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key",
                 f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munged.seed",
                 f"--log-file={folder}/munged.log")
        self.run("slurmctld")
        for node in range(1, NODES + 1):
            (folder / f"spool-n{node}").mkdir()
            self.run("slurmd", "-N", f"n{node}")
        wait_until(lambda: self.nodes("idle") == NODES, "nodes are not idle")

    def run(self, *command, check=True):
        return subprocess.run(command, env=self.environment, check=check, capture_output=True, text=True,
                              timeout=PATIENCE_S).stdout

    def nodes(self, state):
        """The number of nodes in this state."""
        return int(self.run("sinfo", "-h", "-t", state, "-o", "%D").strip() or 0)

    def kill_node(self, name):
        """Kills what runs on a node, and the node's daemon."""
        daemon = int((self.folder / f"slurmd-{name}.pid").read_text())
        os.kill(daemon, signal.SIGKILL)
        tasks = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
                 and variable_of(entry.name, "SLURMD_NODENAME") == name]
        parents = [int(re.search(r"^PPid:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])
                   for pid in tasks]
        for pid in [*(pid for pid in parents if "slurmstepd" in pathlib.Path(f"/proc/{pid}/comm").read_text()),
                    *tasks]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # It died with its parent.

    def down(self):
        for name in ("slurmctld", *(f"slurmd-n{node}" for node in range(1, NODES + 1)), "munged"):
            path = self.folder / f"{name}.pid"
            if path.exists() and path.read_text().strip() and alive(pid := int(path.read_text())):
                os.kill(pid, signal.SIGKILL)


class Slurm(RunTest):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            print(f"skipped: {reason}")
            sys.exit(77)
        super().setUpClass()
        cls.cluster_folder = pathlib.Path(tempfile.mkdtemp(prefix="motley-slurm-"))
        cls.cluster_folder.chmod(0o755)  # Munge refuses a socket that others could not reach.
        cls.cluster = Cluster(cls.cluster_folder)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.down()
        shutil.rmtree(cls.cluster_folder)
        super().tearDownClass()

    def submit(self, text, *arguments):
        """Submits a batch job. Returns its number."""
        script = self.script("job.sbatch", text)
        job = self.cluster.run("sbatch", "--parsable", "--export", f"ALL,MOTLEY_RUN_DIR={self.place}/shared",
                               "-o", str(self.place / "out"), "-e", str(self.place / "err"),
                               str(script), *map(str, arguments)).strip()
        self.addCleanup(self.cluster.run, "scancel", "-s", "KILL", job, check=False)  # It may have ended.
        return job

    def text(self):
        path = self.place / "err"
        return path.read_text() if path.exists() else ""

    def wait_for(self, pattern):
        try:
            wait_until(lambda: re.search(pattern, self.text(), re.M), pattern)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None

    def step(self):
        steps = re.findall(r"^step (\d+)", self.text(), re.M)
        return int(steps[-1]) if steps else 0

    def state(self, job):
        return re.search(r"JobState=(\w+)", self.cluster.run("scontrol", "show", "job", job))[1]

    def wait_for_state(self, job, *states):
        try:
            wait_until(lambda: self.state(job) in states, f"{job} is not {states}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.cluster.run('scontrol', 'show', 'job', job)}") from None

    def report(self):
        return json.loads((self.place / "out").read_text())

    def test_a_node_that_dies(self):
        job = self.submit("""
            #!/bin/bash
            #SBATCH --nodes=3 --ntasks=3 --no-kill
            exec srun --no-kill --kill-on-bad-exit=0 motley run "$@"
        """, self.trains(), "--steps", 10000000, "--checkpoint", self.place / "saved")
        self.wait_for("^step ")
        self.assertEqual(self.state(job), "RUNNING")
        self.cluster.kill_node("n3")
        self.wait_for(r"worker \d+ \(.*-2\) lost")
        wait_until(lambda: self.cluster.nodes("down") == 1, "Slurm does not notice")
        steps = self.step()
        wait_until(lambda: self.step() > steps, "the job does not go on")
        self.assertEqual(self.state(job), "RUNNING")
        self.cluster.run("scancel", "--signal=TERM", job)
        self.wait_for(r"stopped after \d+ of 10000000 steps; \d+ steps are safe")
        self.wait_for_state(job, "FAILED", "CANCELLED", "COMPLETED", "NODE_FAIL")
        self.assertTrue(list((self.place / "saved").iterdir()))
        self.cluster.run("slurmd", "-N", "n3")
        wait_until(lambda: self.cluster.nodes("idle") == NODES, "nodes are not idle")

    def test_the_template(self):
        template = (SOURCE / "packaging/slurm/motley.sbatch").read_text()
        self.assertIn(" --gres=gpu:1", template)
        job = self.submit(template.replace(" --gres=gpu:1", ""), self.trains(), "--steps", 40)
        self.wait_for_state(job, "COMPLETED", "FAILED")
        self.assertEqual(self.state(job), "COMPLETED", self.text())
        report = self.report()
        self.assertEqual((report["steps"], len(report["workers"])), (40, 2))
        self.assertEqual(list((self.place / "shared").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
