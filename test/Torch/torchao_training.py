# REQUIRES: torch, torchao
# RUN: %python_torchao %s
"""torchao's MXFP8 training on tensors of the host, as mx.torch.install(torchao=True)
serves it; another version is refused, and uninstall leaves torchao as it was."""

import sys

import torch
import torchao
from blocks import raises

import mx.torch as mxt

if torchao.__version__.partition("+")[0] != "0.18.0":
    # Versions that are not known are refused, which is all there is to say.
    raises(ImportError, ("0.18.0", torchao.__version__), lambda: mxt.install(
        "cpu", torchao=True))
    sys.exit(0)

import torchao_cases as cases

before = cases.replaced()
emulated = cases.emulated("cpu")
refusal = cases.refused("cpu")

# --- Another version changes nothing, of PyTorch neither.
version, torchao.__version__ = torchao.__version__, "0.19.0"
raises(ImportError, ("0.18.0", "0.19.0"), lambda: mxt.install("cpu", torchao=True))
torchao.__version__ = version
assert cases.replaced() == before
module, sys.modules["torchao"] = sys.modules["torchao"], None
raises(ImportError, ("0.18.0", "none"), lambda: mxt.install("cpu", torchao=True))
sys.modules["torchao"] = module
raises(NotImplementedError, ("_scaled_mm_v2",), lambda: cases.layouts("cpu"))

# --- Without torchao=True it is left alone, and so it is on devices that are not ours.
mxt.install("cpu")
assert cases.replaced() == before and cases.refused("cpu") == refusal
mxt.install("cuda", torchao=True)
assert cases.replaced() != before and cases.refused("cpu") == refusal

mxt.install("cpu", torchao=True)
cases.run("cpu")
assert torch.equal(cases.emulated("cpu"), emulated)

mxt.uninstall()
assert cases.replaced() == before and cases.refused("cpu") == refusal
