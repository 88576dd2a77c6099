#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts raw benchmark results to the rows of a published table.

usage: published.py TABLE RAW.json|ROWS.csv... [--csv=FILE]

Prints CSV, or writes FILE. benchmarks/results/README.md documents the tables and their columns;
runs.csv beside a table names the GPU, the software and the raw file."""

import argparse
import csv
import json
import pathlib
import re
import sys

# On the same values. The last are our own: of FP8 activations, and of operands folded with a limit.
PEERS = ("cuBLAS bf16", "torch grouped bf16", "mx, bf16 activations", "mx, no limit")
# More implementations: another format, other libraries with blocks of f32 scales, wide rows.
OTHERS = {"fp8_us": "fp8 row-wise, cuBLAS", "blocks_us": "cuBLAS 1x128 by 128x128",
          "deepgemm_us": "DeepGEMM 1x128 by 128x128", "wide_1024_us": "mx, a wide row in 1024",
          "wide_32_us": "mx, a wide row in 32"}
NEXT = "mx, next: "  # schedules ranked after the model's choice
TIMES = ("burst_us", "sustained_us", "sustained_spread_us", "graph_us", "graph_spread_us", "sm_mhz")


def time_of(entry):
    """Returns microseconds: sustained, or in a graph for small M."""
    return entry.get("sustained_us") or entry["graph_us"]


def matmul_rows(data):
    """Yields a row for each implementation, from matmul/speed.py and matmul/training.py."""
    training = [data["training"]] if "training" in data else []
    for result in data["rows"] + training:
        for name, entry in result["implementations"].items():
            yield dict(case=result["name"], implementation=name, wrong=result.get("wrong"),
                       **{key: entry.get(key) for key in TIMES},
                       date=result.get("date", data["about"]["date"])[:10],
                       commit=result.get("commit"))


def shape_rows(data):
    """Yields a row for each shape, from matmul/surface.py."""
    card = re.search(r"NVIDIA (\w+)", data["about"]["gpu"])
    for family, shapes in data["rows"].items():
        for case, result in shapes.items():
            times = {name: time_of(entry) for name, entry in result["implementations"].items()}
            errors = {name: round(error, 6) for name, error in result.get("errors", {}).items()}

            def fastest(accepts):
                return min((us for name, us in times.items() if accepts(name)), default=None)

            yield dict(card=card[1] if card else data["about"]["gpu"], seed=data["seed"], family=family,
                       case=case, wrong=result["wrong"], mx_us=times["mx"],
                       peer_us=fastest(PEERS.__contains__), dynamic_us=times.get("mx, dynamic"),
                       next_us=fastest(lambda name: name.startswith(NEXT)),
                       **{column: times.get(name) for column, name in OTHERS.items()},
                       error=errors.get("mx"), peer_error=errors.get(PEERS[2]))


def layer_rows(data):
    """Yields a row for each shape, from torch/steps.py."""
    for layer, shapes in data["rows"].items():
        for shape, result in shapes.items():
            mx, peer = map(time_of, result["implementations"].values())
            yield dict(seed=data["seed"], layer=layer, shape=shape, mx_us=mx, torch_us=peer,
                       quantizer_bytes=result["quantizer_bytes"],
                       copy_gb_s=round(data["about"]["copy_gb_s"], 1))


def quantizer_rows(data):
    """Yields rates of large cases, and times of small ones and of folding quantizers, from
    quantize/speed.py."""
    for result in data["results"]:
        times, large = result["times"], bool(result.get("limit"))
        rates = {f"{column}_gb_s": round(result[key]) if large and key in result else None
                 for column, key in (("mx", "rate"), ("ceiling", "ceiling_rate"), ("copy", "copy_rate"),
                                     ("compile", "compiled_rate"))}
        small = {f"{column}_us": None if large or key not in times else round(times[key], 2)
                 for column, key in (("mx", "mx"), ("copy", result.get("copy")), ("compile", "compiled"))}
        folded = {f"{name}_us": round(times[name], 2) if name in times else None
                  for name in ("unfolded", "widened")}
        yield dict(case=result["case"], wrong=result["wrong"], **rates, **small,
                   seed=result.get("seed"), **folded)


def expert_rows(lines):
    """Yields a row for each system, from the JSON lines of torch/expert_parallel.py."""
    for line in lines:
        if "benchmark" in line:
            run = {key: line[key] for key in ("ranks", "experts", "format")}
        if "both_ms" in line:
            times = {key: round(line[key]["median"], 2) for key in ("forward_ms", "backward_ms", "both_ms")}
            yield dict(**run, system=line["system"], **times, wire_mb=round(line["wire_bytes"]["forward"] / 1e6, 1))


def modelled_matmul_rows(data):
    """Yields a row for each program, from simulator/benchmarks/time/validate.py."""
    for program in data["rows"]:
        yield {key: program.get(key) for key in ("family", "name", "measured_us", "modelled_us")}


def modelled_kernel_rows(data):
    """Yields a row for each kernel of other projects."""
    keys = ("us", "sustained_us", "mhz", "sustained_mhz")
    for kernel in data["kernels"]:
        yield {key: kernel.get(key) for key in ("project", "kernel", "shape")} | {
            f"{kind}_{key}": kernel.get(f"{kind}_{key}") for key in keys for kind in ("measured", "modelled")}


TABLES = {"matmul": matmul_rows, "shapes": shape_rows, "layers": layer_rows, "quantizers": quantizer_rows,
          "experts": expert_rows, "modelled-matmul": modelled_matmul_rows,
          "modelled-kernels": modelled_kernel_rows}


def row(*cells):
    """Returns a line of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def header(*cells):
    return row(*cells) + "|---" * len(cells) + "|\n"


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read(path):
    """Reads rows of a CSV file, converts numbers, and omits empty cells."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: number(text) for key, text in line.items() if text != ""} for line in csv.DictReader(file)]


def runs(path):
    """Returns the rows of runs.csv about the table `path`."""
    found = pathlib.Path(path).with_name("runs.csv")
    return [run for run in read(found) if run["table"] == pathlib.Path(path).stem] if found.exists() else []


def read_raw(path):
    """Reads JSON, or a list from a file of JSON lines."""
    try:
        text = path.read_text()
        return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"{path}: expected results: {error}")


def load(table, paths):
    """Returns the runs and rows of raw results or CSV files."""
    abouts, rows = [], []
    for path in map(pathlib.Path, paths):
        if path.suffix == ".csv":
            abouts += runs(path)
            rows += read(path)
        else:
            data = read_raw(path)
            abouts.append(data["about"])
            rows += [{key: value for key, value in found.items() if value is not None}
                     for found in TABLES[table](data)]
    return abouts, rows


def by_case(rows):
    """Converts rows of the table `matmul` back to results of speed.py."""
    found = {}
    for entry in rows:
        result = found.setdefault(entry["case"], dict(name=entry["case"], wrong=entry.get("wrong"),
                                                      date=entry["date"], implementations={}))
        result["implementations"][entry["implementation"]] = entry
    return list(found.values())


def write(rows, file):
    columns = dict.fromkeys(key for found in rows for key in found)
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("raw", type=pathlib.Path, nargs="+")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    rows = [found for path in options.raw for found in (
        csv.DictReader(path.read_text(encoding="utf-8").splitlines()) if path.suffix == ".csv" else
        TABLES[options.table](read_raw(path)))]
    if not rows:
        sys.exit("expected results, found none")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            write(rows, file)
    else:
        write(rows, sys.stdout)


if __name__ == "__main__":
    main()
