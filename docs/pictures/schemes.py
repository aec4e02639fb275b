"""Draws the schemes of the documentation: the paper's two figures of the
architecture anew, and how a protocol cuts a dataset.

usage: schemes.py FOLDER

Colours are classes, so that one file serves light and dark pages.
"""

import math
import sys
from html import escape
from pathlib import Path

STYLE = """
.scheme{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:14.5px}
.scheme text{fill:#1c1e21}
.scheme .faint{fill:#596070;font-size:13px}
.scheme .strong{font-weight:600}
.scheme .symbol{font-style:italic;font-family:Georgia,"DejaVu Serif",serif;font-size:16px}
.scheme .middle{text-anchor:middle}
.scheme .end{text-anchor:end}
.scheme .box{fill:#f4f6f9;stroke:#aeb4bf}
.scheme .work{fill:#dfe9fb;stroke:#0247c0}
.scheme .pool{fill:#fdebdc;stroke:#d05f05}
.scheme .read{fill:#dcf3e8;stroke:#168a54}
.scheme .edge{stroke:#868d9a;stroke-width:1.3}
.scheme .vertex{fill:#ffffff;stroke:#3d434e;stroke-width:1.3}
.scheme .near{fill:#8db4f5;stroke:#0247c0}
.scheme .self{fill:#0247c0;stroke:#0247c0}
.scheme .dropped{fill:none;stroke:#868d9a;stroke-dasharray:2 2}
.scheme .arrow{fill:none;stroke:#3d434e;stroke-width:1.4}
.scheme .tip{fill:#3d434e}
.scheme .dashed{stroke-dasharray:4 3}
@media screen and (prefers-color-scheme:dark){
.scheme text{fill:#e8eaee}
.scheme .faint{fill:#a3abb8}
.scheme .box{fill:#1d2026;stroke:#565d6a}
.scheme .work{fill:#1b2847;stroke:#7f9ef5}
.scheme .pool{fill:#3a2a18;stroke:#e0a352}
.scheme .read{fill:#17332a;stroke:#3fc98f}
.scheme .edge{stroke:#7d8593}
.scheme .vertex{fill:#15171b;stroke:#c9ced8}
.scheme .near{fill:#3d5aa8;stroke:#9db4fa}
.scheme .self{fill:#9db4fa;stroke:#9db4fa}
.scheme .dropped{fill:none;stroke:#7d8593}
.scheme .arrow{stroke:#c9ced8}
.scheme .tip{fill:#c9ced8}
}
"""


class Scheme:
    """An SVG that grows line by line."""

    def __init__(self, width, height, title, description):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="scheme" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>{STYLE}</style>",
        ]

    def text(self, x, y, text, kind=""):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>')

    def box(self, x, y, width, height, kind="box", round=6):
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round}" class="{kind}"/>'
        )

    def arrow(self, points, kind="", tip=True):
        """Along straight lines, with a tip at the last point."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        self.lines.append(f'<path d="M{path}" class="arrow {kind}"/>')
        if tip:
            (x0, y0), (x, y) = points[-2:]
            self.tip(x, y, math.atan2(y - y0, x - x0))

    def curve(self, path, end, angle):
        self.lines.append(f'<path d="{path}" class="arrow"/>')
        self.tip(*end, angle)

    def tip(self, x, y, angle):
        corners = [(x, y)] + [
            (x - 8 * math.cos(angle + turn), y - 8 * math.sin(angle + turn)) for turn in (-0.4, 0.4)
        ]
        self.lines.append(f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}" class="tip"/>')

    def graph(self, places, edges, kinds, radius=6):
        for a, b in edges:
            (x1, y1), (x2, y2) = places[a], places[b]
            self.lines.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="edge"/>')
        for at, (x, y) in places.items():
            self.lines.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" class="vertex {kinds.get(at, "")}"/>')

    def write(self, path):
        path.write_text("\n".join(self.lines) + "\n</svg>\n")


#: A small graph, and what is left of it after one and two selections.
PLACES = {
    0: (18, 40), 1: (50, 14), 2: (48, 62), 3: (86, 36), 4: (84, 84), 5: (122, 16),
    6: (120, 62), 7: (52, 108), 8: (88, 128), 9: (124, 106), 10: (20, 92), 11: (154, 82),
}  # fmt: skip
EDGES = [
    (0, 1), (0, 2), (1, 3), (2, 3), (3, 5), (3, 6), (2, 4), (4, 6), (2, 7), (4, 8),
    (7, 8), (8, 9), (6, 9), (7, 10), (2, 10), (9, 11), (6, 11), (5, 6),
]  # fmt: skip
LEVELS = [
    (PLACES, EDGES),
    ({v: PLACES[v] for v in (0, 3, 4, 7, 9, 11)}, [(0, 3), (3, 4), (0, 7), (4, 7), (4, 9), (7, 9), (3, 11), (9, 11)]),
    ({v: PLACES[v] for v in (3, 7, 9)}, [(3, 7), (7, 9), (3, 9)]),
]


def moved(places, x, y):
    return {at: (x + a, y + b) for at, (a, b) in places.items()}


def reservoirs():
    scheme = Scheme(
        880, 400, "Reservoirs on top of each other, seen from one vertex",
        "A vertex of a graph and its neighbours. In every block the states of the neighbours, times W, and the "
        "input of the vertex, times V, are added and passed through tanh, again and again until nothing "
        "changes; the state is the input of the next block.",
    )  # fmt: skip
    scheme.text(20, 30, "the graph", "strong")
    places = {at: (20 + 1.25 * x, 52 + 1.25 * y) for at, (x, y) in PLACES.items()}
    kinds = {3: "self", 1: "near", 2: "near", 5: "near", 6: "near"}
    scheme.graph(places, EDGES, kinds, radius=8)
    scheme.text(places[3][0] - 4, places[3][1] - 13, "v", "symbol")
    scheme.text(20, 252, "Every vertex does the same at once.", "faint")
    scheme.text(20, 270, "W and V are drawn at random and stay.", "faint")
    for block, top in ((1, 276), (2, 150), (3, 24)):
        left = 300
        scheme.box(left, top, 400, 96)
        scheme.text(left + 14, top + 22, f"block {block}", "strong")
        # The states of the neighbours, gathered.
        for slot in range(4):
            scheme.box(left + 90 + 22 * slot, top + 18, 16, 16, "near", 3)
        scheme.text(left + 90, top + 52, "neighbours' states", "faint")
        scheme.arrow([(left + 178, top + 26), (left + 226, top + 40)])
        scheme.text(left + 198, top + 22, "W", "symbol")
        input_name = "x(v)" if block == 1 else f"state of block {block - 1}"
        scheme.text(left + 150, top + 80, input_name, "symbol end" if block == 1 else "faint end")
        scheme.arrow([(left + 158, top + 75), (left + 226, top + 58)])
        scheme.text(left + 188, top + 84, "V", "symbol")
        scheme.box(left + 230, top + 34, 60, 30, "work", 15)
        scheme.text(left + 260, top + 54, "tanh", "middle")
        scheme.arrow([(left + 290, top + 49), (left + 340, top + 49)])
        scheme.lines.append(f'<circle cx="{left + 354}" cy="{top + 49}" r="11" class="vertex self"/>')
        x, y = left + 354, top + 37
        scheme.curve(f"M{x} {y} C{x - 4} {top + 8} {left + 266} {top + 2} {left + 261} {top + 33}", (left + 261, top + 33), 1.45)
        scheme.text(left + 386, top + 84, "until it settles", "faint end")
        if block < 3:
            scheme.arrow([(x, top + 61 - 96 + 34), (x, top - 20)])
        else:
            scheme.arrow([(left + 366, top + 49), (left + 434, top + 49)])
            scheme.text(left + 442, top + 46, "state of v,", "strong")
            scheme.text(left + 442, top + 64, "summed over all v:", "faint")
            scheme.text(left + 442, top + 82, "the graph's vector", "faint")
    scheme.text(742, 330, "first the features,", "faint")
    scheme.text(742, 347, "then the states", "faint")
    scheme.text(742, 364, "of the block below", "faint")
    scheme.text(20, 356, "features of v", "strong")
    scheme.arrow([(132, 351), (294, 351)])
    return scheme


def pyramid():
    scheme = Scheme(
        1000, 440, "A pyramid of three blocks",
        "Three blocks from left to right. In each a reservoir computes states on a graph; a pooling matrix "
        "carries them to a coarser graph, which was computed before from the structure alone. The states of "
        "the last block are summed to one vector, which a ridge regression reads.",
    )  # fmt: skip
    lefts = (24, 304, 584)
    scheme.text(24, 24, "states", "strong")
    scheme.text(24, 432, "graphs, coarsened ahead by their structure alone", "strong")
    for level, left in enumerate(lefts):
        block = level + 1
        scheme.box(left, 40, 200, 150)
        scheme.text(left + 14, 62, f"block {block}", "strong")
        scheme.text(left + 186, 62, "X" if level == 0 else f"X⁽{'¹²³'[level]}⁾", "symbol end")
        scheme.box(left + 8, 78, 184, 40, "work")
        scheme.text(left + 100, 103, "H ← tanh(Ã H W + X V)", "middle")
        if level < 2:
            scheme.box(left + 8, 134, 184, 40, "pool")
            scheme.text(left + 100, 159, f"X⁽{'¹²³'[block]}⁾ = SᵀH", "middle")
            scheme.arrow([(left + 100, 118), (left + 100, 133)])
            scheme.arrow([(left + 192, 154), (left + 240, 154), (left + 240, 98), (left + 287, 98)])
            scheme.arrow([(left + 196, 330), (left + 274, 330)])
            scheme.text(left + 232, 320, "pool", "faint middle")
            scheme.arrow([(left + 232, 300), (left + 232, 214), (left + 140, 214), (left + 140, 177)], "dashed")
            scheme.text(left + 240, 266, "S" + "₁₂"[level], "symbol")
        else:
            scheme.box(left + 8, 134, 184, 40, "read")
            scheme.text(left + 100, 159, "sum over vertices", "middle")
            scheme.arrow([(left + 100, 118), (left + 100, 133)])
        places, edges = LEVELS[level]
        scheme.graph(moved(places, left + 10, 262), edges, {}, radius=6)
        scheme.text(left + 92, 406, f"A⁽{'¹²³'[level]}⁾, {len(places)} vertices", "faint middle")
        scheme.arrow([(left + 60, 258), (left + 60, 193)], "dashed")
    scheme.arrow([(776, 154), (838, 154)])
    for slot in range(7):
        scheme.box(842, 106 + 14 * slot, 22, 12, "read", 2)
    scheme.text(853, 92, "φ(G)", "symbol middle")
    scheme.text(853, 224, "the vector", "faint middle")
    scheme.arrow([(868, 154), (912, 154)])
    scheme.box(916, 130, 70, 48, "read")
    scheme.text(951, 151, "ridge", "middle")
    scheme.text(951, 168, "readout", "middle")
    scheme.text(951, 200, "all that is", "faint middle")
    scheme.text(951, 216, "trained", "faint middle")
    return scheme


def protocol():
    scheme = Scheme(
        880, 268, "How a protocol cuts a dataset",
        "Five outer folds. In each a fifth of the graphs is kept for the test; of the rest nine tenths train and "
        "a tenth validates. The winner by validation is trained on all of the rest and judged on the test.",
    )  # fmt: skip
    left, width, fifth = 120, 500, 100
    for fold in range(5):
        y = 40 + 34 * fold
        scheme.text(left - 14, y + 16, f"fold {fold + 1}", "end")
        for part in range(5):
            kind = "read" if part == fold else "work"
            scheme.box(left + fifth * part, y, fifth - 4, 24, kind, 4)
        # A tenth of what is not tested: 40 of 400.
        held = 4 if fold != 4 else 3
        scheme.box(left + fifth * held + 56, y, 40, 24, "pool", 4)
    scheme.text(left, 26, "all graphs, in five stratified parts", "faint")
    notes = [
        ("work", "train", ["every configuration,", "three draws of the weights"]),
        ("pool", "validate", ["the best on average wins"]),
        ("read", "test", ["the winner, judged once"]),
    ]
    y = 52
    for kind, name, lines in notes:
        scheme.box(650, y - 12, 16, 16, kind, 3)
        scheme.text(676, y + 1, name, "strong")
        for line in lines:
            y += 17
            scheme.text(676, y + 1, line, "faint")
        y += 30
    scheme.text(left, 232, "The winner is trained again on train and validation together; the result is the mean", "faint")
    scheme.text(left, 250, "of the five test accuracies.", "faint")
    return scheme


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, draw in (("reservoirs", reservoirs), ("pyramid", pyramid), ("protocol", protocol)):
        draw().write(folder / f"{name}.svg")
