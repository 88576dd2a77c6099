#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the results of train_moe.py as an SVG: both losses, and below them their difference.

    python3 examples/plot_losses.py losses.json -o losses.svg
"""

import argparse
import json

import numpy as np

WIDTH, LEFT, RIGHT = 720, 64, 24
UPPER, LOWER = (40, 300), (340, 440)  # top and bottom of the two plots
COLORS = {"bf16": "#1f5fa8", "mxfp8": "#d1551b"}
DASHES = {"bf16": "none", "mxfp8": "6 4"}
LABELS = {"bf16": "experts in bf16", "mxfp8": "experts in MXFP8"}


def smooth(values, width=10):
    """Returns, for each step, the mean of the last `width` values without NaNs. The mean of a step
    with the value NaN is NaN."""
    there = np.isfinite(values)
    sums = np.cumsum([0.0, *np.where(there, values, 0.0)])
    counts = np.cumsum([0, *there])
    begin = np.maximum(np.arange(len(values)) + 1 - width, 0)
    end = np.arange(len(values)) + 1
    count = np.maximum(counts[end] - counts[begin], 1)
    return np.where(there, (sums[end] - sums[begin]) / count, np.nan)


def ticks(low, high, count=5):
    raw = (high - low) / count
    unit = 10.0**np.floor(np.log10(raw))
    step = unit * min((1, 2, 5, 10), key=lambda m: abs(m * unit - raw))
    first = np.ceil(low / step - 1e-9) * step
    return [v for v in first + step * np.arange(count * 3) if v <= high + 1e-9]


class Plot:
    def __init__(self, steps, low, high, top, bottom):
        self.steps, self.low, self.high = steps, low, high
        self.top, self.bottom = top, bottom
        self.lines = []

    def x(self, step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(self.steps - 1, 1)

    def y(self, value):
        part = (value - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * part

    def text(self, x, y, text, **attributes):
        extra = "".join(f' {k.replace("_", "-")}="{v}"'
                        for k, v in attributes.items())
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{text}</text>')

    def axes(self, title):
        for value in ticks(self.low, self.high):
            y = self.y(value)
            self.lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" '
                              'stroke="#ddd"/>')
            self.text(LEFT - 6, y + 4, f"{value:.4g}", text_anchor="end")
        for step in ticks(0, self.steps, 6):
            self.text(self.x(min(step, self.steps - 1)), self.bottom + 16,
                      f"{step:.0f}", text_anchor="middle")
        self.text(LEFT, self.top - 8, title, font_weight="bold")

    def curve(self, values, color, width=1.6, opacity=1.0, dashes="none"):
        stride = max(self.steps // (WIDTH - LEFT - RIGHT), 1)  # one point for each pixel
        points = " ".join(f"{self.x(i):.1f},{self.y(values[i]):.1f}"
                          for i in range(0, len(values), stride)
                          if np.isfinite(values[i]))
        self.lines.append(f'<polyline points="{points}" fill="none" '
                          f'stroke="{color}" stroke-width="{width}" '
                          f'opacity="{opacity}" stroke-dasharray="{dashes}"/>')


def draw(data):
    losses = data["losses"]
    steps = len(losses["bf16"])
    every = np.concatenate(list(losses.values()))
    upper = Plot(steps, 0, every.max() * 1.02, *UPPER)
    upper.axes(f"loss (cross entropy), {data['tokens']} tokens a step; means of 10 steps")
    for i, (name, values) in enumerate(losses.items()):
        upper.curve(values, COLORS[name], 0.6, 0.35)
        upper.curve(smooth(values), COLORS[name], dashes=DASHES[name])
        upper.text(WIDTH - 190, UPPER[0] + 16 + 18 * i, LABELS[name],
                   fill=COLORS[name])
    gap = smooth(np.subtract(losses["mxfp8"], losses["bf16"]))
    most = max(np.abs(gap).max() * 1.1, 1e-6)
    lower = Plot(steps, -most, most, *LOWER)
    lower.axes("MXFP8 minus bf16")
    lower.curve(gap, "#444")
    lower.text(WIDTH - RIGHT, LOWER[1] + 32, "step", text_anchor="end")
    lines = upper.lines + lower.lines
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 480" '
            'font-family="sans-serif" font-size="12">\n'
            f'<rect width="{WIDTH}" height="480" fill="white"/>\n' +
            "\n".join(lines) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("losses")
    parser.add_argument("-o", dest="out", required=True)
    args = parser.parse_args()
    with open(args.losses) as file:
        data = json.load(file)
    with open(args.out, "w") as file:
        file.write(draw(data))


if __name__ == "__main__":
    main()
