"""Checks the GPU-independent parts of benchmarks/matmul: published rows and tables, and the compilation of its
programs.

RUN: rm -rf %t && mkdir %t
RUN: %python %s %mx_src mx-compile %t
REQUIRES: compiler, numpy
TIER: slow
"""

import json
import pathlib
import subprocess
import sys

root, compiler, directory = sys.argv[1:]
sys.dont_write_bytecode = True
here = pathlib.Path(root) / "benchmarks" / "matmul"
sys.path += [str(here), str(here.parent)]
import cases
import targets

wrong = []


def require(condition, text):
    if not condition:
        wrong.append(text)


# Raw results of speed.py, their published rows and their tables.
raw, table = pathlib.Path(directory) / "raw.json", pathlib.Path(directory) / "matmul.csv"
times = {"mx": dict(sustained_us=217.9, sustained_spread_us=0.8, burst_us=195.0, sm_mhz=1635),
         "cuBLAS bf16": dict(sustained_us=205.5, sustained_spread_us=22.3, burst_us=167.3, sm_mhz=1560)}
raw.write_text(json.dumps(dict(about=dict(gpu="G", date="2026-01-02 03:04"), rows=[
    dict(name="mxfp8-4096", wrong=3, commit="abc", date="2026-01-02 03:04", implementations=times)])))
convert = [sys.executable, "-B", str(here.parent / "published.py"), "matmul", str(raw)]
subprocess.run([*convert, f"--csv={table}"], check=True)
require(table.read_text().splitlines()[1] == "mxfp8-4096,mx,3,195.0,217.9,0.8,,,1635,2026-01-02,abc", table.read_text())
for file in (raw, table):
    done = subprocess.run([sys.executable, "-B", str(here / "report.py"), str(file)], capture_output=True, text=True)
    require("| E4M3 × E4M3 | 4096 × 4096 × 4096 | 631 | 669 | 0.94 | 0.11 | 705 | 822 | 0.86 |" in done.stdout
            and "Wrong elements: 3." in done.stdout, done)
done = subprocess.run([*convert[:-1], str(here / "cases.py")], capture_output=True, text=True)
require(done.returncode == 1 and "cases.py: expected results" in done.stderr, done)

# Implementations are loaded from a user's module, and their wrong elements are counted.
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
require(others.load(None)(Problem()) == [], "peers without a module")
require(others.count_wrong(Problem(), found) == {"own": 3, "same": 4}, f"peers: {others.count_wrong(Problem(), found)}")

names = [case.name for case in cases.CASES]
require(len(set(names)) == len(names), "cases with equal names")
import published

rows = published.read(here.parent / "results/matmul.csv")
require({r["case"] for r in rows} - {"training-step"} == set(names), "cases without results, or results without a case")
require(not any(r.get("wrong") for r in rows), "wrong results")

# Each target names existing cases, and its ratio is computed from their figures.
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
    require(found is not None, f"row {target.number} has no figures")
    wanted = expected.get(target.number)
    require(wanted is None or abs(found[0] - wanted) < 1e-9, f"row {target.number}: {found[0]}")
    require(target.number != "2" or abs(found[1] - 0.8 * 0.02) < 1e-9, f"the spread {found[1]}")

for name in ("mxfp8-4096", "nvfp4-8192", "mxfp8xmxfp4-8192", "bf16xmxfp4-packed-16x8192x8192",
             "grouped-bf16xmxfp4-packed-1024", "gradient-mxfp8-131072", "layer-top8of64"):
    subprocess.run([sys.executable, str(here / "cases.py"), compiler, directory, name], check=True)
    ptx = (pathlib.Path(directory) / name / "kernels.ptx").read_text()
    require(".target sm_90a" in ptx and "wgmma.mma_async" in ptx, f"the program of {name}")

print("\n".join(wrong))
sys.exit(bool(wrong))
