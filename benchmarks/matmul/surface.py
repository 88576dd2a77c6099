#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares matmuls of random shapes with baselines, to measure shapes without tuned schedules.

    surface.py build MX_COMPILE OUT --seed=S [--shapes=24] [--only=REGEX]   # here
    surface.py run OUT --results=R.json [--only=REGEX] [--seconds=S]      # on the GPU
    surface.py show FILE...

Each row of the table is a family of matmuls, with shapes drawn from a seed. Matmuls with sums in
reduced precision name this contract ("promoted 128") and have rows of their own. Ratios are the
baseline's time divided by that of mx: median, tenth percentile, and the worst with its name.
Every shape is measured together with its baseline in one process, after its results were
checked (see speed.py). "dynamic" is the program with dynamic rows. "next" is the fastest of the
schedules ranked after the model's choice, measured for every fourth shape. Families with a
limit compare programs of mx-fold-operands with and without a limit. `show` reads raw
results or CSV as in benchmarks/results/shapes.csv. others.py documents run --peers=FILE.py."""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import cases
import published
import tune
from cases import Case, DYNAMIC, LIMITED, W4A16, WIDE
from published import NEXT as NEXT_WAY, time_of

# N and K of feed-forward layers (up and down) and of attention in published models.
DENSE_MODELS = {  # hidden, intermediate
    "Llama-3-8B": (4096, 14336), "Llama-3-70B": (8192, 28672), "Llama-3.1-405B": (16384, 53248),
    "Qwen2.5-7B": (3584, 18944), "Qwen2.5-32B": (5120, 27648), "Qwen2.5-72B": (8192, 29568),
    "Gemma-2-27B": (4608, 36864), "Phi-3-medium": (5120, 17920), "DeepSeek-V3": (7168, 18432),
    "Command-R+": (12288, 33792)}
MOE_MODELS = {  # hidden, intermediate of an expert
    "Mixtral-8x7B": (4096, 14336), "Mixtral-8x22B": (6144, 16384), "DeepSeek-V3": (7168, 2048),
    "DeepSeek-V2": (5120, 1536), "Qwen3-235B-A22B": (4096, 1536), "Qwen3-30B-A3B": (2048, 768),
    "Qwen2-57B-A14B": (3584, 2560), "gpt-oss-120b": (2880, 2880), "OLMoE-7B": (2048, 1024),
    "DBRX": (6144, 10752)}
# Limit on weight elements of all groups: three sets of operands fit in an H100.
MOST_WEIGHTS = 2 << 30
FORMATS = {"mxfp8": ("f8E4M3FN", "f8E8M0FNU"), "mxfp4": ("f4E2M1FN", "f8E8M0FNU"),
           "nvfp4": ("f4E2M1FN", "f8E4M3FN")}
# Kernels for folded operands.
PROMOTIONS = (128, 512)
# Number of next-ranked schedules to measure, and the interval of shapes with them.
NEXT, EVERY = 3, 4


def log_uniform(source, low, high):
    return low * (high / low) ** source.random()


def multiple(size, of):
    return max(of, round(size / of) * of)


def draw_size(source):
    return multiple(log_uniform(source, 2048, 16384), 32 if source.random() < 0.25 else 128)


def draw_dense(source, index):
    """Draws a dense matmul; a quarter of the sizes are multiples of 32 but not of 128."""
    name = ("mxfp8", "mxfp4", "nvfp4")[index % 3]
    element, scale = FORMATS[name]
    m, n, k = draw_size(source), draw_size(source), draw_size(source)
    return Case(f"{name}-{m}x{n}x{k}", m, n, k, a=element, b=element, scale=scale)


def draw_grouped(source, index, gradient=False):
    model, (hidden, inner) = source.choice(list(MOE_MODELS.items()))
    n, k = source.choice([(2 * inner, hidden), (hidden, inner)])
    groups = round(log_uniform(source, 8, 128))
    groups = max(8, min(groups, MOST_WEIGHTS // (n * k)))
    m = multiple(log_uniform(source, 4096, 131072), 8)
    load = ("uniform", "zipf")[index % 2]
    kind = "gradient" if gradient else "grouped"
    return Case(f"{kind}-{model}-{groups}-{load}-{m}x{n}x{k}", m, n, k, groups=groups,
                gradient=gradient, load=load)


def draw_folded(source, index, promote, large):
    """Draws a dense matmul of folded operands, of at least 1e11 operations if `large`."""
    while True:
        m, n, k = draw_size(source), draw_size(source), multiple(draw_size(source), promote)
        if (2 * m * n * k >= 1e11) == large:
            return Case(f"promoted{promote}-{m}x{n}x{k}", m, n, k, promote=promote, peers=("fp8",))


def draw_folded_grouped(source, index, promote, large):
    """Draws a forward matmul or the data gradient, with at least 512 rows per group if `large`."""
    while True:
        case = draw_grouped(source, index // 2)
        if (case.m >= 512 * case.groups) == large:
            break
    kind = ("forward", "data")[index % 2]
    n, k = (case.n, case.k)[::-1 if kind == "data" else 1]
    k = -(-k // promote) * promote
    name = re.sub(r"^grouped-(.*)-.*", rf"promoted{promote}-{kind}-\1-{case.m}x{n}x{k}", case.name)
    return dataclasses.replace(case, name=name, n=n, k=k, promote=promote)


def draw_folded_gradient(source, index, promote):
    """Draws a dense weight gradient, a matmul with blocks of both operands."""
    m, n, k = (multiple(log_uniform(source, 4096, 16384), max(128, promote)) for _ in range(3))
    return Case(f"promoted{promote}-gradient-{m}x{n}x{k}", m, n, k, promote=promote, both=True,
                peers=("fp8",))


def draw_folded_grouped_gradient(source, index, promote, large):
    """Draws a weight gradient of expert groups, with at least 512 rows per group if `large`."""
    while True:
        case = draw_grouped(source, index, gradient=True)
        if (case.m >= 512 * case.groups) == large:
            return dataclasses.replace(case, name=f"promoted{promote}-{case.name}", promote=promote)


def draw_blocks(source, index, draw, *limits):
    """Draws a matmul with f32 scales of 1 x 128, and of 128 x 128 unless it is a weight gradient."""
    case = draw(source, index, 128, *limits)
    n = case.n if case.groups else multiple(case.n, 128)  # other libraries take whole blocks only
    name = case.name.replace("promoted128", "fp8_block").replace(f"x{case.n}x", f"x{n}x")
    return dataclasses.replace(case, name=name, n=n, scale="f32")


def draw_weights(source, index, low, high):
    _, (hidden, inner) = source.choice(list(DENSE_MODELS.items()))
    n, k = source.choice([(2 * inner, hidden), (hidden, inner), (hidden, hidden)])
    m = max(low, min(high, round(log_uniform(source, low, high))))
    name = ("mxfp4", "nvfp4")[index % 2]
    element, scale = FORMATS[name]
    return Case(f"bf16x{name}-{m}x{n}x{k}", m, n, k, a="bf16", b=element, scale=scale)


def draw_packed(source, index, low, high):
    case = draw_weights(source, index, low, high)
    return dataclasses.replace(case, name=case.name.replace("-", "-packed-", 1), packed=True)


def draw_expanded(source, index, low, high):
    """Draws MXFP4 weights by bf16 activations that are quantized to FP8."""
    while True:
        case = draw_weights(source, 0, low, high)
        if case.k % 128 == 0:
            return dataclasses.replace(case, name=case.name.replace("bf16x", "w4a8-"), promote=128,
                                       expands=True)


def draw_quantized_groups(source, index, prefix, least, fields):
    """Draws a forward matmul of bf16 with at least `least` rows per group."""
    while True:
        case = draw_grouped(source, index)
        if case.m >= least * case.groups and case.k % 128 == 0:
            return dataclasses.replace(case, name=f"{prefix}-{case.name}", a="bf16", **fields)


def draw_limited(source, index):
    m, n, k = (multiple(log_uniform(source, 4096, 16384), 128) for _ in range(3))
    return Case(f"limit-{m}x{n}x{k}", m, n, k, a="bf16", b="bf16", folds=True)


# Folded operands: name and title, number of operations or rows, required ratios.
FOLDED = (("dense", "dense, at least 1e11 FLOP", draw_folded, True, (1.48, 1.15)),
          ("small", "dense, fewer FLOP", draw_folded, False, (1.25, 1.0)),
          ("grouped", "grouped, forward and data gradient, at least 512 rows a group",
           draw_folded_grouped, True, (1.35, 1.15)),
          ("few-rows", "grouped, forward and data gradient, fewer rows a group",
           draw_folded_grouped, False, (1.0, 0.9)))
# The same of weight gradients, with the intervals of promotion.
GRADIENTS = (("gradient", "weight gradient, dense from 4096", draw_folded_gradient, (), (1.25, 1.10),
              PROMOTIONS),
             ("grouped-gradient", "weight gradient, grouped, at least 512 rows a group",
              draw_folded_grouped_gradient, (True,), (1.20, 1.05), (128,)),
             ("few-rows-gradient", "weight gradient, grouped, fewer rows a group",
              draw_folded_grouped_gradient, (False,), (1.0, 0.85), (128,)))


@dataclasses.dataclass(frozen=True)
class Row:
    """Family of matmuls, with the required median and tenth percentile on an H200, or median and
    worst if the contract permits sums in reduced precision."""
    name: str
    title: str
    draw: object
    least: tuple
    limits: tuple = ()
    contract: str = "exact"

    def cases(self, seed, count):
        """Returns the shapes of a seed; a smaller count returns the first of them."""
        source = random.Random(f"{seed} {self.name}")
        found = {}
        while len(found) < count:
            case = self.draw(source, len(found), *self.limits)
            ways = {"mx": ""}
            # The groups determine the rows of a ragged reduction.
            if not case.gradient:
                ways["mx, dynamic"] = DYNAMIC
            if case.expands:
                ways[W4A16] = ""
            if case.folds:
                ways = LIMITED
            found[case.name] = dataclasses.replace(case, ways=tuple(ways.items()))
        return list(found.values())


ROWS = [
    Row("dense", "MXFP8, MXFP4 and NVFP4, dense", draw_dense, (0.94, 0.87)),
    Row("grouped", "MXFP8, grouped, forward", draw_grouped, (0.94, 0.88)),
    Row("gradient", "MXFP8, gradient of weights", draw_grouped, (0.90, 0.84), (True,)),
    *(Row(f"weights{'-packed' * packed}-{low}",
          f"bf16 × MXFP4 and NVFP4, {low} to {high} rows{', packed' * packed}",
          draw_packed if packed else draw_weights, least, (low, high))
      for low, high, of_plain, of_packed in ((1, 64, (1.2, 1.05), (1.45, 1.25)),
                                             (65, 256, (0.95, 0.85), (1.05, 0.95)),
                                             (257, 8192, (0.92, 0.85), (0.92, 0.85)))
      for packed, least in ((False, of_plain), (True, of_packed))),
    *(Row(f"promoted{promote}-{name}", f"FP8, promoted {promote}, {title}", draw, least,
          (promote, large), f"promoted {promote}")
      for promote in PROMOTIONS for name, title, draw, large, least in FOLDED),
    *(Row(f"promoted{promote}-{name}", f"FP8, promoted {promote}, {title}", draw, least,
          (promote, *limits), f"promoted {promote}")
      for name, title, draw, limits, least, promotions in GRADIENTS for promote in promotions),
    Row("w4a8", "MXFP4 by FP8, promoted 128, 1024 to 16384 rows, with quantizer, beside bf16 × MXFP4",
        draw_expanded, (1.30, 1.10), (1024, 16384), "promoted 128"),
    Row("w4a8-grouped", "MXFP4 by FP8, promoted 128, grouped, at least 1024 rows a group, with quantizer",
        draw_quantized_groups, (1.30, 1.10), ("w4a8", 1024, dict(b="f4E2M1FN", promote=128, expands=True)),
        "promoted 128"),
    Row("limit-dense", "FP8 folded with a limit, dense from 4096, with quantizers, to no limit",
        draw_limited, (0.98, 0.98), (), "promoted 128"),
    Row("limit-grouped", "FP8 folded with a limit, grouped, at least 512 rows a group, with quantizers",
        draw_quantized_groups, (0.98, 0.98), ("limit", 512, dict(folds=True)), "promoted 128"),
    *(Row(f"fp8_block-{name}", f"FP8 with f32 scales, {title}", draw_blocks, least, (draw, large),
          "promoted 128") for name, title, draw, large, least in FOLDED),
    *(Row(f"fp8_block-{name}", f"FP8 with f32 scales, {title}", draw_blocks, least, (draw, *limits),
          "promoted 128") for name, title, draw, limits, least, _ in GRADIENTS),
]
DYNAMIC_LEAST = 0.98, 0.95  # relative to static rows
# Columns of errors by norm, and further tables: title, and the columns that are compared.
ERRORS = "error", "peer_error"
OTHERS = (("the model's next to its choice", "mx_us", "next_us"),
          ("cuBLAS, FP8 by rows, without a bound", "mx_us", "fp8_us"),
          ("cuBLAS, FP8 in blocks, without a bound", "mx_us", "blocks_us"),
          ("DeepGEMM, FP8 in blocks, without a bound", "mx_us", "deepgemm_us"),
          *((f"a wide row in {rows}, to no limit", f"wide_{rows}_us", "peer_us") for rows in WIDE.values()))


# --- Programs -------------------------------------------------------------------------


def with_next(mx_compile, case, out):
    """Returns the case with the schedules ranked after the model's choice."""
    source = out / f"{case.name}.mlir"
    source.write_text(case.text())
    text = subprocess.run([mx_compile, source, f"--chip={cases.CHIP}", "--mx-explain", "-o",
                           out / case.name], stderr=subprocess.PIPE, text=True).stderr
    more = {NEXT_WAY + text: text for text in tune.listed(text)[1:1 + NEXT]}
    return dataclasses.replace(case, ways=case.ways + tuple(more.items()))


def build(mx_compile, out, seed, shapes, only):
    out.mkdir(parents=True, exist_ok=True)
    drawn = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in ROWS:
            if not re.search(only, row.name):
                continue
            found = row.cases(seed, shapes)
            found = [with_next(mx_compile, case, out) if i % EVERY == 0 and not case.folds else case
                     for i, case in enumerate(found)]
            # The short form in --mx-explain's list may omit parts of the schedule.
            jobs = {(case.name, way): pool.submit(cases.compile_way, mx_compile, case, way, out,
                                                  quiet=way.startswith(NEXT_WAY))
                    for case in found for way, _ in case.ways}
            refused = [name for name, job in jobs.items()
                       if not job.result() and not name[1].startswith(NEXT_WAY)]
            if refused:
                sys.exit(f"not compiled: {refused}")
            drawn[row.name] = [dataclasses.asdict(case) for case in found]
    (out / "surface.json").write_text(json.dumps(dict(seed=seed, rows=drawn), indent=1))


# --- Measurement -------------------------------------------------------------------------


def measure(out, results, only, seconds, beside):
    import implementations
    import others
    import problems
    import speed
    import timing
    speed.begin()
    find_others = others.load(beside)
    drawn = json.loads((out / "surface.json").read_text())
    data = json.loads(results.read_text()) if results.exists() else dict(rows={})
    data |= dict(seed=drawn["seed"], about=speed.describe_machine())
    for row, shapes in drawn["rows"].items():
        if not re.search(only, row):
            continue
        measured = data["rows"].setdefault(row, {})
        for fields in shapes:
            case = Case(**fields | dict(ways=tuple(map(tuple, fields["ways"])),
                                        peers=tuple(fields["peers"])))
            problem = problems.make(case)
            speed.release()  # programs allocate memory outside PyTorch
            ways = [*dict(case.ways), *WIDE] if case.folds else dict(case.ways)
            ours = [implementations.MxProgram(way, case, out, problem) for way in ways
                    if (out / case.program(way)).exists()]
            wrong = sum(problem.wrong(one) for one in ours)
            more = problem.equal_peers() + find_others(problem)
            others_wrong = others.count_wrong(problem, more)
            # Programs with quantizers are compared with another way of mx.
            everyone = ours + more + ([] if case.quantizes else problem.peers())
            times = (timing.measure_graphs(everyone, seconds) if case.folds else
                     timing.measure_one_way(everyone, seconds, case.few_rows))
            measured[case.name] = dict(wrong=wrong, implementations=times)
            if more:
                measured[case.name] |= dict(others_wrong=others_wrong)
            if case.expands:
                errors = {one.name: problem.error(one) for one in ours}
                measured[case.name] |= dict(errors=errors)
                print(f"{case.name}: errors", errors)
            results.write_text(json.dumps(data, indent=1) + "\n")
            print(f"{case.name}: {wrong} wrong", {name: time_of(entry) for name, entry in
                                                  times.items()}, flush=True)
            del problem, ours, more, everyone
            speed.release()


# --- Tables ---------------------------------------------------------------------------


def ratios(rows, of, to):
    """Returns the time in column `to` divided by that in `of`, by case."""
    return {f"{row['case']} ({row['card']}, seed {row['seed']})": row[to] / row[of]
            for row in rows if of in row and to in row}


def spread(found):
    """Returns median, tenth percentile, the worst ratio and its name."""
    values = sorted(found.values())
    worst = min(found, key=found.get)
    tenth = values[0] if len(values) < 2 else statistics.quantiles(values, n=10, method="inclusive")[0]
    return statistics.median(values), tenth, found[worst], worst


def summary(row, found, least, of_worst=False):
    """Returns a row of the table. Compares the median, and the tenth percentile or the worst, with `least`."""
    median, tenth, worst, name = spread(found)
    low = worst if of_worst else tenth
    verdict = "met" if median >= least[0] and low >= least[1] else "missed"
    return [row, len(found), f"{median:.2f}", f"{tenth:.2f}", f"{worst:.2f}", name,
            f"{verdict} ({least[0]}, {least[1]})"]


def table(rows):
    """Returns the table of several seeds."""
    columns = "family", "shapes", "median", "tenth percentile", "worst", "where", "wanted"
    text, with_errors = published.header(*columns), ""
    families = {family.name: [row for row in rows if row["family"] == family.name] for family in ROWS}
    for family in ROWS:
        if found := ratios(families[family.name], "mx_us", "peer_us"):
            cells = summary(family.title, found, family.least, family.contract != "exact")
            errors = [[row[key] for row in families[family.name] if key in row] for key in ERRORS]
            if all(errors):
                with_errors += published.row(*cells, *(f"{max(values):.4f}" for values in errors))
            else:
                text += published.row(*cells)
    for contract in dict.fromkeys(family.contract for family in ROWS):
        own = [row for family in ROWS if family.contract == contract for row in families[family.name]]
        if dynamic := ratios(own, "dynamic_us", "mx_us"):
            text += published.row(*summary(f"dynamic rows beside static, {contract}", dynamic, DYNAMIC_LEAST))
    if with_errors:
        text += "\n" + published.header(*columns, "error with FP8", "error with bf16") + with_errors
    for title, of, to in OTHERS:
        lines = "".join(published.row(*summary(family.title, found, (0, 0))[:-1],
                                      sum(ratio >= 0.97 for ratio in found.values()))
                        for family in ROWS if (found := ratios(families[family.name], of, to)))
        text += "\n" + published.header(title, *columns[1:-1], "at least 0.97") + lines if lines else ""
    return text + f"\nWrong elements: {sum(row['wrong'] for row in rows)}.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build")
    command.add_argument("mx_compile")
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--shapes", type=int, default=24)
    command.add_argument("--only", default="")
    command = commands.add_parser("run")
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("--results", type=pathlib.Path, required=True)
    command.add_argument("--only", default="")
    command.add_argument("--seconds", type=float, default=0.25)
    command.add_argument("--peers", type=pathlib.Path)
    command = commands.add_parser("show")
    command.add_argument("results", type=pathlib.Path, nargs="+")
    command.add_argument("--card", help="show only rows of this card")
    options = parser.parse_args()
    if options.command == "build":
        build(options.mx_compile, options.out, options.seed, options.shapes, options.only)
    elif options.command == "run":
        measure(options.out, options.results, options.only, options.seconds, options.peers)
    else:
        _, rows = published.load("shapes", options.results)
        print(table([row for row in rows if options.card in (None, row["card"])]), end="")


if __name__ == "__main__":
    main()
