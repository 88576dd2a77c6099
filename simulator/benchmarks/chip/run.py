#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what the parts of a GPU of sm_90a can do, one program for each topic.

usage: run.py [--results=FILE.json] [--page=FILE.md] [--only=NAME,...]
       run.py FILE.json [--page=FILE.md]       (tables of earlier results)

Needs nvcc and the GPU; for peers and peer_processes two of them. Writes the JSON, and
the tables between the markers of the page, or prints them."""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOPICS = {"wgmma": "wgmma", "products": "wgmma that is waited for, and beside other traffic",
          "turns": "Warps that share a scheduler",
          "distinct": "Arithmetic on distinct registers beside wgmma", "mma": "mma.sync",
          "instructions": "Instructions of threads",
          "latencies": "Results of instructions", "code": "Branches and long code",
          "cold": "What a kernel finds cold",
          "shared": "Shared memory", "tma": "Loads by the copy engine",
          "copies": "Copies of one SM and of all", "memory": "L2 and HBM",
          "traffic": "L2 and HBM by who asks",
          "sharing": "GPCs, and what they share",
          "underway": "Loads by the bytes under way", "tensormaps": "Tensor maps that change",
          "starts": "From one kernel to the next", "barriers": "Barriers", "ctas": "Starts of CTAs",
          "launch": "Launches in a CUDA graph", "energy": "Power and clock",
          "clocks": "The clock after a pause",
          "peers": "Memory of another GPU", "peer_processes": "Memory of another process"}
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
WGMMA = """template <> struct Wgmma<{n}, {kind}> {{
  static __device__ void from{what}(float (&d)[{count}], {a_type}, uint64_t b) {{
    asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{type}.{type} {{{d}}}, {a}, %{b}, 1, 1, 1{last};"
                 : {outs} : {ins}, "l"(b));
  }}
"""
KINDS = {"BF16": ("bf16", 16), "F16": ("f16", 16), "E4M3": ("e4m3", 32)}


def wgmma_header():
    """A function for each shape, whose sums are so many operands."""
    text = f"enum Kind {{ {', '.join(KINDS)} }};\ntemplate <int N, Kind KIND> struct Wgmma;\n"
    for n in (8, 16, 32, 64, 128, 192, 256):
        for kind, (element, k) in KINDS.items():
            count = n // 2
            common = dict(n=n, kind=kind, type=element, k=k,
                          count=count, d=", ".join(f"%{i}" for i in range(count)),
                          outs=", ".join(f'"+f"(d[{i}])' for i in range(count)))
            # Operands of 16 bits may lie the other way round.
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
    """[(name, value, unit)]"""
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
    return dict(gpu=gpu, driver=driver, date=date)


def table(data):
    about = data["about"]
    text = f"{about['date']} UTC, {about['gpu']}, driver {about['driver']}.\n"
    for topic, title in TOPICS.items():
        rows = data["results"].get(topic, [])
        if rows:
            text += f"\n| {title} | | |\n|---|---|---|\n"
        for name, value, unit in rows:
            text += f"| {name} | {value:.4g} | {unit} |\n"
    return text


def write_page(page, text):
    head, rest = page.read_text().split(BEGIN)
    page.write_text(head + BEGIN + text + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("earlier", nargs="?", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(TOPICS))
    options = parser.parse_args()
    if options.earlier:
        data = json.loads(options.earlier.read_text())
    else:
        topics = options.only.split(",")
        directory = pathlib.Path(tempfile.mkdtemp())
        (directory / "wgmma.inc").write_text(wgmma_header())
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda topic: build(topic, directory), topics))
        data = dict(about=describe(), results={t: measure(t, directory) for t in topics})
        shutil.rmtree(directory)
    if options.results:
        options.results.write_text(json.dumps(data, indent=1) + "\n")
    if options.page:
        write_page(options.page, table(data))
    else:
        print(table(data), end="")


if __name__ == "__main__":
    main()
