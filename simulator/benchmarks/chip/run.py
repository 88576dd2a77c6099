#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the parts of an sm_90a GPU, with one program for each topic.

usage: run.py [--only=NAME,...] [--csv=FILE]

Needs nvcc and the GPU; peers and peer_processes need two GPUs. Prints or writes CSV with the
columns program, name, value and unit, as in ../results/chip.csv. Prints the GPU, its driver and
the date to standard error."""

import argparse
import concurrent.futures
import contextlib
import csv
import datetime
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOPICS = ("wgmma", "batches", "promote", "turns", "distinct", "mma", "instructions", "latencies", "code", "cold",
          "shared", "tma", "copies", "memory", "traffic", "sharing", "underway", "tensormaps", "starts",
          "barriers", "ctas", "launch", "energy", "clocks", "peers", "peer_processes")
WGMMA = """template <> struct Wgmma<{n}, {kind}> {{
  static __device__ void from{what}(float (&d)[{count}], {a_type}, uint64_t b) {{
    asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{type}.{type} {{{d}}}, {a}, %{b}, 1, 1, 1{last};"
                 : {outs} : {ins}, "l"(b));
  }}
"""
KINDS = {"BF16": ("bf16", 16), "F16": ("f16", 16), "E4M3": ("e4m3", 32)}


def wgmma_header():
    """Returns the text of a C++ header with a `wgmma` function for each shape and kind."""
    text = f"enum Kind {{ {', '.join(KINDS)} }};\ntemplate <int N, Kind KIND> struct Wgmma;\n"
    for n in (8, 16, 32, 64, 128, 192, 256):
        for kind, (element, k) in KINDS.items():
            count = n // 2
            common = dict(n=n, kind=kind, type=element, k=k,
                          count=count, d=", ".join(f"%{i}" for i in range(count)),
                          outs=", ".join(f'"+f"(d[{i}])' for i in range(count)))
            # wgmma of 16-bit elements also takes transposition flags.
            order = ["", ""] if k == 32 else [", 0", ", 0, 0"]
            shared = WGMMA.format(what="Shared", a_type="uint64_t a", a=f"%{count}", b=count + 1,
                                  ins='"l"(a)', last=order[1], **common)
            registers = WGMMA.format(
                what="Registers", a_type="const uint32_t *a", b=count + 4, last=order[0],
                a="{{" + ", ".join(f"%{count + i}" for i in range(4)) + "}}",
                ins=", ".join(f'"r"(a[{i}])' for i in range(4)), **common)
            text += shared + registers.partition("\n")[2] + "};\n"
    return text.replace("{{", "{").replace("}}", "}")


def build(topic, directory):
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a",
                    f"-I{directory}", "-o", directory / topic, HERE / f"{topic}.cu", "-lcuda"],
                   check=True)


def measure(topic, directory):
    """Runs the program of a topic, and returns [(name, value, unit)]."""
    done = subprocess.run([directory / topic], stdout=subprocess.PIPE, text=True, timeout=60)
    if done.returncode:
        print(f"{topic}: exit status {done.returncode}", file=sys.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [(name, float(value), unit) for name, value, unit in lines]


def describe():
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True)
    lines = done.stdout.strip().split("\n")
    gpu, driver = lines[0].split(", ")
    if len(lines) > 1:
        gpu = f"{len(lines)} x {gpu}"
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(" ", "minutes")
    return f"{gpu}, driver {driver}, {date} UTC"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(TOPICS))
    options = parser.parse_args()
    topics = options.only.split(",")
    unknown = [topic for topic in topics if topic not in TOPICS]
    if unknown:
        parser.error(f"expected some of {', '.join(TOPICS)}, found {', '.join(unknown)}")
    directory = pathlib.Path(tempfile.mkdtemp())
    (directory / "wgmma.inc").write_text(wgmma_header())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda topic: build(topic, directory), topics))
    print(describe(), file=sys.stderr)
    with open(options.csv, "w", newline="") if options.csv else contextlib.nullcontext(sys.stdout) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["program", "name", "value", "unit"])
        for topic in topics:
            writer.writerows([topic, *line] for line in measure(topic, directory))
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
