"""Checks that each line of the tables of docs/performance/Results.md, simulator/docs/TimeModel.md and
simulator/docs/TimeModelDesign.md follows from the published results.

REQUIRES: numpy
RUN: %python %s %mx_src
"""

import importlib.util
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path[:0] = [str(root / folder) for folder in ("benchmarks", "benchmarks/matmul", "simulator/benchmarks/time")]
import chart
import published
import report
import surface
import tables
from published import header, row

RESULTS, SIMULATOR = root / "benchmarks/results", root / "simulator/benchmarks/results"


def load(path):
    spec = importlib.util.spec_from_file_location("_".join(path.parts[-2:])[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(name, folder=RESULTS):
    return published.read(folder / f"{name}.csv")


def us(found, key):
    return f"{found[key]:.1f}" if key in found else "–"


def weight_only():
    text = header("weights", "N × K", "rows", "mx, packed", "mx, plain", "Marlin", "triton_kernels", "Humming",
                  "cuBLAS bf16")
    keys = [f"{name}_us" for name in ("mx_packed", "mx_plain", "marlin", "triton_kernels", "humming", "cublas")]
    return text + "".join(row(r["weights"].upper(), f"{r['n']} × {r['k']}", r["m"], *(us(r, key) for key in keys))
                          for r in rows("weight-only"))


def experts():
    text = header("experts", "mx in", "system", "forward, ms", "backward, ms", "both, ms", "to mx",
                  "MB out of a GPU, forward")
    for r in rows("experts"):
        own = r if r["system"] == "mx" else own  # the first row of a run
        text += row(r["experts"], r["format"], r["system"], *(
            f"{r[key]:.2f}" for key in ("forward_ms", "backward_ms", "both_ms")),
            f"{r['both_ms'] / own['both_ms']:.2f}", f"{r['wire_mb']:.1f}")
    return text


def collectives():
    names = [f"{transport}_{what}" for transport in ("nccl", "peer") for what in ("us", "gb_s")]
    text = header("operation", "bytes of each rank", "NCCL, µs", "GB/s out of a rank", "mapped, µs", "GB/s out of a rank")
    return text + "".join(row(r["operation"], r["bytes"], *(
        us(r, name) if name.endswith("us") else r.get(name, "–") for name in names)) for r in rows("collectives"))


def instructions():
    text = header("kernel", "MMA: public", "mx", "producer: public", "mx", "epilogue: public", "mx")
    keys = [f"{role}_{whose}" for role in ("mma", "producer", "epilogue") for whose in ("public", "mx")]
    return text + "".join(row(r["kernel"], *(f"{r[key]:.2f}" for key in keys)) for r in rows("instructions"))


def blocks(text):
    """Returns the header and the lines of each table."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, re.M):
        first, _, *lines = block.splitlines()
        yield first, lines


def compare(page, texts, others=()):
    """Checks that the tables of `page`, except those with a header in `others`, contain only lines of `texts`."""
    printed = {}
    for text in texts:
        for first, lines in blocks(text):
            printed.setdefault(first, set()).update(lines)
    found = [(first, lines) for first, lines in blocks((root / page).read_text()) if first not in others]
    assert {first for first, _ in found} <= printed.keys(), [first for first, _ in found if first not in printed]
    wrong = [line for first, lines in found for line in lines if line not in printed[first]]
    assert found and not wrong, f"{page}: lines do not follow from the published results: {wrong}"


matmul = rows("matmul")
# Headers of tables of text, and of computed tables, which expert-scale.py checks.
OTHERS = ("| | |", "| you run | expect, on an H200 |", "| you have | rows of a call | take |")
COMPUTED = [first for first, _ in blocks((root / "docs/performance/Results.md").read_text())
            if first.startswith(("| R |", "| nodes m |"))]
compare("docs/performance/Results.md",
        [chart.table(published.by_case(matmul)), report.tables(matmul),
         *(surface.table([r for r in rows("shapes") if r["card"] == card]) for card in ("H200", "H100")),
         load(root / "benchmarks/quantize/report.py").tables(rows("quantizers")),
         load(root / "benchmarks/torch/steps.py").table(rows("layers")),
         weight_only(), experts(), collectives(), instructions()], (*OTHERS, *COMPUTED))
times = [tables.of_matmul(rows("modelled-matmul", SIMULATOR)), tables.of_kernels(rows("modelled-kernels", SIMULATOR))]
headers = {first for text in times for first, _ in blocks(text)}
for page in ("simulator/docs/TimeModel.md", "simulator/docs/TimeModelDesign.md"):
    compare(page, times, [first for first, _ in blocks((root / page).read_text()) if first not in headers])
