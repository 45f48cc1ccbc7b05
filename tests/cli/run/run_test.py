#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`motley run`: the server and the workers of a program, here with programs that only pretend to train, and with
programs that do."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "program" / "tools"))
from program import (  # noqa: E402, F401  (tests beside this one use some of them)
    PATIENCE_S, PROGRAM, TOKEN, ProgramTest, Running, alive, children_of, free_port, stopped, wait_until)

EXAMPLE = os.environ.get("MOTLEY_EXAMPLE", "")

# A program that keeps to the contract without training: its server listens, and ends when a file says so.
PRETENDS = """
    import os, pathlib, signal, sys, time
    folder = pathlib.Path(__file__).parent
    role = os.environ["MOTLEY_ROLE"]
    name = os.environ.get("MOTLEY_WORKER_NAME", "")
    (folder / f"{role}{name}.pid").write_text(str(os.getpid()))

    def wait_for(path):
        while not path.exists():
            time.sleep(0.01)

    def stop(number, frame):
        (folder / f"{role}{name}.stopped").write_text("")
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    if role == "server":
        print("the result")
        temporary = os.environ["MOTLEY_ADDRESS_FILE"] + ".new"
        pathlib.Path(temporary).write_text(os.environ["MOTLEY_LISTEN"] + "\\n")
        os.rename(temporary, os.environ["MOTLEY_ADDRESS_FILE"])
        wait_for(folder / "end")
        sys.exit(int((folder / "end").read_text() or 0))
    print("hello from", name, *sys.argv[1:])
    print("an error of", name, file=sys.stderr)
    code = folder / f"{name}.code"
    while not (folder / "end").exists():
        if code.exists():
            code.rename(folder / f"{name}.used")
            os._exit(int((folder / f"{name}.used").read_text()))
        time.sleep(0.01)
"""

# Trains with the program's own commands, so that a job takes as long as its test wants.
TRAINS = """
    #!/bin/sh
    if [ "$MOTLEY_ROLE" = server ]; then
      exec {program} train --data {data} --remote --no-local-worker --listen "$MOTLEY_LISTEN" \\
        --workers "$MOTLEY_WORKERS" --min-workers "$MOTLEY_WORKERS" --json "$@"
    fi
    exec {program} worker
"""


class RunTest(ProgramTest):
    def setUp(self):
        # What a killed program leaves there goes with the folder.
        patch = mock.patch.dict(os.environ, TMPDIR=str(self.folder))
        patch.start()
        self.addCleanup(patch.stop)
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()

    def script(self, name, text, **words):
        path = self.place / name
        text = textwrap.dedent(text).lstrip()
        path.write_text(text.format(**words) if words else text)
        path.chmod(0o755)
        return path

    def pretends(self):
        return self.script("train.py", PRETENDS)

    def trains(self):
        return self.script("train.sh", TRAINS, program=PROGRAM, data=self.data)

    def pid(self, name):
        path = self.place / f"{name}.pid"
        wait_until(lambda: path.exists() and path.read_text(), f"{name} does not start")
        return int(path.read_text())

    def pids(self, workers):
        return [self.pid("server"), *(self.pid(f"workerworker-{i}") for i in range(workers))]

    def say_end(self, code=0):
        (self.place / "new").write_text(str(code))
        (self.place / "new").rename(self.place / "end")


class Run(RunTest):
    def test_each_process_learns_what_it_is(self):
        shown = self.script("show.sh", """
            #!/bin/sh
            env | grep ^MOTLEY_ | sort > "{place}/$MOTLEY_ROLE$MOTLEY_WORKER_NAME.env"
            [ "$MOTLEY_ROLE" = worker ] && exit 0
            echo "$MOTLEY_LISTEN" > "$MOTLEY_ADDRESS_FILE.new"
            mv "$MOTLEY_ADDRESS_FILE.new" "$MOTLEY_ADDRESS_FILE"
            while [ ! -s "{place}/workerworker-0.env" -o ! -s "{place}/workerworker-1.env" ]; do sleep 0.01; done
        """, place=self.place)
        run = Running(self, "run", "--workers", 2, shown, token="")
        code, out = run.finish()
        self.assertEqual((code, out), (0, ""), run.text())

        def variables(role):
            lines = (self.place / f"{role}.env").read_text().split()
            return dict(line.split("=", 1) for line in lines)
        server, first, second = map(variables, ("server", "workerworker-0", "workerworker-1"))
        self.assertRegex(server["MOTLEY_LISTEN"], r"^unix://motley-run-[0-9a-f]+$")
        self.assertGreaterEqual(len(server["MOTLEY_TOKEN"]), 16)
        self.assertEqual(server["MOTLEY_WORKERS"], "2")
        self.assertFalse(pathlib.Path(server["MOTLEY_ADDRESS_FILE"]).parent.exists(), "it is left over")
        for worker, name in ((first, "worker-0"), (second, "worker-1")):
            self.assertEqual(worker["MOTLEY_SERVER"], server["MOTLEY_LISTEN"])
            self.assertEqual(worker["MOTLEY_TOKEN"], server["MOTLEY_TOKEN"])
            self.assertEqual(worker["MOTLEY_WORKER_NAME"], name)
            self.assertNotIn("MOTLEY_LISTEN", worker)
            self.assertNotIn("MOTLEY_WORKERS", worker)

    def test_output_and_arguments(self):
        run = Running(self, "run", "--workers", 2, self.pretends(), "--workers", "x y", "--help")
        run.wait_for(r"^\[worker 1\] hello from worker-1 --workers x y --help$")
        run.wait_for(r"^\[worker 0\] an error of worker-0$")
        self.say_end()
        code, out = run.finish()
        self.assertEqual((code, out), (0, "the result\n"))

    def test_quiet_workers_and_the_exit_code_of_the_server(self):
        run = Running(self, "run", "--workers", 1, "--quiet", self.pretends())
        self.pids(1)
        self.say_end(7)
        code, out = run.finish()
        self.assertEqual((code, out), (7, "the result\n"))
        self.assertEqual(run.text(), "")

    def test_a_worker_that_fails_is_reported_and_the_job_goes_on(self):
        run = Running(self, "run", "--workers", 2, "--quiet", self.pretends())
        self.pids(2)
        (self.place / "worker-1.code").write_text("5")
        run.wait_for(r"^motley: worker 1 ended with exit code 5$")
        run.wait_for(r"^ +an error of worker-1$")
        os.kill(self.pid("server"), 0)
        self.say_end()
        self.assertEqual(run.finish()[0], 0)

    def test_a_worker_that_is_killed_starts_again(self):
        run = Running(self, "run", "--workers", 1, "--restart", 1, self.pretends())
        _, worker = self.pids(1)
        (self.place / "workerworker-0.pid").unlink()
        os.kill(worker, signal.SIGKILL)
        run.wait_for(r"worker 0 ended by signal 9 \(Killed\)")
        run.wait_for(r"starting it again \(1 of 1 restart\)")
        again = self.pid("workerworker-0")
        self.assertNotEqual(again, worker)
        os.kill(again, signal.SIGKILL)
        run.wait_for(r"no worker is left, so the server is asked to stop")
        self.assertEqual(run.finish()[0], 4)
        self.assertTrue((self.place / "server.stopped").exists())

    def test_workers_that_end_before_the_server_are_reported(self):
        run = Running(self, "run", "--workers", 2, self.pretends())
        self.pids(2)
        (self.place / "worker-0.code").write_text("0")
        (self.place / "worker-1.code").write_text("3")
        run.wait_for(r"^motley: worker 1 ended with exit code 3$")
        run.wait_for(r"^motley: all workers have ended, and the server still runs")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)
        self.assertNotIn("asked to stop", run.text())

    def test_workers_that_outlive_the_server_are_named_before_they_are_stopped(self):
        late = self.script("late.py", PRETENDS.replace("while not (folder", "while name == 'worker-1' or not (folder"))
        run = Running(self, "run", "--workers", 2, late)
        self.pids(2)
        run.wait_for(r"hello from worker-1")
        self.say_end()
        self.assertEqual(run.finish()[0], 0)
        run.wait_for(r"^motley: worker 1 still runs 3 s after the server ended: it gets SIGTERM, and is killed after "
                     r"--grace \(30 s\)$")
        self.assertTrue((self.place / "workerworker-1.stopped").exists())
        self.assertFalse((self.place / "workerworker-0.stopped").exists())

    def test_a_signal_ends_the_server_first_and_then_the_workers(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                run = Running(self, "run", "--workers", 2, self.pretends())
                pids = self.pids(2)
                run.wait_for(r"hello from worker-1")
                run.send(number)
                self.assertEqual(run.finish()[0], 128 + number)
                self.assertTrue((self.place / "server.stopped").exists())
                self.assertTrue((self.place / "workerworker-1.stopped").exists())
                self.assertFalse(any(map(alive, pids)))
                for path in [*self.place.glob("*.pid"), *self.place.glob("*.stopped")]:
                    path.unlink()

    def test_processes_that_do_not_listen_to_signals_are_killed(self):
        deaf = self.script("deaf.py", PRETENDS.replace("signal.SIGTERM, stop", "signal.SIGTERM, signal.SIG_IGN"))
        run = Running(self, "run", "--workers", 1, "--grace", "100ms", deaf)
        pids = self.pids(1)
        run.wait_for("hello from worker-0")
        run.send(signal.SIGTERM)
        self.assertEqual(run.finish()[0], 143)
        self.assertFalse(any(map(alive, pids)))
        run = Running(self, "run", "--workers", 1, deaf)
        run.wait_for("hello from worker-0")
        run.send(signal.SIGTERM)
        run.wait_for("a second signal ends it now")
        run.send(signal.SIGINT)
        self.assertEqual(run.finish()[0], 143)

    def test_ctrl_z_stops_all_processes_until_they_go_on(self):
        run = Running(self, "run", "--workers", 2, self.pretends())
        pids = [run.process.pid, *self.pids(2)]
        run.wait_for(r"hello from worker-1")
        for _ in range(2):
            run.send(signal.SIGTSTP)
            wait_until(lambda: all(stopped(pid) for pid in pids), "not all processes stop")
            run.send(signal.SIGCONT)
            wait_until(lambda: not any(stopped(pid) for pid in pids), "not all processes go on")
        self.say_end()
        self.assertEqual(run.finish(), (0, "the result\n"))

    def test_nothing_is_left_when_it_is_killed(self):
        run = Running(self, "run", "--workers", 2, self.pretends())
        pids = self.pids(2)
        run.wait_for("hello from worker-1")
        run.send(signal.SIGKILL)
        run.finish()
        wait_until(lambda: not any(map(alive, pids)), "processes are left over")

    def test_children_of_a_worker_end_with_it(self):
        parent = self.script("parent.py", PRETENDS.replace(
            'print("hello', 'import subprocess; child = subprocess.Popen(["sleep", "1000"]); '
            '(folder / "child.pid").write_text(str(child.pid)); print("hello'))
        run = Running(self, "run", "--workers", 1, parent)
        run.wait_for("hello from worker-0")
        child = self.pid("child")
        os.kill(self.pid("workerworker-0"), signal.SIGKILL)
        wait_until(lambda: not alive(child), "the child is left over")
        run.finish()

    def test_an_error_before_the_server_listens_is_shown_once(self):
        broken = self.script("train.py", "import sys; sys.exit('there is no such data')\n")
        done = self.run_program("run", "--workers", 3, broken, expect=1)
        self.assertEqual(done.stderr, "there is no such data\n")

    def test_a_program_that_serves_no_job(self):
        plain = self.script("plain.py", "print('nothing to do')\n")
        done = self.run_program("run", "--workers", 3, plain)
        self.assertEqual(done.stdout, "nothing to do\n")
        self.assertIn("ended without serving a job, so no worker was started", done.stderr)

    def test_the_interpreter(self):
        script = self.script("who.py", "import sys; print(sys.executable)\n")
        mine = self.script("mine", '#!/bin/sh\necho mine "$@"\n')
        said = self.run_program("run", "--workers", 1, "--python", mine, script, "x")
        self.assertEqual(said.stdout, f"mine {script} x\n")
        (self.place / "venv" / "bin").mkdir(parents=True)
        mine.rename(self.place / "venv" / "bin" / "python")
        for name, value in (("MOTLEY_PYTHON", self.place / "venv/bin/python"), ("VIRTUAL_ENV", self.place / "venv")):
            said = subprocess.run([PROGRAM, "run", "--workers", "1", script], text=True, capture_output=True,
                                  env={**os.environ, name: str(value)}, timeout=PATIENCE_S, check=True)
            self.assertEqual(said.stdout, f"mine {script}\n")

    def test_errors(self):
        for arguments, code, words in (
                (["run"], 2, "needs a program"),
                (["run", "--workers", 2], 2, "needs a program"),
                (["run", "--wrokers", 2, "x.py"], 2, "unknown flag '--wrokers'. Did you mean --workers?"),
                (["run", "--workers", 0, "x.py", "--lr", "1"], 2, "--workers: 0 is not a whole number"),
                (["run", "x.py"], 2, "looked for --workers, --hosts, and the variables of Open MPI"),
                (["run", "--workers", 2, "/nowhere/x.py"], 3, "there is no program /nowhere/x.py"),
                (["run", "--workers", 2, "no-such-program"], 127, "in this folder it would be ./no-such-program"),
                (["run", "--workers", 2, "--grace", "soon", "true"], 2, "--grace"),
                (["run", "--workers", 2, "--no-local-worker", "true"], 2, "srun"),
                (["run", "--hosts", ",", "true"], 2, "names no host"),
                (["run", "--hosts", "a,-oProxyCommand=x", "true"], 2, "not the name of a host"),
                (["run", "--hosts", "a,b", "--workers", 1, "true"], 2, "there are 2 hosts")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.run_program(*arguments, expect=code).stderr)


class Jobs(RunTest):
    """Programs that train."""

    def test_a_program_in_c(self):
        done = self.run_program("run", "--workers", 3, EXAMPLE)
        self.assertRegex(done.stdout, r"300 steps, 3 workers; weights found")
        for found, true in re.findall(r"^ *(-?\d+\.\d+) \((.*)\)$", done.stdout, re.M):
            self.assertAlmostEqual(float(found), float(true), delta=0.01)

    def test_variables_that_make_no_sense(self):
        for name, value, words in (("MOTLEY_WORKERS", "many", "MOTLEY_WORKERS is 'many'"),
                                   ("MOTLEY_LISTEN", "nowhere", "nowhere"),
                                   ("MOTLEY_ADDRESS_FILE", "/nowhere/address", "MOTLEY_ADDRESS_FILE")):
            done = subprocess.run([EXAMPLE], env={**os.environ, "MOTLEY_ROLE": "server", name: value}, text=True,
                                  capture_output=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)

    def test_a_worker_is_killed_and_the_result_is_the_same(self):
        arguments = ["--steps", 2000, "--batch", 64, "--code", "none"]
        whole = json.loads(self.run_program("run", "--workers", 2, "--quiet", self.trains(), *arguments).stdout)
        run = Running(self, "run", "--workers", 2, "--restart", 1, self.trains(), *arguments, token="")
        run.wait_for(r"^step ")
        workers = [pid for pid in children_of(run.process.pid)
                   if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"worker\0")]
        self.assertEqual(len(workers), 2)
        os.kill(workers[0], signal.SIGKILL)
        code, out = run.finish()
        self.assertEqual(code, 0, run.text())
        report = json.loads(out)
        self.assertEqual(report["steps"], 2000)
        self.assertAlmostEqual(report["last_epoch_loss"], whole["last_epoch_loss"], delta=1e-5)

    def test_a_stopped_job_saves_and_dismisses_its_workers(self):
        saved = self.place / "saved"
        run = Running(self, "run", "--workers", 2, self.trains(), "--steps", 1000000, "--checkpoint", saved, token="")
        run.wait_for(r"^step ")
        run.send(signal.SIGTERM)
        self.assertEqual(run.finish()[0], 143)
        self.assertTrue(list(saved.iterdir()))
        run.wait_for(r"^\[worker \d\] .*the job was stopped after \d+ of", times=2)


if __name__ == "__main__":
    unittest.main()
