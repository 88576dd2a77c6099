# REQUIRES: torch
# RUN: %python_torch %s %mx_src | FileCheck %s
"""The quickstart for PyTorch runs as it stands there."""

import pathlib
import runpy
import sys

import torch

import reference

root = pathlib.Path(sys.argv[1])
# The page takes the GPU where there is one; tests do where they were told to.
torch.cuda.is_available = lambda: torch.device(reference.DEVICE).type == "cuda"
sys.argv = ["run_page.py", str(root / "docs/guide/Quickstart/PyTorch.md"), "python"]
runpy.run_path(str(root / "test/Docs/Inputs/run_page.py"), run_name="__main__")

# CHECK: MXLinear(in_features=128, out_features=256, bias=True, recipe=mxfp8)
# CHECK: 4 blocks of python
