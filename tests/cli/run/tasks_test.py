#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`motley run` beyond one machine: hosts over ssh, and tasks of srun and mpirun. Unless a class says otherwise, all
of them are processes of this machine."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import unittest

from run_test import PATIENCE_S, PROGRAM, TOKEN, Running, RunTest, alive, free_port, wait_until

# Runs the command here, after it has forgotten what ssh does not pass on.
FAKE_SSH = """
    #!/bin/sh
    echo "$*" >> {place}/ssh.log
    while [ "${{1#-}}" != "$1" ]; do
      [ "$1" = -o ] && shift
      shift
    done
    host=$1
    shift
    [ "$host" = nowhere ] && {{ echo "ssh: Could not resolve hostname nowhere" >&2; exit 255; }}
    unset MOTLEY_TOKEN
    exec sh -c "$*"
"""


class Hosts(RunTest):
    def start(self, *arguments, token=TOKEN):
        if not (self.place / "ssh").exists():
            self.script("ssh", FAKE_SSH, place=self.place)
        return Running(self, "run", *arguments, token=token,
                       inside=["env", f"PATH={self.place}:{os.environ['PATH']}"])

    def log(self):
        return (self.place / "ssh.log").read_text()

    def test_a_job_over_ssh(self):
        hosts = self.place / "hosts"
        hosts.write_text("# ours\nanna\n\nben  # a slow one\nanna\n")
        run = self.start("--hosts", hosts, self.trains(), "--steps", 40)
        code, out = run.finish()
        self.assertEqual(code, 0, run.text())
        report = json.loads(out)
        self.assertEqual(report["steps"], 40)
        self.assertEqual(sorted(worker["name"] for worker in report["workers"]), ["anna", "anna-2", "ben"])
        self.assertRegex(self.log(), r"(?m)^-T -o BatchMode=yes .* ben sh$")
        self.assertNotIn(TOKEN, self.log())

    def test_shard_servers_find_the_job_by_the_address_and_token_of_the_user(self):
        address = f"127.0.0.1:{free_port()}"
        run = self.start("--hosts", "anna,ben", "--address", address, self.trains(), "--steps", 40,
                         "--reduce", "sharded:2")
        servers = [Running(self, "server", "--shard", "--server", address) for _ in range(2)]
        code, out = run.finish()
        self.assertEqual(code, 0, run.text())
        self.assertEqual(json.loads(out)["steps"], 40)
        for server in servers:
            self.assertEqual(server.finish()[0], 0, server.text())

    def test_words_arrive_as_they_are(self):
        run = self.start("--hosts", "anna", self.pretends(), "it's", '"$HOME"', "a\tb", "")
        run.wait_for(r"""^\[worker 0\] hello from anna it's "\$HOME" a\tb $""")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)

    def test_more_workers_than_hosts(self):
        run = self.start("--hosts", "anna,ben", "--workers", 3, self.pretends())
        run.wait_for(r"^\[worker 2\] hello from anna-2$")
        run.wait_for(r"^\[worker 1\] hello from ben$")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)

    def test_a_host_that_ssh_does_not_reach(self):
        run = self.start("--hosts", "anna,nowhere", self.pretends())
        run.wait_for(r"^motley: worker 1 on nowhere ended with exit code 255$")
        run.wait_for(r"^  ssh: Could not resolve hostname nowhere$")
        self.pid("workeranna")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)

    def test_workers_elsewhere_end_with_the_job(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                run = self.start("--hosts", "anna,ben", self.pretends())
                run.wait_for("hello from anna")
                run.wait_for("hello from ben")
                pids = [self.pid("workeranna"), self.pid("workerben")]
                run.send(number)
                run.finish()
                wait_until(lambda: not any(map(alive, pids)), "workers are left over")
                self.assertTrue((self.place / "workeranna.stopped").exists())
                for path in [*self.place.glob("*.pid"), *self.place.glob("*.stopped")]:
                    path.unlink()

    def test_the_address_for_others(self):
        shows = self.script("shows.sh", """
            #!/bin/sh
            [ "$MOTLEY_ROLE" = worker ] && {{ echo "server $MOTLEY_SERVER" >&2; exit 0; }}
            echo "listens $MOTLEY_LISTEN"
            echo 0.0.0.0:4711 > "$MOTLEY_ADDRESS_FILE.new"
            mv "$MOTLEY_ADDRESS_FILE.new" "$MOTLEY_ADDRESS_FILE"
            sleep 1
        """, place="")
        for address, listens, server in (("boss", "0.0.0.0:0", "boss:4711"), ("boss:99", "0.0.0.0:99", "boss:4711"),
                                         ("[2001:db8::7]", "[::]:0", r"\[2001:db8::7\]:4711"),
                                         ("[2001:db8::7]:99", "[::]:99", r"\[2001:db8::7\]:4711")):
            run = self.start("--hosts", "anna", "--address", address, shows)
            run.wait_for(rf"server {server}$")
            self.assertEqual(run.finish(), (0, f"listens {listens}\n"))


class Tasks(RunTest):
    def task(self, rank, size, *arguments, token="", **variables):
        names = {"HOME": self.place, "SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": size, "SLURM_JOB_ID": 77,
                 "SLURM_STEP_ID": 0, **variables}
        return Running(self, "run", *arguments, token=token,
                       inside=["env", *(f"{name}={value}" for name, value in names.items() if value is not None)])

    def meeting(self, name="job-77-0"):
        path = self.place / ".motley" / "run" / name
        wait_until(path.exists, f"{path} does not appear")
        return path

    def test_the_first_task_serves(self):
        command = [self.trains(), "--steps", 1000000]
        later = [self.task(rank, 3, *command) for rank in (2, 1)]
        first = self.task(0, 3, *command)
        path = self.meeting()
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
        first.wait_for("^step ")
        first.wait_for(r"worker \d+ \(.*-2\)")
        first.send(signal.SIGTERM)
        self.assertEqual(first.finish()[0], 143)
        for task in later:
            self.assertEqual(task.finish()[0], 0, task.text())
            self.assertIn("the job was stopped after", task.text())
        self.assertFalse(path.exists())

    def test_a_task_that_dies_and_one_that_leaves(self):
        command = [self.trains(), "--steps", 1000000]
        first, second, third = (self.task(rank, 3, *command) for rank in range(3))
        first.wait_for("^step ")
        third.send(signal.SIGKILL)
        first.wait_for(r"worker \d+ \(.*-2\) lost")
        second.send(signal.SIGTERM)
        first.wait_for(r"worker \d+ \(.*-1\) leaves")
        self.assertEqual(second.finish()[0], 143)
        steps = first.step()
        wait_until(lambda: first.step() > steps, "the job does not go on")

    def test_a_server_that_is_gone_ends_the_other_tasks(self):
        first, second = (self.task(rank, 2, self.pretends(), HOSTNAME=f"n{rank}") for rank in range(2))
        second.wait_for("hello from")
        self.say_end(3)
        self.assertEqual(first.finish()[0], 3)
        self.assertEqual(second.finish()[0], 0)

    def test_a_first_task_without_a_worker(self):
        first, second = (self.task(rank, 2, "--no-local-worker", self.trains(), "--steps", 40) for rank in range(2))
        code, out = first.finish()
        self.assertEqual((code, second.finish()[0]), (0, 0), first.text())
        self.assertEqual(len(json.loads(out)["workers"]), 1)
        self.assertNotIn("[worker", first.text())
        self.assertIn("[worker 1]", second.text())

    def test_a_task_that_finds_no_server(self):
        task = self.task(1, 2, "--wait", "100ms", "--shared", self.place / "here", "true")
        self.assertEqual(task.finish()[0], 4)
        self.assertIn("here/job-77-0 did not appear within 100ms (--wait)", task.text())
        open_to_all = self.place / "here" / "job-77-0"
        open_to_all.write_text("127.0.0.1:1\ntoken\n")
        open_to_all.chmod(0o644)
        task = self.task(1, 2, "--shared", self.place / "here", "true")
        self.assertEqual(task.finish()[0], 5)
        self.assertIn("this user alone", task.text())

    def test_variables_of_mpirun(self):
        none = {"SLURM_PROCID": None, "SLURM_STEP_NUM_TASKS": None, "SLURM_JOB_ID": None, "SLURM_STEP_ID": None}
        for names in ({"OMPI_COMM_WORLD_RANK": 0, "OMPI_COMM_WORLD_SIZE": 2, "PMIX_NAMESPACE": "prterun-a@1"},
                      {"PMI_RANK": 0, "PMI_SIZE": 2, "MOTLEY_RUN_ID": "prterun-a@1"}):
            first = self.task(0, 2, self.pretends(), **none, **names)
            self.meeting("prterun-a_1" if "MOTLEY_RUN_ID" in names else "job-prterun-a_1")
            self.say_end()
            self.assertEqual(first.finish()[0], 0)
            (self.place / "end").unlink()
        task = self.task(0, 2, "true", **none, PMI_RANK=0, PMI_SIZE=2)
        self.assertEqual(task.finish()[0], 2)
        self.assertIn("Set MOTLEY_RUN_ID", task.text())
        task = self.task("first", 2, "true")
        self.assertEqual(task.finish()[0], 2)
        self.assertIn("SLURM_PROCID is 'first'", task.text())

    def test_variables_of_torchrun(self):
        torch = {"RANK": 0, "WORLD_SIZE": 2, "SLURM_PROCID": None, "SLURM_STEP_NUM_TASKS": None, "SLURM_JOB_ID": None,
                 "SLURM_STEP_ID": None}
        first = self.task(0, 2, self.pretends(), **torch, TORCHELASTIC_RUN_ID="seven")
        self.meeting("job-seven")
        self.say_end()
        self.assertEqual(first.finish()[0], 0)
        (self.place / "end").unlink()
        # Srun started torchrun on each node.
        inner = self.task(0, 1, self.pretends(), RANK=0, WORLD_SIZE=2, TORCHELASTIC_RUN_ID="none",
                          TORCHELASTIC_RESTART_COUNT=3)
        self.meeting("job-77-0-3")
        self.say_end()
        self.assertEqual(inner.finish()[0], 0)
        (self.place / "end").unlink()
        nameless = self.task(0, 2, "true", **torch, TORCHELASTIC_RUN_ID="none")
        self.assertEqual(nameless.finish()[0], 2)
        self.assertIn("this torchrun gives its tasks no name", nameless.text())

    def test_rank_and_world_size_of_other_programs_mean_nothing(self):
        others = {"RANK": 0, "WORLD_SIZE": 4, "SLURM_PROCID": None, "SLURM_STEP_NUM_TASKS": None}
        run = self.task(0, 4, "--workers", 1, self.pretends(), **others)
        run.wait_for("hello from")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)
        asked = self.task(0, 4, "true", **others)
        self.assertEqual(asked.finish()[0], 2)
        self.assertIn("PyTorch (RANK, WORLD_SIZE, TORCHELASTIC_RUN_ID)", asked.text())

    def test_flags_that_contradict_the_tasks(self):
        for flags, words in ((["--workers", 2], "Leave out --workers"), (["--hosts", "a"], "Leave out --hosts")):
            task = self.task(0, 3, *flags, "true")
            self.assertEqual(task.finish()[0], 2)
            self.assertIn(words, task.text())
            self.assertIn("srun runs this command 3 times", task.text())


class Sshd(RunTest):
    """A real ssh, to a server of this machine that the test starts with keys of its own."""

    @classmethod
    def setUpClass(cls):
        daemon = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        missing = [name for name in ("ssh", "ssh-keygen") if shutil.which(name) is None]
        if daemon is None or missing or os.geteuid() != 0:
            print("skipped: it needs root, ssh, and sshd (openssh-client, openssh-server)")
            sys.exit(77)
        super().setUpClass()
        folder = cls.folder / "ssh"
        folder.mkdir(mode=0o700)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        port = free_port()
        (folder / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
            "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n")
        (folder / "config").write_text(
            f"Host anna ben\n HostName 127.0.0.1\n Port {port}\n IdentityFile {folder}/user\n"
            f" StrictHostKeyChecking no\n UserKnownHostsFile {folder}/known\n LogLevel ERROR\n")
        (folder / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        (folder / "ssh").chmod(0o755)
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # The daemon's own, which Debian makes at boot.
        cls.daemon = subprocess.Popen([daemon, "-D", "-e", "-f", folder / "sshd_config"],
                                      stderr=subprocess.PIPE, text=True)
        for line in cls.daemon.stderr:
            if "listening" in line:
                break

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.communicate()
        super().tearDownClass()

    def start(self, *arguments):
        return Running(self, "run", "--hosts", "anna,ben", *arguments,
                       inside=["env", f"PATH={self.folder}/ssh:{os.environ['PATH']}"])

    def test_a_job_over_ssh(self):
        run = self.start(self.trains(), "--steps", 40)
        code, out = run.finish()
        self.assertEqual(code, 0, run.text())
        report = json.loads(out)
        self.assertEqual((report["steps"], len(report["workers"])), (40, 2))

    def test_nothing_is_left_when_it_is_killed(self):
        run = self.start(self.pretends())
        run.wait_for("hello from anna")
        run.wait_for("hello from ben")
        pids = [self.pid("workeranna"), self.pid("workerben")]
        run.send(signal.SIGKILL)
        wait_until(lambda: not any(map(alive, pids)), "workers are left over")
        self.assertTrue((self.place / "workerben.stopped").exists())


class Mpirun(RunTest):
    """A real mpirun: that of Open MPI, and that of MPICH."""

    def run_under(self, *mpirun, **variables):
        done = subprocess.run(
            [*mpirun, "-n", "3", PROGRAM, "run", "--shared", self.place / "shared", self.trains(), "--steps", "40"],
            text=True, capture_output=True, timeout=PATIENCE_S, check=False,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["steps"], len(report["workers"])), (40, 3))

    @unittest.skipIf(shutil.which("mpirun.openmpi") is None, "Open MPI is not installed here")
    def test_open_mpi(self):
        self.run_under("mpirun.openmpi", "--oversubscribe")

    @unittest.skipIf(shutil.which("mpirun.mpich") is None, "MPICH is not installed here")
    def test_mpich(self):
        self.run_under("mpirun.mpich", MOTLEY_RUN_ID="of-this-test")


if __name__ == "__main__":
    unittest.main()
