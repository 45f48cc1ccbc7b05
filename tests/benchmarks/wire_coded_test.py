#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How benchmarks/wire_coded.py ends. No machines are made."""

import contextlib
import io
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import wire_coded  # noqa: E402

BEFORE = {"steps": 8, "seconds": 3.0, "received": 1.4}
ROW = {"links": "8x100", "megabytes": 2.7, "code": "cyclic tolerate 2", "before": BEFORE, "held": BEFORE}
BROKEN = subprocess.CalledProcessError(2, ["sysctl"], stderr="no such key: \u00e9".encode())


class Ends(unittest.TestCase):
    def end(self, **replaced):
        """The exit code and what was printed on stderr, with these functions of the benchmark replaced."""
        errors = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(sys, "argv", ["wire_coded.py", "motley", "--congestion", "reno"]))
            stack.enter_context(contextlib.redirect_stderr(errors))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            for name, value in replaced.items():
                stack.enter_context(mock.patch.object(wire_coded, name, value))
            try:
                wire_coded.main()
            except SystemExit as ended:
                text = ended.code if isinstance(ended.code, str) else ""
                return (1 if text else ended.code), errors.getvalue() + text
        return 0, errors.getvalue()

    def test_only_missing_machines_are_skipped(self):
        code, text = self.end(Lab=mock.Mock(side_effect=PermissionError("not root")))
        self.assertEqual(code, 77)
        self.assertIn("skipped", text)
        self.assertIn("not root", text)

    def test_a_congestion_control_that_is_not_here_is_skipped(self):
        lab = mock.Mock(**{"on.return_value": []})
        run = mock.Mock(side_effect=BROKEN)
        with mock.patch.object(subprocess, "run", run):
            code, text = self.end(Lab=mock.Mock(return_value=lab))
        self.assertEqual(code, 77)
        self.assertIn("no such key: \u00e9", text)
        lab.close.assert_called_once()

    def test_failures_of_a_run_fail(self):
        for error in (BROKEN, OSError("motley is not there"), wire_coded.Failed("a worker did not join")):
            with self.subTest(error=error):
                code, text = self.end(machines=mock.Mock(), samples=mock.Mock(side_effect=error))
                self.assertEqual(code, 1)
                self.assertNotIn("skipped", text)
                self.assertIn(wire_coded.reason(error), text)

    def test_a_run_in_which_nothing_was_held_fails(self):
        code, text = self.end(run=mock.Mock(return_value={**ROW, "held": None}))
        self.assertEqual(code, 1)
        self.assertIn("no answers were held", text)
        self.assertEqual(self.end(run=mock.Mock(return_value=ROW)), (0, ""))


if __name__ == "__main__":
    unittest.main()
