# REQUIRES: torch
# RUN: %python_torch %s %mx_src | FileCheck %s
"""Runs the PyTorch quickstart verbatim."""

import pathlib
import runpy
import sys

import torch

import reference

root = pathlib.Path(sys.argv[1])
# The page prefers a GPU; tests use their configured device.
torch.cuda.is_available = lambda: torch.device(reference.DEVICE).type == "cuda"
sys.argv = ["run_page.py", str(root / "docs/guide/Quickstart/PyTorch.md"), "python"]
runpy.run_path(str(root / "test/Docs/Inputs/run_page.py"), run_name="__main__")

# CHECK: MXLinear(in_features=128, out_features=256, bias=True, recipe=mxfp8)
# CHECK: 4 blocks of python
