#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/step.svg: one training step on four unlike workers, by hand-set figures.

Speeds 1 : 1 : 0.5 : 0.25, worker 1 paused. Equal shares wait for the slowest; proportional shares with
one coded copy end as soon as what arrived decodes.
"""

import pathlib

WIDTH, LEFT, UNIT, ROW = 880, 150, 640, 26
COLOURS = {"work": "#3b7dd8", "late": "#b8c4d6", "wait": "#f2d7a6"}


def panel(top, title, bars, end, note):
    out = [f'<text x="16" y="{top}" class="t">{title}</text>']
    for row, (name, pieces) in enumerate(bars):
        y = top + 14 + row * ROW
        out.append(f'<text x="16" y="{y + 15}">{name}</text>')
        for begin, stop, kind in pieces:
            out.append(f'<rect x="{LEFT + begin * UNIT:.0f}" y="{y}" '
                       f'width="{(stop - begin) * UNIT:.0f}" height="18" rx="3" '
                       f'fill="{COLOURS[kind]}"/>')
    bottom = top + 14 + len(bars) * ROW
    x = LEFT + end * UNIT
    out.append(f'<line x1="{x:.0f}" y1="{top + 8}" x2="{x:.0f}" y2="{bottom}" class="end"/>')
    out.append(f'<text x="{LEFT}" y="{bottom + 14}" class="n">{note}</text>')
    return out


def main():
    equal = [("speed 1", [(0, 0.25, "work"), (0.25, 1, "wait")]),
             ("speed 1", [(0, 0.25, "work"), (0.25, 1, "wait")]),
             ("speed 0.5", [(0, 0.5, "work"), (0.5, 1, "wait")]),
             ("speed 0.25", [(0, 1, "work")])]
    coded = [("speed 1", [(0, 0.727, "work")]),
             ("speed 1, paused", [(0, 0.2, "work"), (0.2, 1, "late")]),
             ("speed 0.5", [(0, 0.727, "work")]),
             ("speed 0.25", [(0, 0.727, "work")])]
    plain = [("speed 1", [(0, 0.364, "work")]), ("speed 1", [(0, 0.364, "work")]),
             ("speed 0.5", [(0, 0.364, "work")]), ("speed 0.25", [(0, 0.364, "work")])]
    body = panel(28, "Equal shares: every step waits for the slowest worker, and never ends if one is dead",
                 equal, 1.0, "the step ends here if no worker is paused")
    body += panel(190, "Motley with one more copy (--tolerate 1): any one worker may be late, paused or dead",
                  coded, 0.727, "exact gradient from the first answers that decode")
    body += panel(352, "Motley without a code (--code none): shares follow the measured speeds",
                  plain, 0.364, "others compute a missing share: the step is late, never lost")
    x = LEFT
    for kind, name in (("work", "computes"), ("wait", "waits"), ("late", "paused or dead: nothing waits for it")):
        body.append(f'<rect x="{x}" y="494" width="14" height="14" rx="3" fill="{COLOURS[kind]}"/>')
        body.append(f'<text x="{x + 20}" y="506" class="n">{name}</text>')
        x += 40 + 7 * len(name)
    body.append(f'<line x1="{x}" y1="492" x2="{x}" y2="510" class="end"/>')
    body.append(f'<text x="{x + 8}" y="506" class="n">the step ends</text>')
    style = ("text{font:13px sans-serif;fill:#222}.t{font-weight:bold}.n{fill:#555;font-size:12px}"
             ".end{stroke:#c33;stroke-width:2}")
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="520" '
           f'viewBox="0 0 {WIDTH} 520">', f"<style>{style}</style>",
           f'<rect width="{WIDTH}" height="520" fill="white"/>', *body, "</svg>"]
    (pathlib.Path(__file__).parent / "step.svg").write_text("\n".join(svg) + "\n")


if __name__ == "__main__":
    main()
