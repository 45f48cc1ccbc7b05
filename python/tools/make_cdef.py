#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes motley/_cdef.py and motley/options.py from include/motley/*.h.

Usage: make_cdef.py [--check]. With --check it writes nothing, and exits 1 if a file is old.
"""

import pathlib
import re
import sys
import textwrap

import cffi

PYTHON = pathlib.Path(__file__).resolve().parents[1]
HEADERS = PYTHON.parent / "include" / "motley"
NUMBERS = {"UINT32_MAX": 2**32 - 1, "UINT64_MAX": 2**64 - 1, "NULL": 0}
# The Python type of an option, by its type in C.
OPTION_TYPES = {
    "char *": "str | None",
    "char * *": "Sequence[str | os.PathLike[str]] | None",
    "double": "float | None",
    "uint64_t": "int | None",
    "uint32_t": "int | None",
    "int32_t": "int | None",
}
OPTIONS_HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Made from include/motley/options.h by tools/make_cdef.py; do not edit."""

import os
from collections.abc import Sequence
from typing import TypedDict

from .data import Data


class JobOptions(TypedDict, total=False):
    """The options of a job; None is the default of each.

    The comments are those of the C API, where NULL is None, and texts have the form of the flags of
    `motley train`. `data` may also be arrays (see motley.Data).
    """

'''
PATHS = ("checkpoint", "resume", "record_profile", "init")


def headers():
    """The texts of all headers, each after those that it includes."""
    ordered = {}

    def add(name):
        if name in ordered:
            return
        text = (HEADERS / name).read_text()
        for other in re.findall(r"#include <motley/(\w+\.h)>", text):
            add(other)
        ordered[name] = text

    add("motley.h")
    return ordered


def declarations(text):
    """A header as cffi reads it: no comments, no directives, no attributes."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")
    text = re.sub(r'#ifdef __cplusplus\s*\n(extern "C" \{|\})\s*\n#endif', "", text)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M).replace("MOTLEY_API ", "")
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(line for line in lines if line)


def constants(text):
    """Numbers that a header defines by #define."""
    found = {}
    for name, value in re.findall(r"^#define (MOTLEY_\w+) (\w+)\b", text, flags=re.M):
        if value in NUMBERS or value.isdigit():
            found[name] = NUMBERS[value] if value in NUMBERS else int(value)
    return found


def initial_values(text, ffi):
    """Members that a struct's _INIT macro sets to something but 0, by struct."""
    found = {}
    text = text.replace("\\\n", " ")
    for values in re.findall(r"#define MOTLEY_\w+_INIT\s*\{(.*?)\}", text):
        first, *rest = [value.strip() for value in values.split(",")]
        struct = re.fullmatch(r"sizeof\((\w+)\)", first)[1]
        members = [name for name, _ in ffi.typeof(struct).fields][1:]
        if len(members) != len(rest):
            sys.exit(f"{struct}: {len(members)} members after the first, {len(rest)} initial values")
        found[struct] = {name: int(value) for name, value in zip(members, rest)
                         if value.isdigit() and int(value) != 0}
    return found


def options(text):
    """Yields (type, name, comment) of the members of motley_job_options."""
    body = re.search(r"typedef struct motley_job_options \{(.*?)\n\} motley_job_options;", text, flags=re.S)[1]
    pattern = re.compile(r"\s*(?:/\*\*(?!<)(?P<before>.*?)\*/|/\*(?!\*)(?P<group>.*?)\*/|"
                         r"(?P<type>[\w \*]+?)\s?(?P<name>\w+);(?:[ ]*/\*\*<(?P<after>.*?)\*/)?)", flags=re.S)
    comment, position = "", 0
    while match := pattern.match(body, position):
        position = match.end()
        if match["before"] is not None:
            comment = match["before"]
        if match["name"] is None:
            continue
        yield match["type"].replace("const", "").replace("*", " *"), match["name"], match["after"] or comment
        comment = ""
    if body[position:].strip():
        sys.exit(f"motley_job_options: cannot read {body[position:][:80]!r}")


def cdef_file(texts):
    cdef = "\n".join(part for part in map(declarations, texts.values()) if part)
    ffi = cffi.FFI()
    ffi.cdef(cdef)
    everything = "".join(texts.values())
    numbers = "".join(f"    {name!r}: {value},\n" for name, value in constants(everything).items())
    initial = "".join(f"    {name!r}: {value},\n" for name, value in initial_values(everything, ffi).items())
    quotes = '"' * 3
    return (f"# SPDX-License-Identifier: Apache-2.0\n{quotes}Made from include/motley by tools/make_cdef.py; "
            f"do not edit.{quotes}\n\nCONSTANTS = {{\n{numbers}}}\n\n"
            f"# Initial values of structs that are not 0.\nINITIAL: dict[str, dict[str, int]] = {{\n{initial}}}\n\n"
            f"CDEF = {quotes}\n{cdef}\n{quotes}\n").replace("'", '"')


def options_file(texts):
    lines = []
    for kind, name, comment in options(texts["options.h"]):
        if name in ("struct_size", "role", "given"):
            continue
        words = " ".join(line.strip().lstrip("*").strip() for line in comment.split("\n")).split()
        lines += textwrap.wrap(" ".join(words), 100, initial_indent="    # ", subsequent_indent="    # ")
        type_name = OPTION_TYPES[" ".join(kind.split())]
        if name in PATHS:
            type_name = "str | os.PathLike[str] | None"
        lines.append(f"    {name}: {'Data | None' if name == 'data' else type_name}")
    return OPTIONS_HEAD + "\n".join(lines) + "\n"


def main():
    texts = headers()
    old = []
    for name, text in (("_cdef.py", cdef_file(texts)), ("options.py", options_file(texts))):
        path = PYTHON / "motley" / name
        if path.exists() and path.read_text() == text:
            continue
        old.append(str(path))
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
    if old and "--check" in sys.argv[1:]:
        sys.exit(f"not as include/motley is now: {', '.join(old)}. Run python/tools/make_cdef.py")


if __name__ == "__main__":
    main()
