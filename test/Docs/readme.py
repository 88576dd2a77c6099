"""Checks README.md: it has at most 120 lines, its chart is the output of the chart script for the published results,
and its commands run verbatim. test/Torch/docs.py runs the PyTorch program, and generated.test compares the report of
mx-sim.

REQUIRES: compiler, numpy
RUN: rm -rf %t && mkdir -p %t && ln -s %examples %examples/../simulator %t
RUN: %python %mx_src/scripts/demo_arrays.py make %t/x.npy %t/w.npy --m 96 --n 160 --k 256
RUN: cd %t && %python %s %mx_src
RUN: %python %mx_src/scripts/demo_arrays.py snr %t/x.npy %t/w.npy %t/y.npy | FileCheck %s
RUN: FileCheck %s --check-prefix=PTX < %t/matmul.ptx

CHECK: SNR against the unquantized matmul (float64): {{[2-9][0-9]}}.{{[0-9]}} dB
PTX-DAG: .target sm_100a
PTX-DAG: tcgen05.mma
"""

import html
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
readme = root / "README.md"
text = readme.read_text()
lines = text.count("\n")
assert lines <= 120, f"{readme}: expected at most 120 lines, found {lines}"

SECTIONS = ["Is it for you?", "Install", "Support by chip", "Two commands", "Layers", "Limits",
            "Documentation", "Contributing and license"]
assert re.findall(r"^## (.+)$", text, re.M) == SECTIONS, "sections of README.md differ from SECTIONS"
limits = re.findall(r"^- ", text.split("## Limits")[1].split("\n## ")[0], re.M)
assert len(limits) == 6, f"{readme}: expected 6 limits, found {len(limits)}"

# The chart script reproduces the chart from the published results, and the chart depends on the results.
chart, results = root / "benchmarks/matmul/chart.py", root / "benchmarks/results/matmul.csv"
picture = pathlib.Path("speed.svg")


def draw(results):
    done = subprocess.run([sys.executable, "-B", chart, results, picture], check=True, capture_output=True, text=True)
    return picture.read_text(), done.stdout


now = (root / "docs/Figures/speed.svg").read_text()
assert draw(results)[0] == now, ("docs/Figures/speed.svg is stale: run benchmarks/matmul/chart.py "
                                 "benchmarks/results/matmul.csv docs/Figures/speed.svg")
# One case takes three times as long; then the peer's result is missing.
lines = results.read_text().splitlines(keepends=True)
changed = pathlib.Path("matmul.csv")
pathlib.Path("runs.csv").write_text((root / "benchmarks/results/runs.csv").read_text())
kept = [line for line in lines if not line.startswith('mxfp8-8192,"mx, ')]
slower = [re.sub(r"^(mxfp8-8192,mx,0,[^,]+),[^,]+", r"\1,4833.3", line) for line in kept]
changed.write_text("".join(slower))
svg, table = draw(changed)
assert svg != now and re.search(r"^\| 8192 × 8192 × 8192 \| cuBLAS bf16 \| 0\.34 .* slower \|$", table, re.M), table
changed.write_text("".join(line for line in slower if not line.startswith("mxfp8-8192,") or ",mx,0," in line))
done = subprocess.run([sys.executable, "-B", chart, changed, picture], capture_output=True, text=True)
assert done.returncode == 1 and "expected results of mxfp8-8192" in done.stderr, done
# Linux fonts are wide: DejaVu Sans needs up to 0.6 em per letter on average, 0.7 in bold.
width = int(re.search(r'viewBox="0 0 (\d+) ', now)[1])
for begin, attributes, words in re.findall(r'<text x="([\d.]+)" y="[\d.]+"(.*?)>(.*?)</text>', now):
    size = re.search(r'font-size="([\d.]+)"', attributes)
    long = (float(size[1]) if size else 12.5) * (0.7 if "bold" in attributes else 0.6) * len(html.unescape(words))
    anchor = re.search(r'text-anchor="(\w+)"', attributes)
    first = float(begin) - long * {"end": 1, "middle": 0.5}.get(anchor and anchor[1], 0)
    assert 0 <= first and first + long <= width, f"docs/Figures/speed.svg: expected '{words}' to fit into {width}"
# The text beside the chart names the dates and the chip, and links the results.
assert "2026-11-30" in text and "NVIDIA H200" in text and "](docs/performance/Results.md)" in text

# Blocks of `sh` that need no separate build.
blocks = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if not block.startswith("scripts/")]
assert len(blocks) == 1, blocks
subprocess.run(["sh", "-exc", blocks[0]], check=True)
for script in re.findall(r"scripts/\w+", text):
    assert (root / script).exists(), script
