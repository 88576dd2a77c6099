# REQUIRES: torch
# RUN: %python_torch %s
"""Tests a 2 x 2 mesh of four processes: one dimension divides experts, and FSDP2 uses the other. Uses GPUs if there are
four (MX_TORCH_DEVICE=cuda)."""

import pathlib

from distributed_runs import ON_GPU, needs_gpus, torchrun

program = pathlib.Path(__file__).parent / "Inputs" / "expert_ranks.py"
needs_gpus(4)
printed = torchrun(4, "auto" if ON_GPU else "cpu", program)
assert all(f"rank {rank}: right" in printed for rank in range(4)), printed
