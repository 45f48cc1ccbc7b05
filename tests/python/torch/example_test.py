# SPDX-License-Identifier: Apache-2.0
"""The example: three changed lines, and the same output alone and from four workers."""

import difflib
import os
import subprocess
import sys

import pytest
from processes import PACKAGE, environment, motley_program

EXAMPLES = PACKAGE.parent / "examples" / "pytorch"


def test_three_lines_change():
    plain, ours = [(EXAMPLES / name).read_text().splitlines() for name in ("mnist_plain.py", "mnist.py")]
    changes = list(difflib.unified_diff(plain, ours, lineterm="", n=0))[2:]
    assert sum(line.startswith("+") for line in changes) <= 3
    assert sum(line.startswith("-") for line in changes) <= 3


def output(command):
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=200)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.skipif(not os.path.exists(motley_program()), reason="the program motley is not built")
def test_four_workers_print_what_one_process_prints():
    script = str(EXAMPLES / "mnist.py")
    alone = output([sys.executable, script])
    assert "epoch 19: 9" in alone
    assert output([motley_program(), "run", "--python", sys.executable, "--workers", "4", script]) == alone
