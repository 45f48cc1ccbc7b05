#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bounds and the command line of benchmarks/wire.py, and one small run on machines with limited links."""

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import sum as loopback  # noqa: E402
import wire  # noqa: E402
import wire_training  # noqa: E402

# 1 MB over a link of 8 Mbit/s takes one second.
UNIT = 8


class Bounds(unittest.TestCase):
    def bound(self, links, spare=()):
        return wire.Case(1, tuple(UNIT * b for b in links), tuple(UNIT * b for b in spare)).bound_seconds()

    def test_equal_links_need_the_time_of_a_ring(self):
        self.assertAlmostEqual(self.bound([1] * 4), 1.5)
        self.assertAlmostEqual(self.bound([1] * 8), 1.75)

    def test_the_slowest_worker_must_still_send_and_receive_a_vector(self):
        self.assertAlmostEqual(self.bound([10, 10, 1, 1]), 1)
        self.assertAlmostEqual(self.bound([10, 10, 10, 2.5]), 0.4)

    def test_spare_servers_take_a_share(self):
        self.assertAlmostEqual(self.bound([1] * 8, [1] * 4), 14 / 11)
        self.assertAlmostEqual(self.bound([1] * 4, [1]), 4 / 3)
        self.assertAlmostEqual(self.bound([1] * 6, [10]), 1)

    def test_two_workers_gain_nothing_from_a_spare_server(self):
        self.assertAlmostEqual(self.bound([1, 1], [5]), 1)


class Arguments(unittest.TestCase):
    def cases(self, *words):
        return wire.parse(["program", *words]).cases

    def refused(self, *words):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
            self.cases(*words)
        self.assertEqual(ended.exception.code, 2)
        return errors.getvalue()

    def test_without_arguments_all_cases_run(self):
        self.assertEqual(self.cases(), list(wire.CASES))
        self.assertEqual({case.megabytes for case in self.cases("--megabytes", "5")}, {5})

    def test_links_and_workers(self):
        self.assertEqual(self.cases("--links", "500,50"), [wire.Case(100, (500, 50))])
        self.assertEqual(self.cases("--workers", "3"), [wire.Case(100, (1000,) * 3)])
        self.assertEqual(self.cases("--workers", "3", "--links", "9.5", "--spare", "7,8", "--megabytes", "2"),
                         [wire.Case(2, (9.5,) * 3, (7, 8))])

    def test_wrong_lists_are_refused_with_what_is_right(self):
        self.assertIn("such as 500,500,50", self.refused("--links", "500,fast"))
        self.assertIn("such as 500,500,50", self.refused("--links", "0,100"))
        self.assertIn("one for each", self.refused("--links", "1,2,3", "--workers", "4"))
        self.assertIn("at least 2", self.refused("--workers", "1"))
        self.assertIn("star", self.refused("--systems", "start"))

    def test_links_are_written_shortly(self):
        self.assertEqual(wire.Case(1, (1000,) * 4, (500,)).link_text, "4x1000+500")
        self.assertEqual(wire.Case(1, (500, 50)).link_text, "500,50")


KEYS = ("system", "links", "megabytes", "workers", "seconds", "bound_seconds")


class All(unittest.TestCase):
    """`--all` puts the rows of three benchmarks into one array. What they measure is not run here."""

    def test_sums_on_one_machine_have_the_same_keys(self):
        flags = loopback.parse(["program", "--workers", "8", "--megabytes", "1"])
        rows = loopback.rows(flags, {"Motley": 5.2, "PyTorch gloo": 26.0})
        self.assertEqual(rows[0], dict(zip(KEYS, ("Motley", "loopback", 1, 8, 0.0052, None))))
        self.assertEqual([row["system"] for row in rows], ["Motley", "PyTorch gloo"])

    def test_all_rows_are_one_array(self):
        trained = {"system": "motley", "fault": "none", "links": "4x1000", "megabytes": 91.4, "workers": 4,
                   "seconds": 1.3, "bound_seconds": 1.1, "outcome": "done"}
        summed = dict(zip(KEYS, ("direct", "4x1000", 100, 4, 1.3, 1.2)))
        output = io.StringIO()
        with mock.patch.object(wire, "run_cases", return_value=([summed], set())), \
                mock.patch.object(wire_training, "run", return_value=[trained]) as training, \
                mock.patch.object(loopback, "measure", return_value=({"Motley": 5.2}, {})), \
                mock.patch.object(sys, "argv", ["wire.py", "build/motley-sum", "--all"]), \
                contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()), \
                self.assertRaises(SystemExit) as ended:
            wire.main()
        self.assertEqual(ended.exception.code, 0)
        self.assertEqual(training.call_args[0][0].program, "build/motley")
        rows = json.loads(output.getvalue())
        self.assertEqual([(row["system"], row["links"], row["megabytes"], row["workers"]) for row in rows],
                         [("direct", "4x1000", 100, 4), ("motley", "4x1000", 91.4, 4),
                          ("Motley", "loopback", 100, 4), ("Motley", "loopback", 1, 8)])
        for row in rows:
            self.assertLessEqual(set(KEYS), set(row))

    def test_a_run_that_failed_is_no_success(self):
        failed = {"system": "motley", "outcome": "not done within 300 s"}
        with mock.patch.object(wire_training, "run", return_value=[failed]), \
                mock.patch.object(loopback, "measure", return_value=({"Motley": 5.2}, {})):
            self.assertEqual(wire.others("motley-sum")[1], {"training"})
        broken = subprocess.CalledProcessError(1, "motley-sum")
        trained = {"system": "motley", "outcome": "done"}
        with mock.patch.object(wire_training, "run", return_value=[trained]), \
                mock.patch.object(loopback, "measure", side_effect=broken), \
                contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(wire.others("motley-sum"), ([trained], {"sum"}))
        self.assertIn("motley-sum", errors.getvalue())


def no_machines():
    """Why machines with limited links cannot be made here, or None."""
    try:
        wire.Lab(2, "10.78.0.1", [100, 100]).close()
    except (OSError, subprocess.CalledProcessError) as error:
        return (getattr(error, "stderr", None) or str(error)).strip()
    return None


def namespaces(pid):
    """Those that a process made."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.split()
    return [name for name in listed if re.fullmatch(rf"mv{pid % 10000}[ms]\d*", name)]


class Machines(unittest.TestCase):
    """Runs the benchmark. Times are not checked, but that each result is right, and that nothing is left behind."""

    def command(self, *words):
        return [sys.executable, str(BENCHMARKS / "wire.py"), os.environ["MOTLEY_SUM"], *words]

    def test_every_system_sums_right_on_unequal_links(self):
        own = [system.name for system in wire.SYSTEMS if system.name != "gloo" and not system.missing()]
        done = subprocess.run(self.command("--systems", ",".join(own), "--json", "--megabytes", "0.3",
                                           "--links", "100,100,20", "--spare", "50"),
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([row["system"] for row in rows], own)
        for row in rows:
            self.assertEqual((row["links"], row["megabytes"], row["workers"]), ("100,100,20+50", 0.3, 3))
            self.assertAlmostEqual(row["bound_seconds"], 0.12)
            self.assertGreater(row["seconds"], 0)
        self.assertEqual(done.stderr.count(" x the bound of "), len(own), "no row as soon as it is there")

    def test_an_interrupt_removes_machines_and_processes(self):
        running = subprocess.Popen(self.command("--systems", "star", "--megabytes", "100", "--links", "1,1"),
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while not namespaces(running.pid) and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual(namespaces(running.pid), [])


if __name__ == "__main__":
    if sys.argv[1:] == ["Machines"] and (reason := no_machines()):
        print(f"skipped: machines with limited links need root, ip and tc: {reason}")
        sys.exit(77)
    unittest.main()
