# REQUIRES: torch, torchtitan
# RUN: %python_torch %s
"""Converted models of torchtitan with FSDP, tensor and expert parallelism, on two processes of the host."""

import pathlib

import titan_models  # noqa: F401  ends the test if PyTorch is too old
from distributed_runs import torchrun

program = pathlib.Path(__file__).parent / "Inputs" / "titan_ranks.py"
printed = torchrun(2, "cpu", program)
assert all(f"rank {rank}: right" in printed for rank in range(2)), printed
