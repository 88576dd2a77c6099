"""Compares matmuls with numpy for scales at and beyond the limits of exact bf16 values.

If the values of A are tiny, those of B are huge, and vice versa, so sums are about 1. Operands are RN_bf16(element
* scale) (docs/reference/Spec.md), including subnormals, infinities, and NaN scales. Case i is reproducible."""

import mx_reference as ref
import numpy as np
from harness import Harness, widen
from matmul_formats import FORMATS, OUTS, PROGRAM, compare, make_codes, reduction_multiple, tile_scales

NAN = 0xFF
# Scale bytes of A: bytes for which bf16 is subnormal, bytes for which it overflows, and the whole range. B mirrors
# them.
RANGES = [(0, 9), (244, 254), (0, 40), (214, 254), (90, 164)]


def make_operand(rng, rows, k, element, low, high, specials):
    codes, values = make_codes(rng, rows, k, element, specials)
    scales = rng.integers(low, high + 1, (rows, k // 32)).astype(np.uint8)
    if specials:
        scales[rng.random(scales.shape) < 0.02] = NAN
    factors = np.where(scales == NAN, np.nan, np.ldexp(1.0, scales.astype(np.int64) - 127))
    with np.errstate(invalid="ignore"):
        values = widen(ref.round_to(values * factors.repeat(32, axis=1), "bf16"))
    return [codes, tile_scales(scales, "f8E8M0FNU")], values


def run_case(index):
    rng = np.random.default_rng(4000 + index)
    a, b = list(FORMATS)[index % 5], list(FORMATS)[index // 5 % 5]
    m, n = (int(rng.choice([1, 64, 129, rng.integers(1, 200)])) for _ in range(2))
    k = int(rng.choice([1, 2, 3])) * reduction_multiple(a, b)
    low, high = RANGES[(index + index // 5) % len(RANGES)]
    specials = index % 3 == 1
    left, x = make_operand(rng, m, k, a, low, high, specials)
    right, w = make_operand(rng, n, k, b, 254 - high, 254 - low, specials)
    out = list(OUTS)[index % 2]
    text = PROGRAM.format(a=a, b=b, s="f8E8M0FNU", out=out, m=m, n=n, k=k, blocks=k // 32,
                          empty="%init = tensor.empty() : !out", block="", schedule="")
    what = f"{index}: {a} x {b}, scales {low} to {high}, {m} x {n} x {k} to {out}"
    y, = test.run(text, left + right, 1)
    # Each step of 16 products truncates them, and rounds the sum.
    wrong, ratio = compare(widen(y), x, w, 3 * -(-k // 16), OUTS[out])
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    test.compared += y.size
    if wrong:
        test.fail(what)


test = Harness("mx_run", "device", "folder", count=25, first=0)
for index in range(test.first, test.first + test.count):
    run_case(index)
test.finish()
