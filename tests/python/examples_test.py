# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/reference/python.md, from top to bottom. Those of Ray need a cluster (ray_cases.py)."""

import importlib.util
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
    names, missing = {}, []
    for title, code in sections():
        needed = {"scikit-learn": "sklearn", "PyTorch": "torch"}.get(title)
        if needed and importlib.util.find_spec(needed) is None:
            missing.append(title)
        elif title != "Ray":
            exec(compile(code, f"{PAGE.name}, {title}", "exec"), names)  # noqa: S102
    assert len(names["events"]) == 50
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; the other examples ran")
