"""Multiplies batches of 0 matrices, and matrices without rows, columns or reduction elements.

RUN: %python %s mx-opt mx-run %t
REQUIRES: compiler, numpy

Each program contains all kinds of matmuls, with static or with dynamic sizes: block-scaled operands, quantized weights,
an accumulation, and linalg.batch_matmul after mx-quantize-matmuls. NumPy computes the expected results: no elements,
zeros for an empty reduction, or the initial accumulator.
"""

import numpy as np
from harness import Harness

test = Harness("mx_opt", "mx_run", "folder")
BYTES = {"f32": np.float32, "bf16": np.uint16}

# Sizes of matmuls: batch, m, n, k.
SIZES = [((0,), 4, 8, 32), ((2,), 0, 8, 32), ((2,), 4, 0, 32), ((2,), 4, 8, 0)]


class Program:
    """Function with the results of all its matmuls."""

    def __init__(self, dynamic):
        self.dynamic = dynamic
        self.types, self.arrays, self.body, self.results, self.expected = [], [], [], [], []

    def type(self, shape, element):
        dims = ["?" if self.dynamic else str(extent) for extent in shape]
        return f"tensor<{'x'.join([*dims, element])}>"

    def add(self, shape, element, value=0):
        self.types.append(self.type(shape, element))
        self.arrays.append(np.full(shape, value, BYTES.get(element, np.uint8)))
        return f"%x{len(self.types) - 1}", self.types[-1]

    def matmul(self, op, operands, out, suffix=""):
        names, types = zip(*operands)
        result = f"%y{len(self.results)}"
        self.body.append(f"  {result} = {op} ins({', '.join(names)} : {', '.join(types)}) outs({out[0]} : {out[1]}) {suffix} -> {out[1]}")
        self.results.append((result, out[1]))

    def add_matmuls(self, batch, m, n, k):
        # The codes 0x38 of f8E4M3FN and 0x7F of f8E8M0FNU are 1.
        a = [self.add((*batch, m, k), "f8E4M3FN", 0x38), self.add((*batch, m, k // 32), "f8E8M0FNU", 0x7F)]
        b = [self.add((*batch, n, k), "f8E4M3FN", 0x38), self.add((*batch, n, k // 32), "f8E8M0FNU", 0x7F)]
        one = self.add((*batch, m, k), "bf16", 0x3F80)
        out = self.add((*batch, m, n), "f32", 7)
        self.matmul("mx.matmul", a + b, out)
        self.matmul("mx.matmul", [one, *b], out)
        self.matmul("mx.matmul", a + b, out, "accumulate")
        matmul = np.full((*batch, m, n), k, np.float64)
        self.expected += [matmul, matmul, matmul + 7]
        self.matmul("linalg.batch_matmul", [one, self.add((*batch, k, n), "bf16", 0x3F80)], out)
        self.expected.append(matmul + 7)

    def text(self):
        arguments = ", ".join(f"%x{i}: {kind}" for i, kind in enumerate(self.types))
        names, types = (", ".join(words) for words in zip(*self.results))
        lines = [f"func.func @main({arguments}) -> ({types}) {{", *self.body, f"  return {names} : {types}", "}"]
        return "\n".join(lines) + "\n"


for dynamic in (False, True):
    # With dynamic types, all sizes share the kernels.
    program = Program(dynamic)
    for sizes in SIZES[:1] if dynamic else SIZES:
        program.add_matmuls(*sizes)
    path, quantized = test.write("program.mlir", program.text()), test.path("quantized.mlir")
    test.execute(test.mx_opt, path, "--mx-quantize-matmuls=dynamic-reductions", "--cse", "-o", quantized)
    for where in dict(device="cpu"), dict(chip="sm_90a"), dict(chip="sm_100a"), dict(chip="sm_120a"):
        found = test.run(quantized, program.arrays, len(program.expected), "--max-schedules=1", **where)
        for i, expected in enumerate(program.expected):
            test.expect_numbers(f"{where}, dynamic {dynamic}, result {i}", found[i], expected)
test.finish(least=500)
