#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the time model with measurements on an H200.

    validate.py run MEASURED.json... --results=FILE.json [--only=REGEX] [--sample=N]
                    [--most=SECONDS] [--again] [--bin=DIR] [--ptx-prices]
    validate.py show [--matmul=FILE] [--kernels=FILE]

`run` models the programs in raw results of surface.py and tune.py, and stores modelled and
measured times in FILE.json. Without --again, it skips programs with a modelled time.
--sample selects a fixed sample of at most N programs of each family. --most limits the simulation
of a program, in seconds. --ptx-prices takes instruction costs from PTX, without ptxas or nvdisasm.

`show` prints tables of modelled-matmul.csv and modelled-kernels.csv in ../results, or of raw
results. modelled-kernels.csv covers kernels of other projects, which are not in this
repository."""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "benchmarks"))
import published
import tables

RESULTS = HERE.parent / "results"
FIELDS = ("busy", "l2_hit_rate", "hbm_bytes")


def describe(one):
    row = dict(family=one.family, name=one.name, measured_us=one.us)
    extra = dict(sustained_us=one.sustained_us, mhz=one.mhz)
    return row | {key: value for key, value in extra.items() if value}


def model(simulator, one):
    """Returns the row of a program, with "failed" if it has no time."""
    import simulate
    try:
        launches, seconds = simulator.run(one.case, one.way)
    except simulate.Failed as failure:
        return dict(failed=str(failure)[:200])
    found = [dict(kernel=launch["kernel"], us=launch["time"]["us"],
                  **{key: launch["time"][key] for key in FIELDS}) for launch in launches]
    return dict(modelled_us=round(sum(launch["us"] for launch in found), 2),
                seconds=round(seconds, 1), launches=found)


def run(options):
    import measured
    import simulate
    simulator = simulate.Simulator(options.bin, options.most, options.ptx_prices)
    results = options.results
    data = json.loads(results.read_text()) if results.exists() else dict(rows=[])
    rows = {row["name"]: row for row in data["rows"]}
    data["about"] = simulator.about()
    for one in measured.chosen(measured.load(options.measured), options.only,
                               options.sample):
        if rows.get(one.name, {}).get("modelled_us") and not options.again:
            continue
        rows[one.name] = row = describe(one) | model(simulator, one)
        data["rows"] = list(rows.values())
        results.write_text(json.dumps(data, indent=1) + "\n")
        found = f"{row['modelled_us']:.2f} ({tables.error(row):+.1f} %), {row['seconds']} s" \
            if "modelled_us" in row else row["failed"]
        print(f"{one.family}\t{one.name}\t{one.us:.2f}\t{found}", flush=True)


def show(options):
    print(tables.of_matmul(published.load("modelled-matmul", [options.matmul])[1]))
    print(tables.of_kernels(published.load("modelled-kernels", [options.kernels])[1]), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("measured", type=pathlib.Path, nargs="+")
    command.add_argument("--bin", type=pathlib.Path, default=HERE.parents[2] / "build/gcc/bin")
    command.add_argument("--only", default="")
    command.add_argument("--sample", type=int, default=0)
    command.add_argument("--most", type=float, default=300)
    command.add_argument("--again", action="store_true")
    command.add_argument("--ptx-prices", action="store_true")
    command.add_argument("--results", type=pathlib.Path, required=True)
    command.set_defaults(does=run)
    command = commands.add_parser("show")
    command.add_argument("--matmul", type=pathlib.Path, default=RESULTS / "modelled-matmul.csv")
    command.add_argument("--kernels", type=pathlib.Path, default=RESULTS / "modelled-kernels.csv")
    command.set_defaults(does=show)
    options = parser.parse_args()
    options.does(options)


if __name__ == "__main__":
    main()
