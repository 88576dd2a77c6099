# REQUIRES: torch
# RUN: %python_torch %s
"""Experts divided among two processes, beside one that has all tokens, on the reference path.
On GPUs where there are two (MX_TORCH_DEVICE=cuda)."""

import pathlib

from distributed_runs import ON_GPU, torchrun

program = pathlib.Path(__file__).parent / "Inputs" / "expert_ranks.py"
printed = torchrun(2, "auto" if ON_GPU else "cpu", program)
assert all(f"rank {rank}: right" in printed for rank in range(2)), printed
