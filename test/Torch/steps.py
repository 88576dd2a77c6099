# REQUIRES: torch
# RUN: %python_torch -B %mx_src/benchmarks/torch/steps.py check --shapes=1
"""Checks that the layers timed by benchmarks/torch/steps.py match PyTorch's except for rounding."""
