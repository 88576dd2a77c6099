"""Every byte of mx.pack_operand equals numpy's, on the CPU and on the simulator.

RUN: %python %s mx-run %t sm_90a sm_100a sm_120a
REQUIRES: compiler, numpy

Covers every format; batches and matrices in which rows, columns, both or neither fill tiles; static and dynamic shapes;
and destinations with garbage.
"""

import mx_reference as ref
import numpy as np
from harness import Function, Harness
from packed_weights import pack_tiles

test = Harness("mx_run", "folder", "*chips", seed=64)
FORMATS = ["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"]
SHAPES = [(0, 64), (64, 0), (64, 64), (128, 192), (1, 8), (65, 72), (63, 64), (200, 264),
          (3, 70, 136), (2, 2, 64, 64), (2, 3, 5, 40), (4, 128, 8)]
# Additional shapes on the CPU path. GPU threads read 4 bytes at a time, too many for these shapes.
ODD = [(65, 66), (1, 2), (2, 7, 130)]
ODD_OF_BYTES = [(7, 3), (64, 65)]


def check(shapes, element, is_dynamic, chip):
    f, expected = Function(), []
    for i, shape in enumerate(shapes):
        sizes = ["?" if is_dynamic else str(size) for size in shape]
        w = f"tensor<{'x'.join(sizes)}x{element}>"
        p = w[:-1] + ", #mxgpu.fragment_64x64>"
        codes = test.rng.integers(0, 2 ** int(element[1]), shape).astype(np.uint8)
        expected.append(ref.pack(pack_tiles(codes), element))
        f.argument(w, ref.pack(codes, element), f"w{i}")
        f.argument(p, np.full_like(expected[-1], 0xA5), f"o{i}")
        f.lines.append(f"%p{i} = mx.pack_operand ins(%w{i} : {w}) outs(%o{i} : {p}) -> {p}")
        f.results.append((f"%p{i}", p))
    for shape, found, array in zip(shapes, test.run(f, chip=chip), expected):
        test.expect(f"{chip} {element} {shape}", found, array)


for number, element in enumerate(FORMATS):
    odd = ODD + (ODD_OF_BYTES if element != "f4E2M1FN" else [])
    # Each device compiles some of the formats with static shapes.
    for i, chip in enumerate(("cpu", *test.chips)):
        check(SHAPES + (odd if chip == "cpu" else []), element, (number + i) % 2 == 0, chip)
test.finish(least=5000000)
