# REQUIRES: torch
# RUN: %python_torch %s
"""torch.nn.functional.scaled_mm and scaled_grouped_mm on tensors of the host, as
mx.torch.install serves them, against float64."""

import pathlib
import sys

import mx.torch as mxt

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
import scaled_cases

mxt.install(("cpu",))
scaled_cases.run("cpu")
