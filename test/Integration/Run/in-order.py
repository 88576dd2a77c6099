# REQUIRES: numpy
# RUN: %python %s mx-run %t sm_90a --count=4
# RUN: %python %s mx-run %t sm_100a sm_120a --count=1
"""With `in_order` a row of the result keeps its bits in matmuls of any number of rows, with static or dynamic rows,
any place, packed weights and expert groups: the tensor core truncates sums, so another order shows.

    in-order.py MX_RUN FOLDER CHIP... [--count=N] [--first=I]   # cases I to I + N - 1
"""

import dataclasses

import mx_reference as ref
import numpy as np
from harness import BF16, Function, Harness, tensor

test = Harness("mx_run", "folder", "*chips", count=8, first=0)
E4, E2, E8M0 = "f8E4M3FN", "f4E2M1FN", "f8E8M0FNU"
FORMS = [("bf16", E2, E8M0, 32, True), (E4, E4, E8M0, 32, False), ("bf16", E4, E8M0, 32, False),
         ("bf16", "bf16", None, 0, False), ("bf16", E2, "f8E4M3FN", 16, True), ("bf16", E4, E8M0, 32, True),
         (E4, E2, E8M0, 32, False), (E4, "bf16", E8M0, 32, False)]
SUMS = {"MX_SIM_TENSOR_SUMS": "truncated"}


@dataclasses.dataclass
class Case:
    form: tuple
    n: int
    k: int

    def __post_init__(self):
        a, b, scale, block, _ = self.form
        self.rows = 300
        self.a, self.b = self.draw(a, self.rows, scale, block), self.draw(b, self.n, scale, block)

    def draw(self, element, rows, scale, block):
        """Returns the arrays of elements and of scales."""
        if element == "bf16":
            spread = np.exp2(test.rng.integers(-4, 5, (rows, self.k)))
            return [(test.rng.standard_normal((rows, self.k)) * spread).astype(BF16)]
        codes = test.rng.integers(0, 1 << (4 if element == E2 else 8), (rows, self.k)).astype(np.uint8)
        codes[~np.isfinite(ref.decode(codes, element))] = 1
        low, high = (120, 134) if scale == E8M0 else (40, 72)
        return [codes, test.rng.integers(low, high, (rows, self.k // block)).astype(np.uint8)]

    def argument(self, f, element, arrays, rows, dims=None):
        """Adds the arguments of an operand. Returns values and types."""
        _, _, scale, block, _ = self.form
        dims = dims or [len(arrays[0])]
        types = [tensor([*dims, self.k], element)]
        given = [ref.pack(arrays[0], element) if element == E2 else arrays[0].view(np.uint16)
                 if element == "bf16" else arrays[0]]
        if len(arrays) > 1:
            types.append(f"tensor<{'x'.join(map(str, dims))}x{self.k // block}x{scale}, #mx.scale_layout<linear>>")
            given.append(arrays[1])
        return [f.argument(type_, array) for type_, array in zip(types, given)], types

    def multiply(self, part, is_dynamic, pack=False, order="in_order", schedule=""):
        """Returns the result of some rows."""
        a, b, scale, block, _ = self.form
        rows = [array[part] for array in self.a]
        f = Function()
        values, types = self.argument(f, a, rows, rows, ["?"] if is_dynamic else None)
        values_b, types_b = self.argument(f, b, self.b, self.n)
        if pack:
            f.lines.append(f"%packed_init = tensor.empty() : tensor<{self.n}x{self.k}x{b}, #mxgpu.fragment_64x64>")
            f.lines.append(f"%packed = mx.pack_operand ins({values_b[0]} : {types_b[0]}) outs(%packed_init : "
                           f"tensor<{self.n}x{self.k}x{b}, #mxgpu.fragment_64x64>) -> "
                           f"tensor<{self.n}x{self.k}x{b}, #mxgpu.fragment_64x64>")
            values_b[0], types_b[0] = "%packed", f"tensor<{self.n}x{self.k}x{b}, #mxgpu.fragment_64x64>"
        count = ()
        if is_dynamic:
            f.lines += ["%c0 = arith.constant 0 : index", f"%count = tensor.dim {values[0]}, %c0 : {types[0]}"]
            count = ["%count"]
        form = f"block_size = {block} " * bool(block)
        f.call(f"mx.matmul ins({', '.join([*values, *values_b])} : {', '.join([*types, *types_b])}) OUTS {form}{order} "
               f"{schedule}", [tensor(["?" if is_dynamic else len(rows[0]), self.n], "f32")], sizes=count)
        return test.run(f, chip=test.chip, env=SUMS)[0]


def check(case):
    whole = case.multiply(np.s_[:], True)
    packs = case.form[-1] and not case.n % 64 and not case.k % 64
    for part, is_dynamic, pack in ((np.s_[:1], True, False), (np.s_[299:], False, packs), (np.s_[17:26], False, False),
                                   (np.s_[100:180], False, packs)):
        test.expect(f"rows {part.start} to {part.stop}, {is_dynamic}, {pack}",
                    case.multiply(part, is_dynamic, pack), whole[part])
    # The comparison is sensitive: two sums differ from one.
    if case.form[:2] == ("bf16", "bf16"):
        split = case.multiply(np.s_[:], False, order="", schedule="{mxgpu.schedule = #mxgpu.schedule<tile = "
                              "[128, 128, 64], split_k = 2>}")
        test.require("sensitive", (split.view(np.uint32) != whole.view(np.uint32)).any())


for test.chip in test.chips:
    for i in range(test.first, test.first + test.count):
        test.rng = np.random.default_rng(i)
        n, k = (int(test.rng.integers(1, 6)) * 64, int(test.rng.integers(2, 9)) * 128)
        for case in test.select([Case(FORMS[i % len(FORMS)], n, k)]):
            check(case)
test.finish(least=1000)
