"""benchmarks/products, as far as it needs no GPU: docs/performance/Results.md has the
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
import targets

wrong = []


def require(condition, text):
    if not condition:
        wrong.append(text)


# The page is what report.py makes of the results, and changes with them.
results, page = here / "results" / "h200.json", pathlib.Path(root) / "docs" / "performance" / "Results.md"
copy = pathlib.Path(directory) / "page.md"
copy.write_text(page.read_text())
report = [sys.executable, str(here / "report.py")]
subprocess.run([*report, str(results), str(copy)], check=True)
require(copy.read_text() == page.read_text(), "docs/performance/Results.md is stale: run benchmarks/products/report.py")
data = json.loads(results.read_text())
data["rows"][0]["implementations"]["mx"]["sustained_us"] *= 1.1
changed = pathlib.Path(directory) / "changed.json"
changed.write_text(json.dumps(data))
subprocess.run([*report, str(changed), str(copy)], check=True)
require(copy.read_text() != page.read_text(), "the page does not follow the results")
# Results have been written with another key.
old = pathlib.Path(directory) / "old.json"
old.write_text(results.read_text().replace('"implementations"', '"contestants"'))
subprocess.run([*report, str(old), str(copy)], check=True)
require(copy.read_text() == page.read_text(), "a page of older results differs")
copy.write_text("no markers\n")
done = subprocess.run([*report, str(results), str(copy)], capture_output=True, text=True)
require(done.returncode and "expected the lines <!-- results: begin -->" in done.stderr, "a page without markers")

# Peers of a module of one's own, and how their wrong elements are counted.
import others

module = pathlib.Path(directory) / "peers.py"
module.write_text("""class Own:
    name, count = "own", 1
    def __init__(self, problem): self.problem = problem
    def wrong(self): return 3
class Same:
    name, count = "same", 1
def peers(problem): return [Own(problem), Same()]
""")


class Problem:
    def wrong(self, peer):
        return len(peer.name)


found = others.load(module)(Problem())
require(others.load(None)(Problem()) == [], "peers where no module is named")
require(others.count_wrong(Problem(), found) == {"own": 3, "same": 4}, f"peers: {others.count_wrong(Problem(), found)}")

names = [case.name for case in cases.CASES]
require(len(set(names)) == len(names), "cases with one name")
require({r["name"] for r in data["rows"]} == set(names), "cases without results, or results without a case")
require(not any(r["wrong"] for r in data["rows"]), "results that are wrong")

# Targets name cases, and see the figures that they are for.
measured = dict(implementations={"mx": dict(sustained_us=100.0, burst_us=90.0, graph_us=10.0)})
measured["implementations"]["mx, fused"] = dict(sustained_us=110.0, sustained_spread_us=1.1)
for target in targets.TARGETS:
    for case in target.cases:
        named = {case} if isinstance(case, str) else set(case)
        require(named <= set(names), f"row {target.number} has no case {case}")
    peer = {f"{target.time}_us": 88.0, f"{target.time}_spread_us": 0.88}
    for name in target.peers:
        measured["implementations"].setdefault(name, {}).update(peer)
expected = {"1": 0.88, "2": 0.8, "4": 88 / 90, "12": 8.8}
for target in targets.TARGETS:
    found = targets.ratio(target, measured)
    require(found is not None, f"row {target.number} does not find its figures")
    wanted = expected.get(target.number)
    require(wanted is None or abs(found[0] - wanted) < 1e-9, f"row {target.number}: {found[0]}")
    require(target.number != "2" or abs(found[1] - 0.8 * 0.02) < 1e-9, f"the spread {found[1]}")

for name in formats.FORMATS:
    codes = np.arange(1 << int(re.search(r"\d", name)[0]), dtype=np.uint8)
    same = np.array_equal(ref.decode(codes, name), formats.values(name), equal_nan=True)
    require(same, f"the table of {name}")

for name in ("mxfp8-4096", "nvfp4-8192", "mxfp8xmxfp4-8192", "bf16xmxfp4-packed-16x8192x8192",
             "grouped-bf16xmxfp4-packed-1024", "gradient-mxfp8-131072", "layer-top8of64"):
    subprocess.run([sys.executable, str(here / "cases.py"), compiler, directory, name], check=True)
    ptx = (pathlib.Path(directory) / name / "kernels.ptx").read_text()
    require(".target sm_90a" in ptx and "wgmma.mma_async" in ptx, f"the program of {name}")

print("\n".join(wrong))
sys.exit(bool(wrong))
