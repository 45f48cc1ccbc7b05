# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/reference/python.md, from top to bottom."""

import pathlib
import re
import textwrap

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/python.md"


def sections():
    """Yields (title, code) of the page's sections."""
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.M):
        lines = part.split("\n")
        yield lines[0], textwrap.dedent("\n".join(line for line in lines if line.startswith("    ")))


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for title, code in sections():
        if title == "scikit-learn":
            pytest.importorskip("sklearn", reason="scikit-learn is not installed; the examples before it ran")
        exec(compile(code, f"{PAGE.name}, {title}", "exec"), names)  # noqa: S102
    assert len(names["events"]) == 50
