"""Quantizes every bf16 number on a device and compares every bit with numpy.

usage: quantize_all.py MX_RUN FILE.mlir DEVICE DIRECTORY
"""

import mx_reference as ref
import numpy as np
from harness import Harness, widen

test = Harness("mx_run", "program", "device", "folder", seed=5)
rng = test.rng
# First, each number is the largest of a block. Second, the shuffled numbers are in any position.
codes = np.arange(65536, dtype=np.uint32)
magnitude = codes & 0x7FFF
below = (rng.random((65536, 32)) * (magnitude[:, None] + 1)).astype(np.uint32)
largest = below | (rng.integers(0, 2, below.shape, dtype=np.uint32) << 15)
largest[np.arange(65536), rng.integers(0, 32, 65536)] = codes
inputs = {
    "largest": largest.astype(np.uint16).reshape(4096, 512),
    "shuffled": rng.permutation(codes).astype(np.uint16).reshape(256, 256),
    "ragged rows": rng.integers(0, 65536, (131, 160)).astype(np.uint16),
}
for name, x in inputs.items():
    elements, scales = test.run(test.program, [x], 2)
    expected, byte = ref.quantize(widen(x).astype(np.float32), "f8E4M3FN")
    test.expect(f"{name}, elements", elements, expected)
    test.expect(f"{name}, scales", scales, ref.tile(byte))
test.finish(least=2000000)
