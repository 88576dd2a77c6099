# REQUIRES: torch
# RUN: env MX_DEVICE=cpu %python_torch -B %mx_src/benchmarks/torch/end_to_end.py moe --tiny --recipe=mxfp8
# RUN: env MX_DEVICE=cpu %python_torch -B %mx_src/benchmarks/torch/end_to_end.py block --tiny
# RUN: env MX_DEVICE=cpu %python_torch -B %s %mx_src
"""Compares small models of benchmarks/torch/end_to_end.py with bf16. Tests the table, and results with errors."""

import pathlib
import sys
import types

import torch

sys.path.insert(0, str(pathlib.Path(sys.argv[1], "benchmarks/torch")))
import end_to_end

row = dict(command="moe", case="step", tokens=200, peak_mib=1234)
lines = end_to_end.table([row | dict(implementation="mxfp8", ms=1.0, decibels=21.3),
                          row | dict(implementation="bf16 a", ms=2.0, decibels=None),
                          row | dict(implementation="bf16 b", ms=1.5, decibels=None)]).splitlines()
assert lines[2:] == ["| moe | step | mxfp8 | 1.000 | 200,000 | 1.50 | 1,234 | 21.3 |",
                     "| moe | step | bf16 a | 2.000 | 100,000 | 0.75 | 1,234 | – |",
                     "| moe | step | bf16 b | 1.500 | 133,333 | 1.00 | 1,234 | – |"], lines

options, wanted = types.SimpleNamespace(command="moe", recipe="mxfp8"), {"a": torch.ones(4), "b": torch.ones(4)}
assert end_to_end.check(options, {"a": torch.ones(4), "b": torch.full((4,), 1.1)}, wanted) == 20.0
for wrong in 1.5, torch.nan:
    try:
        end_to_end.check(options, {"a": torch.ones(4), "b": torch.full((4,), wrong)}, wanted)
        raise AssertionError(f"expected {wrong} to be refused")
    except SystemExit as error:
        assert "expected a signal-to-noise ratio of at least 15 dB for b, found " in str(error), error
