#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the binary interface of the C API, so that a later release can be held to it.

Usage: record.py [--compare FILE] HEADERS LIBRARY. HEADERS is the folder include/motley, and CC names the compiler.
Prints the record: each function with its version, each type, each struct with its members, and each constant. With
--compare it prints what of FILE has changed, and exits 1 if anything has. Additions are fine.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def read(folder):
    """All headers as one text, without comments and with one declaration per line."""
    text = "\n".join(path.read_text() for path in sorted(folder.glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")
    return text


def plain(text):
    return re.sub(r"\s*\*\s*", "* ", " ".join(text.split())).replace("* *", "**").strip()


def functions(text):
    """Prototypes by name."""
    return {re.search(r"(motley_\w+)\s*\(", found)[1]: plain(found)
            for found in re.findall(r"^MOTLEY_API ([^;]+);", text, flags=re.M)}


def types(text):
    """Other names of types: numbers, callbacks, and structs that only the library knows."""
    return [plain(found) for found in re.findall(r"^typedef ([^;{]+);", text, flags=re.M)]


def structs(text):
    """[(member, type)] by struct."""
    found = {}
    for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)^\} \1;", text, flags=re.M | re.S):
        members = []
        for declaration in map(plain, body.split(";")):
            if declaration:
                member = re.search(r"\(\* (\w+)\)\(|(\w+)$", declaration)
                members.append((member[1] or member[2], declaration))
        found[name] = members
    return found


def constants(text):
    """Names of enumerators, and of macros that are numbers."""
    names = [name for body in re.findall(r"^enum \{(.*?)^\};", text, flags=re.M | re.S)
             for name in re.findall(r"\b(MOTLEY_\w+) =", body)]
    return names + re.findall(r"^#define (MOTLEY_\w+) U?INT\w+_MAX$", text, flags=re.M)


def measured(folder, text):
    """What the compiler makes of structs and constants: {(struct, member): (place, size)} and {constant: value}."""
    lines = [f'printf("{name} - 0 %zu\\n", sizeof({name}));' for name in structs(text)]
    lines += [f'printf("{name} {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name}*)0)->{member}));'
              for name, members in structs(text).items() for member, _ in members]
    lines += [f'printf("{name} = 0 %llu\\n", (unsigned long long){name});' for name in constants(text)]
    with tempfile.TemporaryDirectory() as place:
        source, program = pathlib.Path(place, "measure.c"), pathlib.Path(place, "measure")
        source.write_text("#include <motley/motley.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n  " +
                          "\n  ".join(lines) + "\n  return 0;\n}\n")
        subprocess.run([os.environ.get("CC", "cc"), f"-I{folder.parent}", source, "-o", program], check=True)
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {(name, member): (int(place), int(size))
            for name, member, place, size in map(str.split, out.splitlines())}


def exported(library):
    """Versions by symbol, like MOTLEY_1."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-1].split("@") for line in out.splitlines() if "motley_" in line]
    return {symbol[0]: symbol[-1] for symbol in symbols}


def record(folder, library):
    text = read(folder)
    numbers, versions = measured(folder, text), exported(library)
    lines = [f"function {versions.get(name, 'missing')} {prototype}" for name, prototype in functions(text).items()]
    lines += [f"type {found}" for found in types(text)]
    for name, members in structs(text).items():
        lines.append(f"struct {name} of {numbers[name, '-'][1]} bytes")
        for member, declaration in members:
            place, size = numbers[name, member]
            lines.append(f"member {name} at {place} of {size} bytes: {declaration}")
    lines += [f"constant {name} = {numbers[name, '='][1]}" for name in constants(text)]
    return lines


def broken(old, new):
    """Lines about what a program that was compiled with the old headers can no longer rely on."""
    kept = set(new)
    size = {name: int(count) for name, count in re.findall(r"^struct (\w+) of (\d+)", "\n".join(new), flags=re.M)}
    before = dict(re.findall(r"^struct (\w+) of (\d+)", "\n".join(old), flags=re.M))
    grows = {line.split()[1] for line in old if line.startswith("member ") and line.endswith(": uint32_t struct_size")}
    found = []
    for line in old:
        if line.startswith("struct "):
            name, count = line.split()[1], int(line.split()[3])
            fits = size.get(name, 0) >= count if name in grows else size.get(name) == count
            if not fits:
                found.append(f"{line}: now {size.get(name, 'missing')}")
        elif line not in kept:
            found.append(f"{line}: gone, or changed")
    for line in sorted(kept - set(old)):
        # A program says by struct_size which members it has. So a new one must not lie in what was padding.
        if line.startswith("member ") and line.split()[1] in before:
            name, place = line.split()[1], int(line.split()[3])
            if place < int(before[name]):
                found.append(f"{line}: within the {before[name]} bytes of before")
    return found


def main():
    arguments = sys.argv[1:]
    against = None
    if arguments[:1] == ["--compare"]:
        against, arguments = pathlib.Path(arguments[1]), arguments[2:]
    if len(arguments) != 2:
        sys.exit(__doc__)
    lines = record(pathlib.Path(arguments[0]).resolve(), arguments[1])
    if against is None:
        print("\n".join(lines))
        return
    found = broken(against.read_text().splitlines(), lines)
    if found:
        sys.exit(f"not as in {against}:\n  " + "\n  ".join(found))


if __name__ == "__main__":
    main()
