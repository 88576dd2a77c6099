"""Writes arrays for mx-run tests. Each argument NAME:DTYPE:SHAPE describes an array,
which is filled with 0, 1, 2, ...

usage: make_arrays.py DIRECTORY a:f4:2x3 s:f4: ...
"""

import os
import sys

import numpy as np

directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
for spec in sys.argv[2:]:
    name, dtype, shape = spec.split(":")
    shape = tuple(int(extent) for extent in shape.split("x") if extent)
    values = np.arange(int(np.prod(shape)) if shape else 1).reshape(shape)
    np.save(os.path.join(directory, name + ".npy"), values.astype(dtype))
