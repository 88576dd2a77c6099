"""README.md has at most 120 lines, its chart is what its script makes of the results in the
repository, and the commands that it shows run as they stand there. The program in PyTorch is
run by test/Torch/docs.py, and the report of mx-sim compared by generated.test.

REQUIRES: compiler, numpy
RUN: rm -rf %t && mkdir -p %t && ln -s %examples %t/examples
RUN: %python %mx_src/scripts/demo_arrays.py make %t/x.npy %t/w.npy --m 96 --n 160 --k 256
RUN: cd %t && %python %s %mx_src
RUN: %python %mx_src/scripts/demo_arrays.py snr %t/x.npy %t/w.npy %t/y.npy | FileCheck %s
RUN: FileCheck %s --check-prefix=PTX < %t/matmul.ptx

CHECK: SNR against the unquantized product (float64): {{[2-9][0-9]}}.{{[0-9]}} dB
PTX-DAG: .target sm_100a
PTX-DAG: tcgen05.mma
"""

import html
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
readme, benchmarks = root / "README.md", root / "docs/Benchmarks.md"
text = readme.read_text()
lines = text.count("\n")
assert lines <= 120, f"{readme}: expected at most 120 lines, found {lines}"

SECTIONS = ["Is it for you?", "Install", "What works where", "Two commands", "How it is layered", "Limits",
            "Documentation", "Contributing, licence"]
assert re.findall(r"^## (.+)$", text, re.M) == SECTIONS, "the sections of README.md, or their order"
limits = re.findall(r"^- ", text.split("## Limits")[1].split("\n## ")[0], re.M)
assert len(limits) == 6, f"{readme}: expected 6 limits, found {len(limits)}"

# The chart and the table are what the script makes of the results, and change with them.
chart, results = root / "benchmarks/products/chart.py", root / "benchmarks/products/results/h200.json"
picture, page = pathlib.Path("speed.svg"), pathlib.Path("Benchmarks.md")


def draw(results):
    page.write_text(benchmarks.read_text())
    subprocess.run([sys.executable, "-B", chart, results, picture, page], check=True)
    return picture.read_text(), page.read_text()


now = (root / "docs/Figures/speed.svg").read_text(), benchmarks.read_text()
assert draw(results) == now, ("docs/Figures/speed.svg or docs/Benchmarks.md is stale: run benchmarks/products/chart.py "
                              "benchmarks/products/results/h200.json docs/Figures/speed.svg docs/Benchmarks.md")
data = json.loads(results.read_text())
times = next(value for row in data["rows"] if row["name"] == "mxfp8-8192"
             for value in row.values() if isinstance(value, dict) and "mx" in value)
times["mx"]["sustained_us"] *= 3
for name in [name for name in times if name.startswith("mx, ")]:
    del times[name]
changed = pathlib.Path("changed.json")
changed.write_text(json.dumps(data))
svg, table = draw(changed)
assert svg != now[0] and re.search(r"^\| 8192 × 8192 × 8192 \| cuBLAS bf16 \| 0\.34 .* slower \|$", table, re.M), table
for name in [name for name in times if name != "mx"]:
    del times[name]
changed.write_text(json.dumps(data))
done = subprocess.run([sys.executable, "-B", chart, changed, picture], capture_output=True, text=True)
assert done.returncode == 1 and "expected results of mxfp8-8192" in done.stderr, done
# Fonts of Linux are wide: DejaVu Sans takes up to 0.6 em a letter on average, 0.7 in bold.
width = int(re.search(r'viewBox="0 0 (\d+) ', now[0])[1])
for begin, attributes, words in re.findall(r'<text x="([\d.]+)" y="[\d.]+"(.*?)>(.*?)</text>', now[0]):
    size = re.search(r'font-size="([\d.]+)"', attributes)
    long = (float(size[1]) if size else 12.5) * (0.7 if "bold" in attributes else 0.6) * len(html.unescape(words))
    anchor = re.search(r'text-anchor="(\w+)"', attributes)
    first = float(begin) - long * {"end": 1, "middle": 0.5}.get(anchor and anchor[1], 0)
    assert 0 <= first and first + long <= width, f"docs/Figures/speed.svg: expected '{words}' to fit into {width}"
# Days, chip and link stand beside the picture.
about = data["about"]
assert about["date"][:10] in text and about["gpu"] in text and "](docs/Benchmarks.md)" in text

# Blocks of `sh` that need no build of their own.
blocks = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if not block.startswith("scripts/")]
assert len(blocks) == 1, blocks
subprocess.run(["sh", "-exc", blocks[0]], check=True)
for script in re.findall(r"scripts/\w+", text):
    assert (root / script).exists(), script
