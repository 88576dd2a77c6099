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
from harness import BF16, Harness, tensor

test = Harness("mx_run", "mx_opt", "folder", "*chips")
E4M3, LIMIT = "f8E4M3FN", 8


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
class Case:
    """`m` is a number of rows, or of the rows of each expert group; `wide` are numbers of wide rows of A and B."""
    m: object
    n: int
    k: int
    wide: tuple
    kind: str = "dense"  # or batched, rows, masked
    out: str = "f32"
    scatter: bool = False
    accumulate: bool = False
    pairs: bool = False
    epilogue: bool = False
    nan: bool = False
    size: int = 128  # of blocks of A and partial sums
    stored: bool = False  # A is stored with blocks of 32, as B
    both: bool = False  # B is quantized too
    schedule: str = ""  # of the matmul of folded operands

    def make(self):
        rng = np.random.default_rng([self.n, self.k, np.sum(self.m)])
        self.groups = {"dense": 1, "batched": 3}.get(self.kind) or len(self.m)
        self.sizes = [self.m] * self.groups if isinstance(self.m, int) else list(self.m)
        self.height = max(self.sizes)
        self.ends, self.count = np.cumsum(self.sizes), 1 + self.pairs
        starts = self.ends - self.sizes if self.kind == "rows" else np.arange(self.groups) * self.height
        self.parts = [np.s_[start:start + size] for start, size in zip(starts, self.sizes)]
        # The last rows belong to no group.
        rows = self.ends[-1] + 5 if self.kind == "rows" else self.groups * self.height
        self.x = draw(rng, rows, self.k, [row for row in self.wide[0] if row < rows])
        if self.nan:
            self.x[2, 40], self.x[7, 3] = np.nan, np.nan
        if self.stored:
            self.x_codes, self.x_scales, self.x = dequantize(self.x)
        all_n = self.n * self.count * self.groups
        w = draw(rng, all_n, self.k, [row for row in self.wide[1] if row < all_n])
        self.codes, self.scales, self.w = dequantize(w)
        if self.both:
            self.w = w
        self.to = rng.permutation(rows)
        self.old = rng.standard_normal((rows, self.n)).astype(np.float32)
        self.wide_a, self.wide_b = find_wide(self.x, self.size), find_wide(self.w, self.k)

    def multiply(self, group, matrix):
        """Returns the expected accumulators of folded operands, the exact ones of MX operands, the error of the sums of
        MX operands, and the wide elements."""
        first = (group * self.count + matrix) * self.n
        part, part_b = self.parts[group], np.s_[first:first + self.n]
        x, w = self.x[part], self.w[part_b]
        folded = sums.multiply(sums.fold(x, E4M3, self.size), sums.fold(w, E4M3, None), self.size)
        with np.errstate(all="ignore"):
            a, b = dequantize(x)[2].astype(np.float64), (dequantize(w)[2] if self.both else w).astype(np.float64)
            steps = 4 * -(-self.k // 64)
            tolerance = steps * 5 * 2.0**-23 * (np.abs(a) @ np.abs(b).T)
            return folded, a @ b.T, tolerance, self.wide_a[part, None] | self.wide_b[None, part_b]

    def finish(self, group, accumulators):
        values = accumulators[0] * accumulators[1] if self.pairs else accumulators[0]
        if self.accumulate:
            values = values + self.old[self.parts[group]]
        return values * np.float32(0.5) if self.epilogue else values

    def program(self):
        def matrices(array, count):
            return array.reshape(count, -1, array.shape[-1]) if count else array

        batch = self.groups if self.kind in ("batched", "masked") else 0
        of_b = self.groups if self.kind != "dense" else 0
        x, old = matrices(self.x, batch), matrices(self.old, batch)
        layout = f", #mx.scale_layout<sf_128x4, ragged = rows, groups = {self.groups}>" if self.kind == "rows" else ""
        scales = (*x.shape[:-1], self.k // 32)
        offsets = np.array(self.ends if self.kind == "rows" else self.sizes, np.int32)
        named = [("w", matrices(self.codes, of_b), E4M3), ("s", matrices(self.scales, of_b), "f8E8M0FNU"),
                 ("ends", offsets, "i32"), ("to", self.to.astype(np.int32), "i32"), ("old", old, self.out)]
        if self.stored:
            named += [("xe", matrices(self.x_codes, batch), E4M3), ("xs", matrices(self.x_scales, batch), "f8E8M0FNU")]
        else:
            named.append(("x", x.astype(BF16), "bf16"))
        if self.both:
            named.append(("v", self.w.astype(BF16), "bf16"))
        types = {name: tensor(array.shape, element) for name, array, element in named}
        quantized = [tensor(x.shape, E4M3), tensor(scales, "f8E8M0FNU" + layout)]
        ends = f"offsets(%ends : {types['ends']})"
        ragged = ("ragged = rows", ends) if self.kind == "rows" else ("", "")
        quantizer = f"""
  %e = tensor.empty() : {quantized[0]}
  %f = tensor.empty() : {quantized[1]}
  %q:2 = mx.quantize {ragged[0]} ins(%x : {types.get('x')}) {ragged[1]} outs(%e, %f : {', '.join(quantized)})
    -> {', '.join(quantized)}"""
        a, b = "%q#0, %q#1", "%w, %s"
        if self.both:
            of_w, b = f"{types['w']}, {types['s']}", "%r#0, %r#1"
            quantizer += f"""
  %g = tensor.empty() : {types['w']}
  %h = tensor.empty() : {types['s']}
  %r:2 = mx.quantize ins(%v : {types['v']}) outs(%g, %h : {of_w}) -> {of_w}"""
        if self.stored:
            quantizer, a, quantized = "", "%xe, %xs", [types["xe"], types["xs"]]
        grouped = self.kind in ("rows", "masked")
        words = ["mx.grouped_matmul ragged = rows" if grouped else "mx.matmul", "masked" * (self.kind == "masked"),
                 f"ins({a}, {b} : {', '.join([*quantized, types['w'], types['s']])})", ends * grouped,
                 f"scatter(%to : {types['to']})" * self.scatter, f"outs(%old : {types['old']})",
                 "num_b = 2" * self.pairs, "accumulate" * self.accumulate, f"-> {types['old']}"]
        if self.pairs or self.epilogue:
            names = ["%u", "%v"][:self.count]
            lines = [f"epilogue {{\n^bb0({', '.join(f'{name}: f32' for name in names)}, %i: index, %j: index):"]
            lines += ["%p = arith.mulf %u, %v : f32"] * self.pairs
            last = "%p" if self.pairs else "%u"
            if self.epilogue:
                lines += ["%half = arith.constant 0.5 : f32", f"%r = arith.mulf {last}, %half : f32"]
                last = "%r"
            if self.out != "f32":
                lines, last = [*lines, f"%t = arith.truncf {last} : f32 to {self.out}"], "%t"
            words.append("\n".join([*lines, f"mx.yield {last} : {self.out}\n}}"]))
        signature = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
        text = f"func.func @main({signature}) -> {types['old']} {{{quantizer}\n  %y = {' '.join(filter(None, words))}\n" \
               f"  return %y : {types['old']}\n}}\n"
        arrays = [array.astype(BF16) if element == "bf16" else array for _, array, element in named]
        return text, arrays

    def check(self):
        self.make()
        text, arrays = self.program()
        module = test.rewrite(text, f"--mx-fold-operands=limit={LIMIT} a={self.size} promote={self.size}", "--cse", "--mx-fuse-prologues")
        test.require("folded", re.findall(r"mx.row_classes|where +(\w+)", module) == ["", "narrow", "wide"])
        if self.schedule:
            schedule = f"{{mxgpu.schedule = #mxgpu.schedule<{self.schedule}>}}"
            module = re.sub(r"promote = 128( num_b = 2)?( accumulate)?", rf"\g<0> {schedule}", module)
        for chip in test.chips:
            found, = test.run(module, arrays, 1, chip=chip, sms=2)
            self.compare(chip, found.reshape(self.old.shape))

    def compare(self, chip, found):
        found = found.view(BF16).astype(np.float32) if self.out == "bf16" else found
        added = self.old[self.to] if self.scatter else 0
        found = found[self.to] if self.scatter else found
        for group, part in enumerate(self.parts):
            if not self.sizes[group]:
                continue
            folded, exact, tolerance, wide = zip(*(self.multiply(group, matrix) for matrix in range(self.count)))
            wide = np.any(wide, 0)
            with np.errstate(all="ignore"):
                narrow, expected = self.finish(group, folded), self.finish(group, exact)
                if self.scatter:
                    narrow, expected = narrow + added[part], expected + added[part]
                error = sum(t * np.abs(exact[1 - i] if self.pairs else 1) for i, t in enumerate(tolerance))
                error = 2 * error + np.abs(expected) * 2.0**(-8 if self.out == "bf16" else -22) + 2.0**-100
                if self.out == "bf16":
                    narrow = narrow.astype(BF16).astype(np.float32)
            test.expect(f"{chip}: narrow elements of group {group}", found[part][~wide], narrow[~wide].astype(np.float32),
                        nan=True)
            is_number = wide & np.isfinite(expected)
            test.expect_numbers(f"{chip}: wide elements of group {group}", found[part][is_number], expected[is_number],
                                error[is_number])
            test.require(f"{chip}: NaN", (np.isfinite(found[part]) == np.isfinite(expected))[wide].all())


PAIR = "strategy = #mxgpu.wgmma_fp8<ctas = 2>"
CASES = [
    Case(40, 72, 256, ((), ())),
    Case(200, 300, 256, ((5, 130), (0, 299)), epilogue=True),
    Case(200, 70, 384, ((3,), ()), stored=True),
    Case(200, 300, 512, ((5,), (299,)), both=True),
    Case(130, 64, 256, (range(130), ()), out="bf16"),
    Case(130, 64, 256, ((), range(64)), accumulate=True),
    Case(96, 136, 256, ((7, 9, 95), (64,)), nan=True),
    Case(260, 80, 256, ((150,), (2,)), accumulate=True, epilogue=True),
    Case(300, 304, 256, ((100,), (3, 299)), schedule=f"tile = [256, 256, 128], epilogue = tma_store, {PAIR}"),
    Case(400, 136, 256, ((399,), (130,)), out="bf16", schedule="tile = [192, 128, 128], epilogue = tma_store"),
    Case(140, 136, 1024, ((1, 129), (2,)), size=512, epilogue=True),
    Case(70, 96, 256, ((69, 100), (95, 200)), "batched"),
    Case((100, 0, 45, 130), 96, 256, ((3, 99, 101, 200), (0, 100, 383)), "rows"),
    Case((100, 0, 45, 200), 200, 256, ((3, 99, 101, 250), (0,)), "rows", schedule=f"tile = [256, 192, 128], {PAIR}"),
    Case((50, 0, 140), 128, 256, ((49, 60), (3, 200)), "rows", pairs=True),
    Case((50, 0, 140), 40, 256, ((49, 60), (3,)), "rows", scatter=True),
    Case((1, 130), 160, 256, ((0, 131), (5, 319)), "masked", epilogue=True),
]


def adversarial():
    """A block 2^14 larger meets zeros, so that folding loses the rest of the row."""
    rng = np.random.default_rng(3)
    case = Case(64, 64, 256, ((), ()))
    case.make()
    x, w = rng.standard_normal((64, 256)), rng.standard_normal((64, 256))
    x[::2, :32] *= 2.0**14
    w[:, :32] = 0
    case.x = x.astype(BF16).astype(np.float32)
    case.codes, case.scales, case.w = dequantize(w.astype(BF16).astype(np.float32))
    text, arrays = case.program()
    a, b = dequantize(case.x)[2].astype(np.float64), case.w.astype(np.float64)
    exact, size = a @ b.T, np.abs(a) @ np.abs(b).T
    # Each element loses at most 2^(LIMIT - 17.8) of its block's maximum; sums lose 34 / 32 of 2^-13 for each term.
    maxima = [np.repeat(np.abs(v).reshape(64, -1, 32).max(-1), 32, -1) for v in (a, b)]
    loss = 2.0**(LIMIT - 17.8) * (maxima[0] @ np.abs(b).T + np.abs(a) @ maxima[1].T) * 1.01
    of_sums = case.size // 32 * 34 * 2.0**-13 * size
    for chip in test.chips:
        y, z = (test.run(test.rewrite(text, f"--mx-fold-operands={options}"), arrays, 1, chip=chip)[0]
                for options in (f"limit={LIMIT}", ""))
        test.expect_numbers(f"{chip}: bound", y, exact, loss + of_sums)
        worst = (np.abs(z - exact) / np.linalg.norm(exact) * np.sqrt(exact.size)).max()
        test.require(f"{chip}: no bound without a limit", worst > 0.01, worst)
        test.require(f"{chip}: smaller error", np.abs(y - exact)[::2].max() * 50 < np.abs(z - exact)[::2].max())


for case in test.select(CASES):
    case.check()
adversarial()
test.finish(least=100000)
