#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/modes.svg: the times to a target of all modes, from the two tables of explanation/which-mode.md."""

import pathlib
import re

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT, TOP, BAR, GAP = 900, 500, 104, 10, 12
CLUSTERS = ("eight equal workers", "a spread of four", "a spread of four, with pauses")
# The heading of each table begins like this. The left edge of its panel, the axis' end and the ticks' distance.
PANELS = (("a9a", "a9a to a test loss of 0.33", 92, 50, 10), ("MNIST", "MNIST to a test accuracy of 93 %", 536, 25, 5))
SPAN = 320
STYLE = """text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.panel{font-weight:bold}
.note{fill:#555;font-size:11px}.back{fill:#fff}.grid{stroke:#ddd}.whisker{stroke:#222;stroke-width:1.3}
.c0{fill:#3b7dd8}.c1{fill:#e39a2d}.c2{fill:#8a5bb5}
@media (prefers-color-scheme:dark){text{fill:#e8e8e8}.note{fill:#b4b4b4}.back{fill:#161b22}.grid{stroke:#39404a}
.whisker{stroke:#e8e8e8}.c0{fill:#5a97ea}.c1{fill:#c98a2a}.c2{fill:#a880cf}}"""


def tables(page):
    """Yields (mode, cells) of each table row by the first word of the paragraph above the table."""
    found = {}
    for block in re.split(r"\n(?=a9a \(|MNIST \()", page)[1:]:
        rows = re.findall(r"^\| `([a-z][^`]+)` \| (.+) \|$", block.split("\n\n")[1], re.MULTILINE)
        found[block.split()[0]] = [(mode, cells.split(" | ")) for mode, cells in rows]
    return found


def bar(x, y, scale, number, cell):
    found = re.match(r"([\d.]+)(?: ± ([\d.]+))?(?: (\(\d of \d\)))?$", cell)
    if not found:
        return [f'<text x="{x + 4}" y="{y + 9}" class="note">{cell}</text>']
    mean, spread = float(found[1]), float(found[2] or 0)
    out = [f'<rect x="{x}" y="{y}" width="{mean * scale:.1f}" height="{BAR - 1}" class="c{number}"/>']
    end = x + (mean + spread) * scale
    if spread > 0:
        begin, middle = x + (mean - spread) * scale, y + (BAR - 1) / 2
        ends = "".join(f"M{at:.1f} {y + 1}v{BAR - 3}" for at in (begin, end))
        out.append(f'<path d="M{begin:.1f} {middle}H{end:.1f}{ends}" class="whisker"/>')
    if found[3]:
        out.append(f'<text x="{end + 5:.1f}" y="{y + 9}" class="note">{found[3][1:-1]} seeds</text>')
    return out


def panel(rows, title, left, limit, tick):
    scale = SPAN / limit
    bottom = TOP + len(rows) * (3 * BAR + GAP)
    out = [f'<text x="{left}" y="{TOP - 14}" class="panel">{title}</text>']
    for seconds in range(0, limit + 1, tick):
        x = left + seconds * scale
        out.append(f'<path d="M{x:.1f} {TOP - 4}V{bottom}" class="grid"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{seconds}</text>')
    out.append(f'<text x="{left + SPAN / 2}" y="{bottom + 36}" text-anchor="middle">simulated seconds</text>')
    for row, (mode, cells) in enumerate(rows):
        y = TOP + row * (3 * BAR + GAP)
        out.append(f'<text x="{left - 8}" y="{y + 19}" text-anchor="end">{mode}</text>')
        for number, cell in enumerate(cells):
            out += bar(left, y + number * BAR, scale, number, cell)
    return out


def main():
    found = tables((HERE / "explanation" / "which-mode.md").read_text())
    body = ['<text x="16" y="26" class="title">Time to a target by mode: mean and standard deviation of 3 seeds</text>']
    x = 16
    for number, name in enumerate(CLUSTERS):
        body.append(f'<rect x="{x}" y="42" width="14" height="14" class="c{number}"/>')
        body.append(f'<text x="{x + 20}" y="54">{name}</text>')
        x += 52 + 7 * len(name)
    for name, title, left, limit, tick in PANELS:
        body += panel(found[name], title, left, limit, tick)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
           f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{HEIGHT}" class="back"/>', *body, "</svg>"]
    (HERE / "modes.svg").write_text("\n".join(svg) + "\n")


if __name__ == "__main__":
    main()
