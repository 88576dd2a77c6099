# REQUIRES: torch
# RUN: env MX_DEVICE=cpu MX_TORCH_DEVICE=cpu %python_torch -B %s %mx_src
"""Runs benchmarks/torch/expert_parallel.py with two host processes. The results of all systems must agree, and each
system must report a line or the reason for its absence."""

import json
import pathlib
import sys

from distributed_runs import torchrun


def run(hidden, intermediate, *options):
    printed = torchrun(2, "cpu", pathlib.Path(sys.argv[1], "benchmarks/torch/expert_parallel.py"), "--device=cpu",
                       "--tokens=40", f"--hidden={hidden}", f"--intermediate={intermediate}", "--experts=4",
                       "--choices=2", "--iterations=2", "--warmup=1", *options)
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


about, compared, *systems = run(64, 32)
assert about["ranks"] == 2 and about["tokens"] == 40, about
assert compared["right"] and 0 < compared["errors"]["mx"]["y"] < 0.1, compared
assert [line["system"] for line in systems] == [
    "mx", "mx programs", "mx on one GPU", "mx programs on one GPU", "torch all_to_all",
    "torch all_gather, reduce_scatter", "torch all_to_all_vdev_2d", "DeepEP, bf16"], systems
for line in systems:
    assert "left_out" in line or all(
        0 < line[key]["median"] <= line[key]["p90"] for key in ("forward_ms", "backward_ms", "both_ms")), line
# Each rank sends 40 tokens to the other rank: ids and weights of 2 choices, and E4M3 elements with scales. It receives
# bf16 sums. In the backward pass it sends no ids.
assert systems[0]["wire_bytes"] == {"forward": 40 * (8 + 64 + 2 + 8 + 128), "backward": 40 * (64 + 2 + 8 + 128)}, systems[0]
assert systems[2]["wire_bytes"]["forward"] == 0 and "left_out" in systems[-1]

about, compared, *systems = run(256, 128, "--format=mxfp8_fast", "--only=mx")
assert about["format"] == "mxfp8_fast" and 0 < compared["errors"]["mx"]["y"] < 0.1 and compared["right"], compared
assert len(systems) == 4 and systems[0]["wire_bytes"]["forward"] == 40 * (8 + 256 + 2 + 8 + 512), systems
