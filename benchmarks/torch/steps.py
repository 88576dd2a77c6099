#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward and backward passes of mx_compiler.torch layers of random shapes, compared with
PyTorch in bf16.

    steps.py compile [--seed=S] [--shapes=20] [--only=REGEX] [--jobs=8]   # on the GPU; run finds the programs in the cache
    steps.py run [--seed=S] [--shapes=20] [--only=REGEX] [--seconds=S] --results=R.json   # on the GPU
    steps.py check [--seed=S] [--shapes=2]      # small layers, compared alone, on any device
    steps.py show FILE...       # raw results, or CSV as in benchmarks/results/layers.csv

A training layer is first checked against PyTorch. Then both are captured as CUDA graphs and
replayed in turn (../matmul/timing.py), sustained. The bound is PyTorch's time plus the time of
the bytes that quantizers must move, at the rate of a large copy: x and the weight are read and
written as bf16 in both passes, and dy is read once and written twice. `to bound` is the time of mx
divided by the bound, `to bf16` is PyTorch's time divided by that of mx, and `to bytes` is the time
of mx divided by that of the bytes that a layer of FP8 operands must move, at the rate of a copy: 8
bytes for each element of the weight (read in bf16, written and read twice in FP8, its gradient
written), 8 for each of x and dy (read in bf16, written and read twice in FP8; y and dx written)."""

import argparse
import dataclasses
import functools
import json
import pathlib
import random
import re
import statistics
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "matmul")]

import cases
import published
from surface import DENSE_MODELS, MOE_MODELS, MOST_WEIGHTS, log_uniform, multiple

# Size of all operand sets together; the L2 of an H200 has 50 MB.
SETS_BYTES = 256 << 20
# Bytes read and written for each weight by a refit of MXFP4.
REFIT_BYTES = 2 + 17 / 32


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    outputs: int
    inputs: int
    groups: int = 0
    load: str = ""

    @property
    def name(self):
        groups = f"{self.groups}-{self.load}-" if self.groups else ""
        return f"{groups}{self.rows}x{self.outputs}x{self.inputs}"

    @property
    def operand_elements(self):
        return (self.rows * (self.inputs + self.outputs)
                + max(self.groups, 1) * self.outputs * self.inputs)

    @property
    def quantizer_bytes(self):
        x, dy = self.rows * self.inputs, self.rows * self.outputs
        weight = max(self.groups, 1) * self.outputs * self.inputs
        return 2 * (4 * x + 4 * weight + 3 * dy)

    @property
    def fp8_bytes(self):
        return 8 * self.operand_elements


def draw_linear(source, index):
    _, (hidden, inner) = source.choice(list(DENSE_MODELS.items()))
    n, k = source.choice([(inner, hidden), (hidden, inner), (hidden, hidden)])
    return Shape(multiple(log_uniform(source, 4096, 32768), 32), n, k)


def draw_grouped(source, index):
    _, (hidden, inner) = source.choice(list(MOE_MODELS.items()))
    n, k = source.choice([(2 * inner, hidden), (hidden, inner)])
    groups = max(8, min(round(log_uniform(source, 8, 128)), MOST_WEIGHTS // (n * k)))
    return Shape(multiple(log_uniform(source, 4096, 131072), 8), n, k, groups, ("uniform", "zipf")[index % 2])


def draw_fast(source, index):
    shape = draw_linear(source, index)
    return dataclasses.replace(shape, rows=multiple(shape.rows, 128))


def draw_experts(source, index, low, high):
    """Draws experts with `low` to `high` rows on average."""
    while True:
        shape = draw_grouped(source, index)
        groups = min(shape.groups, 64)
        rows = multiple(groups * log_uniform(source, low, high), 8)
        if shape.outputs % 128 == 0 and shape.inputs % 128 == 0 and rows * shape.outputs <= 3 << 30:
            return dataclasses.replace(shape, rows=rows, groups=groups)


def draw_known(source, index):
    return Shape(2048, 2048, 2048)


def draw_small(source, index):
    return Shape(*(multiple(log_uniform(source, 512, 2560), 128) for _ in range(3)))


def draw_weights(source, index, low=1, high=8192):
    _, (hidden, inner) = source.choice(list(DENSE_MODELS.items()))
    n, k = source.choice([(2 * inner, hidden), (hidden, inner), (hidden, hidden)])
    return Shape(round(log_uniform(source, low, high)), n, k)


def draw_refit(source, index):
    """Draws experts of MXFP4 with 1 GB of weights in bf16 and of quantized bytes."""
    _, (hidden, inner) = source.choice(list(MOE_MODELS.items()))
    n, k = source.choice([(2 * inner, hidden), (hidden, inner)])
    return Shape(1, n, k, max(1, round((1 << 30) / (n * k * REFIT_BYTES))))


@dataclasses.dataclass(frozen=True)
class Row:
    """Family of layers. `wanted` is the required median and worst: an upper limit on the ratio
    to the bound or to bytes, or a lower limit on the ratio to bf16; empty without requirements.
    `most` limits the number of shapes."""
    name: str
    title: str
    draw: object
    key: str
    wanted: tuple = ()
    most: int = 1000
    recipe: str = "mxfp8"

    def bytes_of(self, shape):
        return shape.fp8_bytes if self.key == "to_bytes" else shape.quantizer_bytes

    def shapes(self, seed, count):
        """Returns the shapes of a seed; a smaller count returns the first of them."""
        source, found = random.Random(f"{seed} {self.name}"), {}
        while len(found) < min(count, self.most):
            shape = self.draw(source, len(found))
            found[shape.name] = shape
        return list(found.values())


ROWS = [
    Row("linear", "`mxfp8_mm`, forward and backward, from 4096 rows", draw_linear, "to_bound", (1.05, 1.12)),
    Row("grouped", "`mxfp8_grouped_mm`, forward and backward, 8 to 128 groups", draw_grouped, "to_bound",
        (1.08, 1.15)),
    Row("known", "`mxfp8_mm`, forward and backward, 2048 x 2048 x 2048", draw_known, "to_bf16", (0.70, 0.70), 1),
    Row("small", "`mxfp8_mm`, forward and backward, 512 to 2560 of each size", draw_small, "to_bf16"),
    *(row for recipe in ("mxfp8_fast", "fp8_block") for row in (
        Row(f"{recipe}-linear", f"`{recipe}`, linear, forward and backward, from 4096 rows", draw_fast, "to_bf16",
            (1.25, 1.10), recipe=recipe),
        Row(f"{recipe}-experts-4096", f"`{recipe}`, experts of 4096 to 16384 rows, forward and backward",
            functools.partial(draw_experts, low=4096, high=16384), "to_bf16", (1.15, 1.05), recipe=recipe),
        Row(f"{recipe}-experts-1024", f"`{recipe}`, experts of 1024 to 4096 rows, forward and backward",
            functools.partial(draw_experts, low=1024, high=4096), "to_bf16", (1.05, 0.95), recipe=recipe),
        Row(f"{recipe}-experts-32", f"`{recipe}`, experts of 32 to 1024 rows, forward and backward",
            functools.partial(draw_experts, low=32, high=1024), "to_bytes", (1.10, 1.10), recipe=recipe),
        Row(f"{recipe}-known", f"`{recipe}`, linear, forward and backward, 2048 x 2048 x 2048", draw_known, "to_bf16",
            (0.95, 0.95), 1, recipe),
        Row(f"{recipe}-small", f"`{recipe}`, linear, forward and backward, 512 to 2560 of each size", draw_small,
            "to_bf16", (0.75,), recipe=recipe))),
    Row("invariant-1", "`mxfp4_weight_only`, 1 to 511 rows, batch_invariant beside without",
        functools.partial(draw_weights, high=511), "to_peer", (0.87,)),
    Row("invariant-512", "`mxfp4_weight_only`, 512 to 8192 rows, batch_invariant beside without",
        functools.partial(draw_weights, low=512), "to_peer", (0.95,)),
    Row("refit", "`refit` of 1 GB of MXFP4 experts beside a copy of its bytes", draw_refit, "to_peer", (0.8,)),
    Row("weights", "`MXWeightOnlyLinear` of MXFP4, 1 to 8192 rows", draw_weights, "to_bf16", (1.0, 0.9)),
]


# --- Measured layers ------------------------------------------------------------------


class Training:
    """Forward and backward passes on sets of operands."""

    def __init__(self, name, multiply, sets, ends):
        self.name, self._multiply, self._sets, self._ends = name, multiply, sets, ends
        self.count = len(sets)

    def launch(self, index):
        import torch
        x, weight, dy = self._sets[index]
        y = self._multiply(x, weight, self._ends)
        return y, *torch.autograd.grad(y, (x, weight), dy)


class Inference:
    def __init__(self, name, layers, inputs):
        self.name, self._layers, self._inputs = name, layers, inputs
        self.count = len(layers)

    def launch(self, index):
        import torch
        with torch.no_grad():
            return self._layers[index](self._inputs[index]),


class Refit:
    name, count = "mx", 1

    def __init__(self, module, weight):
        self._module, self._weight = module, weight

    def launch(self, index):
        self._module.refit(w1=self._weight)


class Copy:
    """Copies half of the given bytes, so reads and writes them together."""
    name, count = "copy", 1

    def __init__(self, count, device="cuda"):
        import torch
        self.source = torch.empty(count // 2, dtype=torch.uint8, device=device).random_()
        self.result = torch.empty_like(self.source)

    def launch(self, index):
        self.result.copy_(self.source)


def make_refit(shape, device):
    import mx_compiler.torch as mxt
    weight = normal(device, shape.groups, shape.outputs, shape.inputs)
    experts = mxt.MXWeightOnlyExperts(shape.inputs, shape.outputs, shape.groups, device=device)
    return Refit(experts, weight), Copy(int(REFIT_BYTES * weight.numel()), device)


def multiply_mx(recipe):
    """Returns the multiplication of a recipe's modules."""
    import mx_compiler.torch as mxt
    scales = mxt.RECIPES[recipe].fp8_scales
    functions = ((mxt.mxfp8_mm, mxt.mxfp8_grouped_mm) if scales is None else
                 [functools.partial(one, scales=scales) for one in (mxt.fp8_mm, mxt.fp8_grouped_mm)])

    def multiply(x, weight, ends):
        if ends is None:
            return functions[0](x, weight)
        return functions[1](x, weight.transpose(-2, -1), ends)
    return multiply


def multiply_torch(x, weight, ends):
    import torch
    if ends is None:
        return torch.nn.functional.linear(x, weight)
    return torch.nn.functional.grouped_mm(x, weight.transpose(-2, -1), offs=ends)


def normal(device, *shape):
    import torch
    return torch.randn(shape, device=device, dtype=torch.bfloat16)


def make(row, shape, device, most_sets=16):
    """Returns our implementation and PyTorch's, on the same values."""
    import torch
    dims = (shape.groups,) * bool(shape.groups) + (shape.outputs, shape.inputs)
    if row.name == "refit":
        return make_refit(shape, device)
    if row.name == "weights" or row.name.startswith("invariant"):
        import mx_compiler.torch as mxt
        count = max(1, min(most_sets, -(-SETS_BYTES // (shape.outputs * shape.inputs))))
        linears = [torch.nn.Linear(shape.inputs, shape.outputs, bias=False, device=device, dtype=torch.bfloat16)
                   for _ in range(count)]
        inputs = [normal(device, shape.rows, shape.inputs) for _ in linears]
        ours = [mxt.MXWeightOnlyLinear.from_linear(linear, "mxfp4_weight_only") for linear in linears]
        if row.name == "weights":
            return Inference("mx", ours, inputs), Inference("torch bf16", linears, inputs)
        fixed = [mxt.MXWeightOnlyLinear.from_linear(linear, "mxfp4_weight_only", batch_invariant=True)
                 for linear in linears]
        return Inference("mx", fixed, inputs), Inference("without", ours, inputs)
    count = max(1, min(8, most_sets, -(-SETS_BYTES // (2 * shape.operand_elements))))
    sets = [(normal(device, shape.rows, shape.inputs).requires_grad_(),
             normal(device, *dims).requires_grad_(),
             normal(device, shape.rows, shape.outputs)) for _ in range(count)]
    ends = None
    if shape.groups:
        ends = torch.tensor(cases.group_ends(shape.rows, shape.groups, shape.load), dtype=torch.int32,
                            device=device)
    return (Training("mx", multiply_mx(row.recipe), sets, ends), Training("torch bf16", multiply_torch, sets, ends))


# Largest relative norm of the difference: four roundings to E4M3 and their sums, or
# one rounding to E2M1.
MOST_ERROR = {"weights": 0.16, "invariant-1": 0.01, "invariant-512": 0.01}


def error_of(row, ours, peer):
    """Returns the largest relative error of a result; a wrong scale or row gives about 1."""
    if row.name == "refit":
        return 0.0  # test/Torch/refit.py compares bytes

    def relative(a, b):
        a, b = a.float(), b.float()
        return ((a - b).norm() / b.norm().clamp_min(1e-30)).item()
    return max(relative(a, b) for a, b in zip(ours.launch(0), peer.launch(0)))


def compare(row, shape, pair):
    error = error_of(row, *pair)
    if not error <= MOST_ERROR.get(row.name, 0.08):
        sys.exit(f"{row.name}-{shape.name}: expected an error of at most "
                 f"{MOST_ERROR.get(row.name, 0.08)} to bf16, found {error:.3f}")
    return error


def ceiling():
    """Returns the rate of a 2 GB copy, bytes read and written in a second."""
    import timing

    one = Copy(2 << 30)
    return 2 * one.source.nbytes / timing.sustained(one, 0.5, 1e-3)[0]


# --- Commands -------------------------------------------------------------------------


def compile_shape(key):
    """Compiles a shape in a separate process, which leaves the programs in the cache."""
    index, shape = key
    import torch
    make(ROWS[index], shape, "cuda", most_sets=1)[0].launch(0)
    torch.cuda.synchronize()


def compile_all(options):
    """Compiles many shapes in parallel; each needs a core and little of the GPU."""
    import concurrent.futures
    import multiprocessing
    import time
    begin = time.monotonic()
    keys = [(index, shape) for index, row in enumerate(ROWS) if re.search(options.only, row.name)
            for shape in row.shapes(options.seed, options.shapes)]
    with concurrent.futures.ProcessPoolExecutor(
            options.jobs, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        list(pool.map(compile_shape, keys))
    print(f"compiled the programs of {len(keys)} layers in {time.monotonic() - begin:.0f} s", flush=True)


def run(options):
    import speed
    import timing
    import torch
    speed.begin()
    data = json.loads(options.results.read_text()) if options.results.exists() else dict(rows={})
    data |= dict(seed=options.seed, about=speed.describe_machine() | dict(copy_gb_s=ceiling() / 1e9))
    for row in ROWS:
        if not re.search(options.only, row.name):
            continue
        measured = data["rows"].setdefault(row.name, {})
        for shape in row.shapes(options.seed, options.shapes):
            torch.manual_seed(options.seed)
            pair = make(row, shape, "cuda")
            error = compare(row, shape, pair)
            times = timing.measure_graphs(pair, options.seconds, sustained=row.key in ("to_bound", "to_bytes", "to_bf16") and row.name != "weights")
            measured[shape.name] = dict(error=round(error, 4), quantizer_bytes=row.bytes_of(shape),
                                        implementations=times)
            options.results.write_text(json.dumps(data, indent=1) + "\n")
            print(row.name, shape.name, [ratios(entry) for entry in published.layer_rows(
                data | dict(rows={row.name: {shape.name: measured[shape.name]}}))], flush=True)
            del pair
            speed.release()


def check(options):
    """Checks layers with a sixteenth of the size."""
    import torch
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for row in ROWS:
        for shape in row.shapes(options.seed, options.shapes):
            outputs, inputs = (multiple(size / 32, 32 if row.recipe == "mxfp8" else 128)
                               for size in (shape.outputs, shape.inputs))
            small = Shape(-(-shape.rows // 128), outputs, inputs, min(shape.groups, 4), shape.load)
            torch.manual_seed(options.seed)
            error = compare(row, small, make(row, small, device))
            print(f"{row.name} {small.name}: error {error:.3f}", flush=True)


def ratios(entry):
    """Returns the ratios of a row in the published table."""
    moved = entry["quantizer_bytes"] / (entry["copy_gb_s"] * 1e3)
    return dict(to_bound=round(entry["mx_us"] / (entry["torch_us"] + moved), 3),
                to_bytes=round(entry["mx_us"] / moved, 3),
                **dict.fromkeys(("to_bf16", "to_peer"), round(entry["torch_us"] / entry["mx_us"], 3)))


def table(rows):
    text = published.header("layer", "shapes", "ratio", "median", "worst", "where", "wanted")
    for row in ROWS:
        found = {f"{entry['shape']} (seed {entry['seed']})": ratios(entry)
                 for entry in rows if entry["layer"] == row.name}
        if not found:
            continue
        for key in dict.fromkeys((row.key, "to_peer" if row.key == "to_peer" else "to_bf16")):
            values = {name: one[key] for name, one in found.items()}
            is_bound = key in ("to_bound", "to_bytes")
            worst = (max if is_bound else min)(values, key=values.get)
            median = statistics.median(values.values())
            met = "–"
            if key == row.key and row.wanted:
                pairs = zip((median, values[worst]), row.wanted)
                met = "met" if all(a <= b if is_bound else a >= b for a, b in pairs) else "missed"
                met += f" ({', '.join(map(str, row.wanted))})"
            text += published.row(row.title, len(values), key.replace("_", " "), f"{median:.2f}",
                                  f"{values[worst]:.2f}", worst, met)
    return text


def show(options):
    print(table(published.load("layers", options.files)[1]), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawn = argparse.ArgumentParser(add_help=False)
    drawn.add_argument("--seed", type=int, default=1)
    drawn.add_argument("--shapes", type=int, default=20)
    drawn.add_argument("--only", default="")
    commands.add_parser("compile", parents=[drawn]).add_argument("--jobs", type=int, default=8)
    command = commands.add_parser("run", parents=[drawn])
    command.add_argument("--seconds", type=float, default=0.25)
    command.add_argument("--results", type=pathlib.Path, required=True)
    command = commands.add_parser("check")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--shapes", type=int, default=2)
    command = commands.add_parser("show")
    command.add_argument("files", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    {"compile": compile_all, "run": run, "check": check, "show": show}[options.command](options)


if __name__ == "__main__":
    main()
