# REQUIRES: torch
# RUN: %python_torch %s
"""Layers with DTensor parameters, on two processes. Uses GPUs with MX_TORCH_DEVICE=cuda."""

import pathlib

from distributed_runs import ON_GPU, torchrun

program = pathlib.Path(__file__).parent / "Inputs" / "tensor_parallel.py"
printed = torchrun(2, "auto" if ON_GPU else "cpu", program)
assert all(f"rank {rank}: right" in printed for rank in range(2)), printed
