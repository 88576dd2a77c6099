"""Prints the dtype, shape and elements of .npy files."""

import sys

import numpy as np

for path in sys.argv[1:]:
    array = np.load(path)
    print(array.dtype, array.shape, array.reshape(-1).tolist())
