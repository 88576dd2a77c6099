# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a %python_torch %s
"""Compares torch.nn.functional.scaled_mm and scaled_grouped_mm on host tensors with float64 after
mx_compiler.torch.install. Uses the reference path and, on the simulator, sm_90a kernels, which read more of the
padding. scaled-sm_120a.test covers sm_120a."""

import scaled_cases
from reference import DEVICE

import mx_compiler.torch as mxt

mxt.install(DEVICE)
scaled_cases.run(DEVICE)
