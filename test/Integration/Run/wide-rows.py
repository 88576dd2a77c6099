# REQUIRES: numpy
# RUN: %python %s mx-run mx-opt %t cpu sm_90a
"""Matmuls folded by mx-fold-operands with a limit. Elements of narrow rows have the bits of folded operands, and wide
elements are those of MX operands (docs/reference/Spec.md, Folded operands), with both classes in one tile. Every result
satisfies the bound of the limit, which operands folded without a limit violate."""

import dataclasses
import re

import mx_reference as ref
import numpy as np
import promoted_sums as sums
from harness import BF16, FLOATS, Function, Harness, tensor
from matmul_case import Matmul

test = Harness("mx_run", "mx_opt", "folder", "*chips")
E4M3, SCALE, LIMIT = "f8E4M3FN", "f8E8M0FNU", 8


def find_wide(x, size):
    """Returns the rows with scales that differ by more than 2^LIMIT in a block of `size` elements."""
    with np.errstate(all="ignore"):
        return (ref.spreads(x, E4M3, "ceil", size) > LIMIT).any(-1)


def draw(rng, rows, k, wide):
    """Draws rows of normal numbers, of which some are zeros. Wide rows contain a block 2^14 larger or smaller."""
    x = rng.standard_normal((rows, k))
    x[rows // 3] = 0
    for row in wide:
        block = 32 * int(rng.integers(k // 32))
        x[row, block:block + 32] *= 2.0**rng.choice([-14, -9, 14])
    return x.astype(BF16).astype(np.float32)


def dequantize(x):
    """Returns MX elements and scales, and their values."""
    codes, scales = ref.quantize(x, E4M3)
    with np.errstate(all="ignore"):
        return codes, scales, np.float32(ref.decode(codes, E4M3) * np.repeat(ref.decode_scale(scales), 32, -1))


@dataclasses.dataclass
class Case(Matmul):
    wide: tuple = ((), ())  # numbers of wide rows of A and B
    nan: bool = False
    size: int = 128  # of blocks of A and partial sums
    quantized: tuple = (True, False)  # by the program, or stored with blocks of 32: A and B
    folded: str = ""  # schedule of the matmul of folded operands

    def draw_operands(self, rows, all_n):
        drawn = [draw(self.rng, count, self.k, [row for row in wide if row < count])
                 for count, wide in zip((rows, all_n), self.wide)]
        if self.nan:
            drawn[0][2, 40], drawn[0][7, 3] = np.nan, np.nan
        self.set_operands(*drawn)

    def set_operands(self, *drawn):
        self.stored = [dequantize(x) for x in drawn]
        self.values = [x if own else stored[2] for own, stored, x in zip(self.quantized, self.stored, drawn)]
        self.is_wide = [find_wide(x, size) for x, size in zip(self.values, (self.size, self.k))]

    def multiply(self, group, matrix):
        """Returns the expected accumulators of folded operands, the exact ones of MX operands, the error of the sums of
        MX operands, and the wide elements."""
        first = (group * self.count + matrix) * self.n
        rows = self.parts[group], np.s_[first:first + self.n]
        x, w = (values[part] for values, part in zip(self.values, rows))
        wide_a, wide_b = (wide[part] for wide, part in zip(self.is_wide, rows))
        folded = sums.multiply(sums.fold(x, E4M3, self.size), sums.fold(w, E4M3, None), self.size)
        with np.errstate(all="ignore"):
            a, b = (dequantize(part)[2].astype(np.float64) for part in (x, w))
            steps = 4 * -(-self.k // 64)
            tolerance = steps * 5 * 2.0**-23 * (np.abs(a) @ np.abs(b).T)
            return folded, a @ b.T, tolerance, wide_a[:, None] | wide_b

    def add_operand(self, f, i, matrices, ragged=False):
        """Returns the names and types of elements and scales."""
        codes, scales, x = (self.shape(part, matrices) for part in (*self.stored[i][:2], self.values[i]))
        layout = f", #mx.scale_layout<sf_128x4, ragged = rows, groups = {len(self.sizes)}>" * ragged
        types = [tensor(codes.shape, E4M3), tensor(scales.shape, SCALE + layout)]
        if not self.quantized[i]:
            return [f.argument(*pair) for pair in zip(types, (codes, scales))], types
        words = "ragged = rows" * ragged, f"offsets(%ends : tensor<{len(self.sizes)}xi32>)" * ragged
        of_x = tensor(x.shape, "bf16")
        name = f.argument(of_x, x.astype(BF16))
        return f.call(f"mx.quantize {words[0]} ins({name} : {of_x}) {words[1]} OUTS", types, returned=False), types

    def program(self):
        f = Function()
        a, b = self.add_operand(f, 0, self.in_a, self.kind == "rows"), self.add_operand(f, 1, self.in_b)
        return self.build(f, *(x + y for x, y in zip(a, b)))

    def check(self):
        self.make()
        f = self.program()
        module = test.rewrite(f.text(), f"--mx-fold-operands=limit={LIMIT} a={self.size} promote={self.size}", "--cse",
                              "--mx-fuse-prologues")
        test.require("folded", re.findall(r"mx.row_classes|where +(\w+)", module) == ["", "narrow", "wide"])
        if self.folded:
            schedule = f"{{mxgpu.schedule = #mxgpu.schedule<{self.folded}>}}"
            module = re.sub(r"promote = 128( num_b = 2)?( accumulate)?", rf"\g<0> {schedule}", module)
        for chip in test.chips:
            found, = test.run(module, f.arrays, 1, chip=chip, sms=2)
            self.compare(chip, found.reshape(self.old.shape))

    def compare(self, chip, found):
        found = found.view(FLOATS[self.out]).astype(np.float32)
        inside = np.full(len(self.old), True)
        if self.result == "scatter":
            at = np.clip(self.to, 0, len(self.old) - 1)
            found, added, inside = found[at], self.old[at], at == self.to
        for group, part in enumerate(self.parts):
            if not self.sizes[group]:
                continue
            folded, exact, tolerance, wide = zip(*(self.multiply(group, matrix) for matrix in range(self.count)))
            wide, inside_part = np.any(wide, 0), inside[part, None]
            with np.errstate(all="ignore"):
                narrow, expected = (self.finish(accumulators, part) for accumulators in (folded, exact))
                if self.result == "scatter":
                    narrow, expected = narrow + added[part], expected + added[part]
                error = sum(t * np.abs(exact[1 - i] if self.pairs else 1) for i, t in enumerate(tolerance))
                error = error * (4 if self.epilogue else 2)
                error += np.abs(expected) * 2.0**(-8 if self.out == "bf16" else -22) + 2.0**-100
                narrow = narrow.astype(FLOATS[self.out]).astype(np.float32)
            is_narrow, wide = ~wide & inside_part, wide & inside_part
            name, own = f"{chip}, group {group}:", found[part]
            test.expect(f"{name} narrow elements", own[is_narrow], narrow[is_narrow], nan=True)
            is_number = wide & np.isfinite(expected)
            test.expect_numbers(f"{name} wide elements", own[is_number], expected[is_number], error[is_number])
            test.require(f"{name} NaN", (np.isfinite(own) == np.isfinite(expected))[wide].all())


PAIR = "strategy = #mxgpu.wgmma_fp8<ctas = 2>"
CASES = [
    Case(40, 72, 256),
    Case(200, 300, 256, wide=((5, 130), (0, 299)), epilogue=True),
    Case(200, 70, 384, wide=((3,), ()), quantized=(False, False)),
    Case(200, 300, 512, wide=((5,), (299,)), quantized=(True, True)),
    Case(130, 64, 256, wide=(range(130), ()), out="bf16"),
    Case(130, 64, 256, wide=((), range(64)), accumulate=True),
    Case(96, 136, 256, wide=((7, 9, 95), (64,)), nan=True),
    Case(260, 80, 256, wide=((150,), (2,)), accumulate=True, epilogue=True),
    Case(300, 304, 256, wide=((100,), (3, 299)), folded=f"tile = [256, 256, 128], epilogue = tma_store, {PAIR}"),
    Case(400, 136, 256, wide=((399,), (130,)), out="bf16", folded="tile = [192, 128, 128], epilogue = tma_store"),
    Case(140, 136, 1024, wide=((1, 129), (2,)), size=512, epilogue=True),
    Case(70, 96, 256, "batched", wide=((69, 100), (95, 200))),
    Case((100, 0, 45, 130), 96, 256, "rows", wide=((3, 99, 101, 200), (0, 100, 383))),
    Case((100, 0, 45, 200), 200, 256, "rows", wide=((3, 99, 101, 250), (0,)), folded=f"tile = [256, 192, 128], {PAIR}"),
    Case((50, 0, 140), 128, 256, "rows", wide=((49, 60), (3, 200)), pairs=True),
    Case((50, 0, 140), 40, 256, "rows", wide=((49, 60), (3,)), result="scatter"),
    Case((1, 130), 160, 256, "masked", wide=((0, 131), (5, 319)), epilogue=True),
]


def adversarial():
    """A block 2^14 larger meets zeros, so that folding loses the rest of the row."""
    rng = np.random.default_rng(3)
    case = Case(64, 64, 256)
    case.make()
    x, w = rng.standard_normal((64, 256)), rng.standard_normal((64, 256))
    x[::2, :32] *= 2.0**14
    w[:, :32] = 0
    case.set_operands(*(part.astype(BF16).astype(np.float32) for part in (x, w)))
    f = case.program()
    a, b = (stored[2].astype(np.float64) for stored in case.stored)
    exact, size = a @ b.T, np.abs(a) @ np.abs(b).T
    # Each element loses at most 2^(LIMIT - 17.8) of its block's maximum; sums lose 34 / 32 of 2^-13 for each term.
    maxima = [np.repeat(np.abs(v).reshape(64, -1, 32).max(-1), 32, -1) for v in (a, b)]
    loss = 2.0**(LIMIT - 17.8) * (maxima[0] @ np.abs(b).T + np.abs(a) @ maxima[1].T) * 1.01
    of_sums = case.size // 32 * 34 * 2.0**-13 * size
    for chip in test.chips:
        y, z = (test.run(test.rewrite(f.text(), f"--mx-fold-operands={options}"), f.arrays, 1, chip=chip)[0]
                for options in (f"limit={LIMIT}", ""))
        test.expect_numbers(f"{chip}: bound", y, exact, loss + of_sums)
        worst = (np.abs(z - exact) / np.linalg.norm(exact) * np.sqrt(exact.size)).max()
        test.require(f"{chip}: no bound without a limit", worst > 0.01, worst)
        test.require(f"{chip}: smaller error", np.abs(y - exact)[::2].max() * 50 < np.abs(z - exact)[::2].max())


for case in test.select(CASES):
    case.check()
adversarial()
test.finish(least=100000)
