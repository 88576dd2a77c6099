# REQUIRES: torch
# RUN: %python_torch -B %mx_src/benchmarks/torch/steps.py check --shapes=1
"""The layers that benchmarks/torch/steps.py times are those of PyTorch but for rounding."""
