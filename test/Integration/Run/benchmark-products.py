"""benchmarks/products, as far as it needs no GPU: docs/ProductSpeed.md has the
figures of the results in the repository, tables of formats are those of ml_dtypes,
and the programs compile.

RUN: rm -rf %t && mkdir %t
RUN: %python %s %mx_src mx-compile %t
REQUIRES: compiler, numpy
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

root, compiler, directory = sys.argv[1:]
here = pathlib.Path(root) / "benchmarks" / "products"
sys.dont_write_bytecode = True
sys.path += [str(here), os.path.join(root, "test", "Integration", "CPU")]
import cases
import formats
import mx_reference as ref

wrong = []


def require(condition, text):
    if not condition:
        wrong.append(text)


# The page is what report.py makes of the results, and changes with them.
results, page = here / "results" / "h200.json", pathlib.Path(root) / "docs" / "ProductSpeed.md"
copy = pathlib.Path(directory) / "page.md"
copy.write_text(page.read_text())
report = [sys.executable, str(here / "report.py")]
subprocess.run([*report, str(results), str(copy)], check=True)
require(copy.read_text() == page.read_text(), "docs/ProductSpeed.md is stale: run benchmarks/products/report.py")
data = json.loads(results.read_text())
data["rows"][0]["contestants"]["mx"]["sustained_tflops"] += 1
changed = pathlib.Path(directory) / "changed.json"
changed.write_text(json.dumps(data))
subprocess.run([*report, str(changed), str(copy)], check=True)
require(copy.read_text() != page.read_text(), "the page does not follow the results")
copy.write_text("no markers\n")
done = subprocess.run([*report, str(results), str(copy)], capture_output=True, text=True)
require(done.returncode and "expected the lines <!-- results: begin -->" in done.stderr, "a page without markers")

require({r["name"] for r in data["rows"]} == {c.name for c in cases.CASES}, "cases without results")
require(not any(r["wrong"] for r in data["rows"]), "results that are wrong")

for name in formats.FORMATS:
    codes = np.arange(1 << int(re.search(r"\d", name)[0]), dtype=np.uint8)
    same = np.array_equal(ref.decode(codes, name), formats.values(name), equal_nan=True)
    require(same, f"the table of {name}")

for name in ("mxfp8-4096", "nvfp4-8192", "mxfp8xmxfp4-8192", "bf16xmxfp4-packed-16x8192x8192"):
    subprocess.run([sys.executable, str(here / "cases.py"), compiler, directory, name], check=True)
    ptx = (pathlib.Path(directory) / name / "kernels.ptx").read_text()
    require(".target sm_90a" in ptx and "wgmma.mma_async" in ptx, f"the program of {name}")

print("\n".join(wrong))
sys.exit(bool(wrong))
