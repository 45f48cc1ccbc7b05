#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that this project no longer uses, and the words that replace them.

Usage: wording.py [ROOM...] lists the lines that still have one; wording.py --counts prints ALLOWED anew. tidy.py
counts them for each room: the counts only go down, so new text uses the usual word.
"""

import collections
import pathlib
import re
import subprocess
import sys

# A pattern, and what to write instead.
RETIRED = [
    (r"\bwant of memory\b", "out of memory"),
    (r"\b(\w*_)?desks?(_\w*)?\b|\w*Desk\b", "executor"),
    (r"\bmade-up\b", "fake"),
    (r"\bhabits\b|\w*Habits\b", "tracker or estimator"),
    (r"\bfor ever\b", "without limit, or for good"),
    (r"\bpeople\b", "users"),
    (r"\b(whom|whoever)\b", "a noun"),
    (r"\b(tell|tells|told)\b", "notify, report or say"),
    (r"\b(each|another|earlier|new|its|first|next) li(fe|ves)\b", "incarnation"),
    (r"(//|#|\*) (Of|Whether|Whose|Whom|Who|Behind|As many|As much) ", "a full sentence with its subject"),
    (r"\b(says|send|sends|said|sent|give|gives) a word\b|\blast_word", "a message or heartbeat"),
]
SUFFIXES = (".h", ".cc", ".c", ".cu", ".cuh", ".cl", ".py", ".fbs", ".md")
# Decisions and logs keep the words of their time; this folder has to name them.
EXEMPT = ("docs/decisions/", "docs/log/", "tests/tidy/", "CHANGELOG.md")

# Lines with a retired word in each room (two levels below tests).
ALLOWED = {
    "api": 13,
    "cli": 4,
    "coding": 2,
    "data": 1,
    "docs": 1,
    "planner": 14,
    "runtime": 44,
    "scheduler": 88,
    "sim": 3,
    "tests/base": 3,
    "tests/cli": 22,
    "tests/coding": 1,
    "tests/devices": 1,
    "tests/profiles": 1,
    "tests/runtime": 32,
    "tests/scheduler": 35,
    "tests/sim": 5,
    "tests/training": 6,
    "training": 11,
    "transport": 2,
}


def room_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "tests" and len(parts) > 2 else parts[0]


def retired_in(line):
    """The word's replacement; None: the line has none."""
    return next((instead for pattern, instead in RETIRED if re.search(pattern, line)), None)


def found(root, names):
    """Yields (name, line number, line, replacement)."""
    for name in names:
        if not name.endswith(SUFFIXES) or name.startswith(EXEMPT):
            continue
        for number, line in enumerate((root / name).read_text(errors="replace").split("\n"), 1):
            instead = retired_in(line)
            if instead is not None:
                yield name, number, line.strip(), instead


def today(root, names):
    return collections.Counter(room_of(name) for name, *_ in found(root, names))


def check(root, names, report):
    for room, count in sorted(today(root, names).items()):
        if count > ALLOWED.get(room, 0):
            report(room, 0, f"{count} lines with retired words, {ALLOWED.get(room, 0)} before: "
                            f"tests/tidy/wording.py {room} lists them")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, text=True,
                            capture_output=True, check=True).stdout.split("\n")
    names = [name for name in listed if (root / name).is_file()]
    if sys.argv[1:] == ["--counts"]:
        counts = today(root, names)
        print("ALLOWED = {\n" + "".join(f'    "{room}": {count},\n' for room, count in sorted(counts.items())) + "}")
        return
    for name, number, line, instead in found(root, names):
        if len(sys.argv) == 1 or room_of(name) in sys.argv[1:]:
            print(f"{name}:{number}: {line}  [{instead}]")


if __name__ == "__main__":
    main()
