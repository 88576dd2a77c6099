# REQUIRES: torch, torchao
# RUN: %python_torchao %s
"""Tests torchao's MXFP8 training after mx_compiler.torch.install(torchao=True), for torchao 0.17 and 0.18. Other torchao
versions are refused, and uninstall restores torchao."""

import sys

import torch
import torchao
from reference import DEVICE
from refuses import refuses

import mx_compiler.torch as mxt

if torchao.__version__.partition("+")[0] not in ("0.17.0", "0.18.0"):
    # Unknown versions are refused, so no further checks are possible.
    refuses(ImportError, ("0.18.0 or 0.17.0", torchao.__version__), lambda: mxt.install(
        DEVICE, torchao=True))
    sys.exit(0)

import torchao_cases as cases

before = cases.replaced()
emulated = cases.emulated(DEVICE)
refusal = cases.refused(DEVICE)

# --- With another version, torchao and PyTorch stay unchanged.
version, torchao.__version__ = torchao.__version__, "0.19.0"
refuses(ImportError, ("0.18.0", "0.19.0"), lambda: mxt.install(DEVICE, torchao=True))
torchao.__version__ = version
assert cases.replaced() == before
module, sys.modules["torchao"] = sys.modules["torchao"], None
refuses(ImportError, ("0.18.0", "none"), lambda: mxt.install(DEVICE, torchao=True))
sys.modules["torchao"] = module
refuses(Exception, (), lambda: cases.layouts(DEVICE))       # not installed

# --- torchao is unchanged without torchao=True, and on other devices.
mxt.install(DEVICE)
assert cases.replaced() == before and cases.refused(DEVICE) == refusal
mxt.install("cpu" if DEVICE == "cuda" else "cuda", torchao=True)
assert cases.replaced() != before and cases.refused(DEVICE) == refusal

mxt.install(DEVICE, torchao=True)
cases.run(DEVICE)
assert torch.equal(cases.emulated(DEVICE), emulated)

mxt.uninstall()
assert cases.replaced() == before and cases.refused(DEVICE) == refusal
