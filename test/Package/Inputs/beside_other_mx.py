"""Imports mx_compiler and another package called mx, in the order of the arguments, and uses both. The other package is
the stand-in in the folder other_mx."""

import importlib
import sys

for name in sys.argv[1:]:
    importlib.import_module(name)

import ml_dtypes
import mx
import mx.formats
import mx_compiler
import numpy as np

def use_theirs():
    assert mx.matmul(1, 2) == ("the other package's matmul", 1, 2)
    assert mx.quantize.quantize_bfloat(3, None) == ("the other package's bfloat16", 3)
    assert mx.formats.ELEM_FORMATS == ("int8", "fp8_e4m3")


def use_ours():
    """Multiplies integers that E4M3 represents exactly at scale 1."""
    mx_compiler.set_device("sim")
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-8, 9, (rows, 64)).astype(ml_dtypes.bfloat16) for rows in (16, 8))
    x[:, ::32] = w[:, ::32] = 256  # largest element of its block, so that the scale is 1
    y = mx_compiler.matmul(*(mx_compiler.quantize(array, "mxfp8") for array in (x, w)),
                           dtype="f32")
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    assert np.array_equal(y, exact), abs(y - exact).max()
    assert "mxfp8" in mx_compiler.FORMATS


for use in use_theirs, use_ours, use_theirs, use_ours:
    use()

# The packages do not share modules: none of ours was imported under the name mx.
modules = {name for name in sys.modules if name.partition(".")[0] == "mx"}
assert modules == {"mx", "mx.formats", "mx.matmul", "mx.quantize"}, modules
print("both work")
