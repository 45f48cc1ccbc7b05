#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's user interface around the commands: completion, the manual page, --verbose, keys."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from tools.program import PATIENCE_S, PROGRAM, ProgramTest, children_of

SOURCE = pathlib.Path(__file__).parents[3]
COMMANDS = ["train", "run", "simulate", "compare", "sweep", "codes", "devices", "plan", "predict",
            "server", "profile", "checkpoint", "checkpoint list", "checkpoint verify", "checkpoint restore",
            "checkpoint export", "reproduce", "worker", "help", "completion"]


def flags_of(command):
    """All long flags that a command's --help shows."""
    text = subprocess.run([PROGRAM, *command.split(), "--help"], text=True, check=True, capture_output=True).stdout
    return sorted(set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z0-9-]*)", text, flags=re.M)))


class Completion(ProgramTest):
    """Completion in bash. Classes below repeat its tests in other shells."""
    SHELL = "bash"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which(cls.SHELL) is None:
            raise unittest.SkipTest(f"{cls.SHELL} is not installed here")
        cls.script = cls.folder / f"motley.{cls.SHELL}"
        cls.script.write_text(subprocess.run([PROGRAM, "completion", cls.SHELL], text=True, check=True,
                                             capture_output=True).stdout)
        cls.place = cls.folder / "place"
        (cls.place / "runs").mkdir(parents=True)
        (cls.place / "digits.csv").write_text("")

    def shell(self, *arguments):
        home = {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        done = subprocess.run([self.SHELL, *map(str, arguments)], text=True, capture_output=True, cwd=self.place,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, env={**os.environ, **home})
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def complete(self, *words):
        """The words that the shell offers for the last word after the tab key."""
        line = f"""source {shlex.quote(str(self.script))}
COMP_WORDS=({' '.join(map(shlex.quote, ('motley', *words)))})
COMP_CWORD={len(words)}
_motley && printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        return sorted(self.shell("--norc", "-uc", line).split())

    def test_the_script_is_well_formed(self):
        self.shell("-n", self.script)

    def test_commands(self):
        self.assertEqual(self.complete("tr"), ["train"])
        self.assertEqual(set(self.complete("")), {command for command in COMMANDS if " " not in command})
        self.assertEqual(self.complete("checkpoint", "e"), ["export"])
        self.assertEqual(self.complete("help", "env"), ["environment"])
        self.assertEqual(self.complete("completion", ""), ["bash", "fish", "zsh"])

    def test_every_flag_of_every_command(self):
        for command in COMMANDS:
            offered = [word for word in self.complete(*command.split(), "--") if word.startswith("--")]
            self.assertEqual(offered, flags_of(command), command)
        self.assertEqual(self.complete("train", "--checkpoint-e"), ["--checkpoint-every"])
        self.assertEqual(self.complete("train", "--model", "mlp:256", "--ep"), ["--epochs", "--epsilon"])

    def test_values(self):
        self.assertEqual(self.complete("train", "--code", "ad"), ["adaptive"])
        self.assertEqual(self.complete("train", "--optimizer", "adam"), ["adam", "adamw"])
        self.assertEqual(self.complete("train", "--storage", ""), ["bf16", "float32", "fp16"])
        self.assertIn("mlp:", self.complete("train", "--model", ""))
        self.assertEqual(self.complete("train", "--lr", ""), [])

    def test_values_after_an_equals_sign(self):
        self.assertEqual(self.complete("train", "--code", "=", "gr"), ["graph", "group"])
        self.assertEqual(self.complete("train", "--code", "="), self.complete("train", "--code", ""))

    def test_files_and_folders(self):
        self.assertEqual(self.complete("train", "--data", "dig"), ["digits.csv"])
        self.assertEqual(self.complete("train", "--resume", ""), ["runs"])
        self.assertEqual(self.complete("checkpoint", "verify", ""), ["runs"])

    def test_another_shell_is_said_to_have_none(self):
        done = self.run_program("completion", "tcsh", expect=2)
        self.assertIn("no completion for 'tcsh'", done.stderr)


class CompletionZsh(Completion):
    """Replaces zsh's completion commands, which need a terminal, by functions of the test."""
    SHELL = "zsh"

    def complete(self, *words):
        line = f"""compdef() {{ [[ $* == "_motley motley" ]] }}
compset() {{ }}
compadd() {{ while [[ $1 != -- ]]; do shift; done; shift; printf '%s\\n' "$@" }}
_files() {{ if [[ $1 == -/ ]]; then print -l *(/N); else print -l *(N); fi }}
source {shlex.quote(str(self.script))}
words=({' '.join(map(shlex.quote, ('motley', *words)))})
CURRENT={len(words) + 1}
_motley || true
"""
        offered = self.shell("-f", "-c", line).split()
        return sorted(word for word in offered if word.startswith(words[-1].split("=")[-1]))

    def test_values_after_an_equals_sign(self):
        self.assertEqual(self.complete("train", "--code=gr"), ["graph", "group"])


class CompletionFish(Completion):
    SHELL = "fish"

    def complete(self, *words):
        line = f"source {shlex.quote(str(self.script))}; complete -C {shlex.quote(' '.join(('motley', *words)))}"
        offered = [entry.split("\t")[0] for entry in self.shell("--no-config", "-c", line).splitlines()]
        return sorted(word.removesuffix("/") for word in offered)

    def test_values_after_an_equals_sign(self):
        self.assertEqual(self.complete("train", "--code=gr"), ["--code=graph", "--code=group"])

    def test_flags_are_explained(self):
        line = f"source {shlex.quote(str(self.script))}; complete -C 'motley train --'"
        for entry in self.shell("--no-config", "-c", line).splitlines():
            flag, text = entry.split("\t")
            self.assertGreater(len(text), 3, flag)


class Manual(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.folder / "motley.1"
        cls.page.write_text(subprocess.run([PROGRAM, "help", "--man"], text=True, check=True,
                                           capture_output=True).stdout)

    def test_it_has_every_command_and_flag(self):
        sections = re.split(r"^\.S[SH] ", self.page.read_text().replace("\\-", "-"), flags=re.M)
        for command in COMMANDS:
            found = [text for text in sections if text.startswith(f"motley {command}\n")]
            self.assertEqual(len(found), 1, command)
            for flag in flags_of(command):
                self.assertIn(f"\\fB{flag}\\fR", found[0], command)
        for topic in ("NAME", "SYNOPSIS", "ENVIRONMENT", "EXIT-CODES", "FAULTS"):
            self.assertTrue(any(text.startswith(topic) for text in sections), topic)

    def test_the_reference_has_the_listed_optimizers_and_faults(self):
        reference = (SOURCE / "docs/reference/train.md").read_text()
        header = (SOURCE / "include/motley/options.h").read_text()
        help_text = subprocess.run([PROGRAM, "train", "--help"], text=True, check=True, capture_output=True).stdout
        optimizers = re.findall(r"^ +(\w+): ", help_text.split("--optimizer")[1].split("--lr")[0], flags=re.M)
        self.assertGreater(len(optimizers), 3)
        row = next(line for line in reference.splitlines() if line.startswith("| `--optimizer"))
        self.assertEqual(re.findall(r"`(\w+)`", row), optimizers)
        self.assertIn(f"/**< {', '.join(optimizers)} */", header)
        faults = re.findall(r"^  (\w+:\S+)", self.run_program("help", "faults").stdout, flags=re.M)
        self.assertGreater(len(faults), 3)
        section = reference.split("\n## Faults\n")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\| `(\S+)` \|", section, flags=re.M), faults)

    def test_roff_warns_of_nothing(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed here")
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-z", self.page], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_reads_as_it_was_written(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed here")
        text = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", self.page], text=True, check=True,
                              capture_output=True).stdout
        self.assertIn("motley - train one model on machines that are not alike", text)
        self.assertRegex(text, r"--code NAME \(default: auto\)")
        self.assertIn("--code heterogeneous --tolerate 1 --fault kill:2@step=50", text)


class Verbose(ProgramTest):
    JOB = ["--workers", "2", "--shares", "equal", "--batch", "60", "--steps", "40"]
    STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ")

    def test_it_says_when_and_who(self):
        done = self.run_program("train", "--data", self.data, *self.JOB, "-v")
        lines = [line for line in done.stderr.split("\n") if line]
        for line in lines:
            self.assertRegex(line, self.STAMP)
        said = [self.STAMP.sub("", line) for line in lines]
        for beginning in ("worker 0 joined: ", "worker 1 joined: ", "learns by ", "step 40/40"):
            self.assertTrue(any(line.startswith(beginning) for line in said), (beginning, said))

    def test_without_it_lines_are_short(self):
        done = self.run_program("train", "--data", self.data, *self.JOB)
        self.assertRegex(done.stderr, r"(?m)^learns by ")
        self.assertNotRegex(done.stderr, r"(?m)^worker \d joined|takes over|^\d{4}-")

    def test_why_a_code_was_chosen_is_said_to_those_who_ask(self):
        job = ["train", "--data", self.data, "--worker-speeds", "1,1", "--sample-time", "1ms", "--batch", 60, "--steps",
               60, "--json"]
        for more in ((), ("-v",)):
            done = self.run_program(*job, *more)
            choices = json.loads(done.stdout)["choices"]
            self.assertGreaterEqual(len(choices), 1)
            for choice in choices:
                self.assertEqual(choice["why"] in done.stderr, bool(more), choice)
            tolerated = [0, *(choice["tolerate"] for choice in choices)]
            changes = sum(before != now for before, now in zip(tolerated, tolerated[1:]))
            said = re.findall(r"code: .*; (?:\d+ workers? may be missing|a missing worker now)", done.stderr)
            self.assertEqual(len(said), changes, done.stderr)

    def test_quiet_and_verbose_contradict_each_other(self):
        done = self.run_program("train", "--data", self.data, "-q", "-v", expect=2)
        self.assertIn("cannot both be given", done.stderr)


def be_a_shell(terminal, *command):
    """Acts as a shell with one job: the foreground, Ctrl-Z, fg, bg. Writes each state to standard output."""
    os.setsid()
    tty = os.open(terminal, os.O_RDWR)  # The first terminal that is opened becomes the session's.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(tty, os.getpid())
        # The test runner may ignore or block signals, and programs inherit that.
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for fd in range(3):
            os.dup2(tty, fd)
        os.execv(command[0], command)
    print("pid", pid, flush=True)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.tcsetpgrp(tty, os.getpgrp())
        if not os.WIFSTOPPED(status):
            print("ended", os.waitstatus_to_exitcode(status), flush=True)
            sys.stdin.read()
            return
        print("stopped", flush=True)
        if sys.stdin.readline() == "fg\n":
            os.tcsetpgrp(tty, pid)
        os.killpg(pid, signal.SIGCONT)


class Keys(ProgramTest):
    """A job in a pseudo-terminal whose user is this test."""

    def start(self, columns, *arguments):
        self.master, slave = pty.openpty()
        self.resize(columns)
        self.written = self.heard = ""
        self.shell = subprocess.Popen(
            [sys.executable, __file__, "--shell", os.ttyname(slave), PROGRAM, *map(str, arguments)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TERM": "xterm"})
        self.addCleanup(self.clear, self.shell, self.master, slave)
        self.pid = None
        self.pid = int(self.told("pid"))

    def clear(self, shell, *terminal):
        if self.pid is not None and shell.poll() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shell.kill()
        shell.communicate()
        for fd in terminal:
            os.close(fd)

    def told(self, what):
        """The next state from the shell. Reads the program's output meanwhile, because it would block otherwise."""
        self.read_until(self.heard_a_line, f"'{what}' from the shell")
        line, self.heard = self.heard.split("\n", 1)
        word, *rest = line.split()
        self.assertEqual(word, what)
        return rest[0] if rest else ""

    def heard_a_line(self):
        """Reads without Python's buffer: select() does not see a line that was read together with the one before."""
        if "\n" not in self.heard and select.select([self.shell.stdout], [], [], 0)[0]:
            self.heard += os.read(self.shell.stdout.fileno(), 4096).decode()
        return "\n" in self.heard

    def order(self, what):
        self.shell.stdin.write(what + "\n")
        self.shell.stdin.flush()

    def train(self, columns=80, steps=10**7, *more):
        self.start(columns, "train", "--data", self.data, "--worker-speeds", "1,0.5,0.5", "--sample-time", "500us",
                   "--steps", steps, "--batch", 60, "--code", "none", "--shares", "equal", *more)
        self.read_until(lambda: " left, loss" in self.written and not self.shown_as_typed(), "a bar, and keys")

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    def shown_as_typed(self):
        """True if the terminal waits for whole lines and shows them. It does so unless a program takes its keys."""
        flags = termios.tcgetattr(self.master)[3]
        both = bool(flags & termios.ICANON), bool(flags & termios.ECHO)
        self.assertEqual(both[0], both[1])
        return both[0]

    def read_until(self, holds, what):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), end, f"no {what} in {self.written[-2000:]!r}")
            if select.select([self.master], [], [], 0.02)[0]:
                self.written += os.read(self.master, 65536).decode(errors="replace")

    def press(self, keys):
        self.written = ""
        os.write(self.master, keys.encode())

    def drawn(self, mark, times):
        """The text from the second `mark` on. Earlier output does not count."""
        self.written = ""
        self.read_until(lambda: self.written.count(mark) >= times + 2, f"{times} times {mark!r}")
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", "".join(self.written.split(mark)[2:]))

    def check_width(self, text, columns):
        self.assertEqual([line for line in re.split(r"[\r\n]+", text) if len(line) >= columns], [])

    def test_t_shows_and_hides_a_table_within_the_width(self):
        self.train(140)
        self.press("t")
        self.read_until(lambda: re.search(r"\n1 worker-1 +\d+ % +[\d.]+k? +\d+  up\s", self.written), "rates")
        for columns in (140, 80, 60):
            self.resize(columns)
            table = self.drawn("worker   ", 3)
            self.check_width(table, columns)
            self.assertRegex(table, r"share +samples/s +late +state\s")
        self.press("t")
        self.assertNotIn("samples/s", self.drawn(" left, loss", 3))

    def test_a_lost_worker_is_lost_in_the_table(self):
        self.train(80, 10**7, "--fault", "kill:2@step=5")
        self.press("t")
        self.read_until(lambda: re.search(r"2 worker-2 .* lost", self.written), "lost worker in the table")

    def test_a_paused_worker_is_late_in_the_table_until_it_goes_on(self):
        self.train(80, 10**7)
        self.press("t")
        paused = children_of(self.pid)[2]
        os.kill(paused, signal.SIGSTOP)
        self.addCleanup(os.kill, paused, signal.SIGCONT)
        self.read_until(lambda: re.search(r" late\s.*, 2/3 up", self.written, flags=re.S), "late worker")
        self.written = ""
        os.kill(paused, signal.SIGCONT)
        self.read_until(lambda: ", 3/3 up" in self.written, "count of all workers")

    def test_settings_come_back_at_the_end(self):
        self.train(80, 150)
        self.press("t")
        self.assertEqual(self.told("ended"), "0")
        self.assertTrue(self.shown_as_typed())

    def test_settings_come_back_after_ctrl_c_and_at_once_after_a_second_signal(self):
        self.train()
        self.press("t\x03")
        self.assertEqual(self.told("ended"), "130")
        self.assertTrue(self.shown_as_typed())
        self.train()
        os.kill(self.pid, signal.SIGTERM)
        os.kill(self.pid, signal.SIGINT)
        # If the program runs only after both have arrived, Linux delivers SIGINT, the lower number, first.
        self.assertIn(self.told("ended"), ("-2", "-15", "130", "143"))
        self.assertTrue(self.shown_as_typed())

    def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(self):
        self.train()
        self.press("t")
        self.read_until(lambda: "samples/s" in self.written, "table")
        self.press("\x1a")
        self.told("stopped")
        self.assertTrue(self.shown_as_typed())
        self.order("fg")
        self.read_until(lambda: not self.shown_as_typed(), "keys")
        self.drawn("worker   ", 2)
        self.press("\x1a")
        self.told("stopped")
        self.order("bg")  # In the background it still draws, but does not take keys.
        self.drawn("worker   ", 4)
        self.assertTrue(self.shown_as_typed())

    def test_ctrl_z_while_it_draws_gives_the_terminal_back_each_time(self):
        self.train()
        for _ in range(10):
            self.press("t\x1a")
            self.told("stopped")
            self.assertTrue(self.shown_as_typed())
            self.order("fg")
            self.read_until(lambda: not self.shown_as_typed(), "keys")

    def test_words_fit_a_narrow_terminal(self):
        for columns in (80, 60):
            self.start(columns)
            self.told("ended")
            self.read_until(lambda: "128 + N" in self.written, "the end of the help")
            self.check_width(self.written, columns + 1)
            self.train(columns)
            self.press("\x03")
            self.read_until(lambda: "stopping in good order" in self.written, "what Ctrl-C does")
            self.told("ended")
            said = [line for line in self.written.split("\n") if "stopping" in line]
            self.check_width("\n".join(said), columns)

    def test_keys_are_left_alone_where_only_stderr_is_a_terminal(self):
        master, slave = pty.openpty()
        with subprocess.Popen([PROGRAM, "train", "--data", self.data, "--steps", "30"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"}) as process:
            os.close(slave)
            try:
                while os.read(master, 65536):
                    pass
            except OSError:
                pass
            self.assertEqual(process.wait(PATIENCE_S), 0)
        os.close(master)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--shell"]:
        be_a_shell(*sys.argv[2:])
    else:
        unittest.main(verbosity=2)
