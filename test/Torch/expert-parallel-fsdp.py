# REQUIRES: torch
# RUN: %python_torch %s
"""Tests a 2 x 2 mesh of processes, for experts and for FSDP2. Runs on GPUs with MX_TORCH_DEVICE=cuda."""

import pathlib

from distributed_runs import ON_GPU, torchrun

program = pathlib.Path(__file__).parent / "Inputs" / "expert_ranks.py"
printed = torchrun(4, "auto" if ON_GPU else "cpu", program)
assert all(f"rank {rank}: right" in printed for rank in range(4)), printed
