#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the speedup of mx over its baselines as an SVG, and prints the same figures.

usage: chart.py FILE [docs/Figures/speed.svg]

FILE is benchmarks/results/matmul.csv, or raw JSON of speed.py with the training step of
training.py. Ratios are times of the fastest baseline divided by those of mx. ROWS lists the
cases, including cases that mx loses."""

import dataclasses
import html
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import targets
import training
from published import by_case, header, load, row as line

WIDTH, ROW, TOP = 920, 21, 74
LEFT, RIGHT = 372, 690  # edges of the plot
LOW, HIGH = 0.5, 4.0  # ratios at the edges
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 4)
FASTER, SLOWER, SAME = "#1f6fb4", "#d1551b", "#8a8a8a"
EQUAL = "within the spread"
FP8 = ("fp8 row-wise, cuBLAS",)


@dataclasses.dataclass(frozen=True)
class Row:
    title: str
    case: str
    peer: str  # displayed name
    peers: tuple = targets.CUBLAS
    time: str = "sustained"
    packed: bool = False  # the faster of plain and packed weights

    def ratio(self, results):
        """Returns targets.ratio() of the case, or None if not measured."""
        names = targets.either(self.case) if self.packed else self.case
        target = targets.Target("", self.title, (names,), 0, 0, self.peers, self.time)
        found = targets.reached(target, results)[0]
        return found and found[1]


def few(rows, columns, case):
    return Row(f"{rows} rows, {columns} weights", case, "cuBLAS bf16", time="graph", packed=True)


BF16, GROUPED_MM, LAYER = "cuBLAS bf16", "torch grouped_mm bf16", "torch.compile bf16"
ROWS = {
    "bf16 × MXFP4 weights": [
        few(16, "32768 × 7168", "bf16xmxfp4{}-16x32768x7168"),
        few(16, "8192 × 8192", "bf16xmxfp4{}-16x8192x8192"),
        few(64, "8192 × 8192", "bf16xmxfp4{}-64x8192x8192"),
        few(256, "8192 × 8192", "bf16xmxfp4{}-256x8192x8192"),
        Row("8192 rows, 8192 × 8192 weights", "bf16xmxfp4-8192", BF16),
    ],
    "Experts (grouped matmuls)": [
        Row("MXFP4 weights, 1024 rows, 32 experts", "grouped-bf16xmxfp4{}-1024", GROUPED_MM,
            targets.GROUPED, "graph", True),
        Row("MXFP8, 1024 rows, 32 experts", "grouped-mxfp8{}-1024", GROUPED_MM, targets.GROUPED,
            "graph", True),
        Row("MXFP8, 131072 rows, 8 experts", "grouped-mxfp8-131072", GROUPED_MM, targets.GROUPED),
        Row("MXFP8, weight gradient, 131072 rows", "gradient-mxfp8-131072", GROUPED_MM,
            targets.GROUPED),
    ],
    "MXFP8 × MXFP8": [
        Row("4096 × 4096 × 4096", "mxfp8-4096", BF16),
        Row("8192 × 8192 × 8192", "mxfp8-8192", BF16),
        Row("the same, a burst", "mxfp8-8192", "Triton dot_scaled", targets.TRITON, "burst"),
        Row("the same, to another format", "mxfp8-8192", "cuBLAS fp8, a scale a row", FP8),
    ],
    "Mixture-of-experts layer, MXFP8, forward and backward": [
        Row("top 2 of 8, 16384 tokens", "layer-top2of8", LAYER, targets.LAYERS),
        Row("top 8 of 64, 16384 tokens", "layer-top8of64", LAYER, targets.LAYERS),
    ],
    "Training step of examples/train_moe_torch.py, MXFP8": [
        Row("16384 tokens, 82 million parameters", training.NAME, "torch.compile bf16",
            ("torch bf16",)),
    ],
}


def verdict(value, spread):
    """Classifies a ratio; `spread` is the difference between the slowest and fastest round."""
    if abs(value - 1) <= spread / 2:
        return EQUAL
    return "faster" if value > 1 else "slower"


def measured(results):
    """Yields (group, [(row, ratio, spread, microseconds of mx and of the baseline)])."""
    for group, rows in ROWS.items():
        if rows[0].case == training.NAME and training.NAME not in [r["name"] for r in results]:
            continue
        found = [(row, row.ratio(results)) for row in rows]
        missing = [row.case for row, ratio in found if not ratio]
        if missing:
            sys.exit(f"expected results of {', '.join(missing)} and its peer, found none: "
                     "run OUT/run of benchmarks/matmul/build, and training.py")
        yield group, [(row, *ratio[:4]) for row, ratio in found]


def dates(results):
    """Returns the range of dates of the results."""
    days = sorted({result["date"] for result in results})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def position(ratio):
    part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + (RIGHT - LEFT) * part


class Drawing:
    def __init__(self):
        self.lines = []

    def text(self, x, y, text, **attributes):
        extra = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items())
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{html.escape(text)}</text>')

    def line(self, x0, y0, x1, y1, color, width=1):
        self.lines.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" '
                          f'stroke="{color}" stroke-width="{width}"/>')

    def bar(self, y, row, value, spread):
        color = {"faster": FASTER, "slower": SLOWER, EQUAL: SAME}[verdict(value, spread)]
        one, end = position(1), position(value)
        self.lines.append(f'<rect x="{min(one, end):.1f}" y="{y - 11:.1f}" '
                          f'width="{max(abs(end - one), 1):.1f}" height="14" fill="{color}"/>')
        ends = position(value - spread / 2), position(value + spread / 2)
        self.line(ends[0], y - 4, ends[1], y - 4, "#222", 1.5)
        self.text(LEFT - 12, y, row.title, text_anchor="end")
        self.text(RIGHT + 8, y, f"{value:.2f} ×", font_weight="bold", fill=color)
        self.text(RIGHT + 62, y, row.peer, fill="#555", font_size=11)


def draw(about, results):
    groups = list(measured(results))
    height = TOP + sum(ROW * (len(rows) + 1) + 6 for _, rows in groups) + 60
    drawing = Drawing()
    bottom = height - 56
    for tick in TICKS:
        drawing.line(position(tick), TOP - 6, position(tick), bottom,
                     "#444" if tick == 1 else "#dddddd")
        drawing.text(position(tick), TOP - 12, f"{tick:g} ×", text_anchor="middle", fill="#555")
    y = TOP
    for group, rows in groups:
        y += ROW
        drawing.text(16, y - 2, group, font_weight="bold")
        for row in rows:
            y += ROW
            drawing.bar(y - 2, *row[:3])
        y += 6
    drawing.text(16, 26, f"Speed of mx on {about['gpu']}: the peer's time divided by that of mx",
                 font_size=16, font_weight="bold")
    for x, color, text in ((16, FASTER, "mx is faster"), (116, SLOWER, "mx is slower"),
                           (222, SAME, EQUAL)):
        drawing.lines.append(f'<rect x="{x}" y="39" width="11" height="11" fill="{color}"/>')
        drawing.text(x + 16, 49, text)
    # Two lines, because fonts without Helvetica's metrics (DejaVu Sans) are a quarter wider.
    for y, note in ((height - 30, f"{dates(results)}, driver {about['driver']}, PyTorch {about['torch']}."),
                    (height - 14, "Black lines: spread of the rounds. Quantizers are in the time of the "
                                  "layers alone. docs/performance/Results.md")):
        drawing.text(16, y, note, fill="#555", font_size=11)
    body = "\n".join(drawing.lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
            f'font-size="12.5" fill="#222">\n<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
            f"{body}\n</svg>\n")


def table(results):
    text = ""
    for group, rows in measured(results):
        text += header(group, "peer", "peer / mx", "spread", "mx, µs", "peer, µs", "mx")
        for row, value, spread, mine, peer in rows:
            text += line(row.title, row.peer, f"{value:.2f}", f"{spread:.2f}", f"{mine:.1f}",
                         f"{peer:.1f}", verdict(value, spread))
        text += "\n"
    return text


def main(path, picture=None):
    abouts, rows = load("matmul", [path])
    results = by_case(rows)
    if picture:
        with open(picture, "w", encoding="utf-8") as file:
            file.write(draw(abouts[0], results))
    print(table(results), end="")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
