"""Checks "Matmuls of dequantized operands" in docs/reference/Spec.md: results are exact if and only if the
scale byte is in the documented domain, and the error bound is less than twice the largest error. On sm_100a, only
matmuls of bf16 activations by weights dequantize operands.

RUN: %python %s mx-compile %t
RUN: %python %s mx-compile %t --chip=sm_100a
REQUIRES: compiler, numpy

Results are compared with numpy in float64. --device selects a device other than the simulator, because the simulator
implements only one order of sums. --programs reuses programs compiled by another run.
"""

import mx_compiler as mx
import mx_reference as ref
import numpy as np
from harness import Harness, to_array, widen

E8M0, E4M3 = "f8E8M0FNU", "f8E4M3FN"
# Smallest and largest scale byte for which the dequantization of every element is exact.
DOMAIN = {"f8E4M3FN": (3, 246), "f8E5M2": (10, 239), "f6E2M3FN": (0, 252),
          "f6E3M2FN": (0, 250), "f4E2M1FN": (0, 252)}
NAN_SCALE = 255
# Schedules for bf16 activations and weights, for each chip. Each converts the operands in another way.
CHIPS = {"sm_90a": {"weights": "tile = [64, 64, 64]"},
         "sm_100a": {"weights": "tile = [128, 64, 64]", "pairs": "tile = [256, 128, 64], strategy = #mxgpu.tcgen05_upcast_b<ctas = 2>"}}
PAIRS = sorted({pair for e in DOMAIN for pair in ((e, E4M3), (E4M3, e))})

TEXT = """
!{name}_a = tensor<?x?x{a}>
!{name}_b = tensor<?x?x{b}>
!{name}_s = tensor<?x?x{scale}, #mx.scale_layout<sf_128x4>>
func.func @{name}(%a: !{name}_a{with_as}, %b: !{name}_b, %bs: !{name}_s) -> tensor<?x?xf32> {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : !{name}_a
  %n = tensor.dim %b, %c0 : !{name}_b
  %init = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = mx.matmul ins(%a{as_}, %b, %bs : !{name}_a{as_type}, !{name}_b, !{name}_s)
      outs(%init : tensor<?x?xf32>){attributes} -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
"""


def text_of(name, a, b, scale=E8M0, block="", schedule="tile = [64, 64, 64]"):
    attributes = f" {block}{{mxgpu.schedule = #mxgpu.schedule<{schedule}>}}"
    scaled = ("", "", "") if a == "bf16" else (f", %as: !{name}_s", ", %as", f", !{name}_s")
    return TEXT.format(name=name, a=a, b=b, scale=scale, attributes=attributes, with_as=scaled[0],
                       as_=scaled[1], as_type=scaled[2])


def programs():
    texts = []
    if test.chip == "sm_90a":
        texts = [text_of(f"{a}_{b}", a, b) for a, b in PAIRS]
        texts.append(text_of("nvfp4", "f4E2M1FN", "f4E2M1FN", E4M3, "block_size = 16 "))
        texts.append(text_of("parts", E4M3, E4M3, schedule="tile = [64, 64, 64], split_k = 3"))
    for way, schedule in WEIGHTS.items():
        texts += [text_of(f"{way}_{e}", "bf16", e, schedule=schedule) for e in DOMAIN]
        texts.append(text_of(f"{way}_nvfp4", "bf16", "f4E2M1FN", E4M3, "block_size = 16 ", schedule))
    return "".join(texts)


class Operand:
    """Codes and scale bytes of elements, and the elements' values."""

    def __init__(self, element, codes, scales, nvfp4=False):
        self.element, self.codes, self.scales = element, codes, scales
        with np.errstate(all="ignore"):
            self.exact = ref.real(codes, scales, element, nvfp4)
        self.values = widen(ref.round_to(self.exact, "bf16"))

    def arrays(self):
        stored = ref.pack(self.codes, self.element)
        return stored.view(np.uint8), ref.tile(self.scales)


class Activations:
    """Operand of unchanged bf16 values."""

    def __init__(self, bits):
        self.bits = bits
        self.values = self.exact = widen(bits)

    def arrays(self):
        return (self.bits,)


def activations(values):
    made = Activations(to_array(values, "bf16")[0])
    assert np.array_equal(made.values, values)
    return made


def powers(exponents, k):
    """Returns rows of equal numbers 2^exponent, as E4M3."""
    exponents = np.asarray(exponents)
    codes = np.full((len(exponents), k), 0x38, np.uint8)  # 1.0
    scales = np.repeat(exponents[:, None] + 127, k // 32, 1).astype(np.uint8)
    return Operand(E4M3, codes, scales)


def numbers(values, scales):
    """Returns E4M3 elements that equal `values` when multiplied by the scales."""
    factors = np.repeat(ref.decode_scale(scales), 32, axis=-1)
    codes = ref.encode((values / factors).astype(np.float32), E4M3)
    made = Operand(E4M3, codes, scales)
    assert np.array_equal(made.values, values) and np.array_equal(made.exact, values)
    return made


class Checks:
    """Loaded program, and the rounding of sums in the device's tensor cores."""

    def __init__(self, program, sums):
        self.program, self.sums = program, sums
        # Only matmuls of sm_90a support scales of A.
        self.scales_a = test.chip == "sm_90a"

    def require(self, name, good, found=""):
        test.require(f"{self.sums} sums: {name}", good, found)

    def matmul(self, name, a, b):
        y, = self.program[name](*a.arrays(), *b.arrays())
        return np.array(y).astype(np.float64)


#===------------------------------------------------------------------------===#
# The domain: each result is a single product
#===------------------------------------------------------------------------===#


def truncated(product):
    """Rounds products toward zero, as the tensor core rounds a single product."""
    units = np.trunc(product * 2.0**149) * 2.0**-149
    value = np.where(np.abs(product) < 2.0**-126, units, product)
    return np.where(np.abs(product) >= 2.0**128, np.copysign(np.inf, product), value)


def single_elements(element, scale_bytes, block, nvfp4=False):
    """Returns one row for each scale and code. The row contains the code once and is otherwise zero."""
    codes = np.arange(1 << int(element[1]), dtype=np.uint8)
    rows = len(scale_bytes) * len(codes)
    matrix = np.zeros((rows, 32), np.uint8)
    matrix[np.arange(rows), np.arange(rows) % 32] = np.tile(codes, len(scale_bytes))
    scales = np.repeat(np.asarray(scale_bytes, np.uint8), len(codes))
    return Operand(element, matrix, np.repeat(scales[:, None], 32 // block, 1), nvfp4)


def check_operands(checks, name, one, other, swap, factors):
    """Multiplies by `other`, a matrix that contains a row of equal numbers for each factor in `factors`. Ignores zero,
    NaN and infinite elements. Returns the exact elements and the results."""
    y = checks.matmul(name, other, one).T if swap else checks.matmul(name, one, other)
    # All other elements of a row are zeros, and stay zeros if the scale is a number.
    values, exact = ([m[i, i % 32] for i in range(len(m))] for m in (one.values, one.exact))
    values, exact = np.array(values), np.array(exact)
    with np.errstate(all="ignore"):
        expected = truncated(values[:, None] * factors)
    test.expect_numbers(f"{checks.sums} sums: {name}, operand {'B' if swap else 'A'}", y, expected)
    return exact, y


def check_domain(checks, element, way):
    """Checks elements as operand A or B, or as operand B in one of the modes of weight multiplication."""
    swap = way != "A"
    low, high = DOMAIN[element]
    tested = {0, 1, 2, 3, 4, low, low + 1, 127, high - 1, high, high + 1, 253, 254, 255}
    tested = sorted(tested | ({low - 1} if low else set()))
    one = single_elements(element, tested, 32)
    # Some results are inside the range of f32, others outside.
    exponents = [0, 60, -60, 120, -120]
    factors = np.exp2(np.array(exponents, np.float64))
    name = {"A": f"{element}_{E4M3}", "B": f"{E4M3}_{element}"}.get(way, f"{way}_{element}")
    if way in WEIGHTS:
        other = activations(np.repeat(factors[:, None], 32, 1))
    else:
        other = powers(exponents, 32)
    exact, y = check_operands(checks, name, one, other, swap, factors)
    codes = 1 << int(element[1])
    for i, byte in enumerate(tested):
        part = slice(i * codes, (i + 1) * codes)
        column = 1 if byte < 127 else 2
        finite = np.isfinite(exact[part])
        same = y[part, column] == exact[part] * factors[column]
        is_exact = bool(finite.any() and same[finite].all())
        checks.require(f"{element}, scale byte {byte}", is_exact == (low <= byte <= high))
        if byte == high + 1:
            checks.require(f"{element}, overflow", np.isinf(y[part, column][finite]).any())
        if byte == NAN_SCALE:
            checks.require(f"{element}, NaN scale", np.isnan(y[part]).all())


def check_nvfp4(checks):
    one = single_elements("f4E2M1FN", np.arange(256), 16, nvfp4=True)
    codes = np.full((1, 32), 2, np.uint8)  # 1.0 times 1.0
    other = Operand("f4E2M1FN", codes, np.full((1, 2), 0x38, np.uint8), nvfp4=True)
    cases = [("nvfp4", other, False), ("nvfp4", other, True)] if checks.scales_a else []
    cases += [(f"{way}_nvfp4", activations(np.ones((1, 32))), True) for way in WEIGHTS]
    for name, other, swap in cases:
        exact, y = check_operands(checks, name, one, other, swap, np.ones(1))
        finite = np.isfinite(exact)
        checks.require("nvfp4 exact", (y[finite, 0] == exact[finite]).all() and finite.sum() == 16 * 254)


def check_special(checks):
    """Checks infinities and NaN multiplied by zeros and by one another."""
    infinity, nan = 0x7C, 0x7E
    codes = np.zeros((6, 64), np.uint8)
    codes[0, 5] = infinity
    codes[1, 5] = infinity | 0x80
    codes[2, [5, 50]] = infinity
    codes[3, [5, 50]] = infinity, infinity | 0x80
    codes[4, 63] = nan
    a = Operand("f8E5M2", codes, np.full((6, 2), 127, np.uint8))
    b = powers([0, 0], 64)
    b.codes[1, 5] = 0  # multiplied by infinity
    b.values[1, 5] = b.exact[1, 5] = 0
    y = checks.matmul(f"f8E5M2_{E4M3}", a, b)
    want = [[np.inf, np.nan], [-np.inf, np.nan], [np.inf, np.nan], [np.nan] * 2, [np.nan] * 2, [0, 0]]
    checks.require("infinities and NaN", np.array_equal(y, want, equal_nan=True), y)


def check_activations(checks, way):
    """Checks all bf16 exponents, infinities and NaN, multiplied by weights that preserve them, and by weights that give
    products below and above the range of f32."""
    rng = np.random.default_rng(1)
    codes = np.arange(0, 1 << 16, 64) + rng.integers(0, 64, 1 << 10)
    codes = np.concatenate([codes, [0, 0x8000, 1, 0x7F, 0x80, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x7F81]])
    matrix = np.zeros((len(codes), 32), np.uint16)
    matrix[np.arange(len(codes)), np.arange(len(codes)) % 32] = codes
    exponents = [0, 10, -10, 100, -100]
    a, b = Activations(matrix), powers(exponents, 32)
    with np.errstate(all="ignore"):
        exact = np.array([a.values[i, i % 32] for i in range(len(codes))])
        expected = truncated(exact[:, None] * np.exp2(np.array(exponents, np.float64)))
    test.expect_numbers(f"{checks.sums} sums: {way}, activations", checks.matmul(f"{way}_{E4M3}", a, b), expected)


#===------------------------------------------------------------------------===#
# The bound
#===------------------------------------------------------------------------===#

LEAST = 2.0**-126


def get_bound(a, b, sums, parts=1, raised=True):
    """Returns the bound of docs/reference/Spec.md."""

    def magnitude(x):
        x = np.abs(x)
        return np.where(x > 0, np.maximum(x, LEAST), 0) if raised and sums == "truncated" else x

    k = a.values.shape[1]
    steps = 4 * -(-k // 64)
    total = magnitude(a.values) @ magnitude(b.values).T
    units = {"exact": 1, "truncated": 5}[sums]
    return steps * units * (2.0**-23 * total + 2.0**-149) + (parts - 1) * (1 + 2.0**-20) * 2.0**-24 * total


def check_bound(checks, name, a, b, entry, sums, parts=1):
    """Checks that the errors are within the bound. Returns the errors, and the largest ratio of an error to its
    bound."""
    if not checks.scales_a:
        a, entry = a if isinstance(a, Activations) else activations(a.values), f"weights_{E4M3}"
    y = checks.matmul(entry, a, b)
    error = np.abs(y - a.values @ b.values.T)
    fraction = (error / get_bound(a, b, sums, parts)).max()
    checks.require(f"{name}, within the bound", fraction <= 1, fraction)
    return error, fraction


def row(k, first, others, scales):
    """Returns a row with the given first element; all other elements are equal."""
    values = np.full((1, k), others, np.float64)
    values[0, 0] = first
    return numbers(values, np.broadcast_to(np.asarray(scales, np.uint8), (1, k // 32)))


def check_large_first(checks, sums):
    """Adds small products to a large first product. The tensor core truncates terms to units of 2^-9 and the sum to
    units of 2^-7, so each step loses almost 16 term units or almost one sum unit."""
    k = 2048
    cut = row(k, 2.0**8, 1.75 * 2.0**-5, 127), row(k, 2.0**8, 1.125 * 2.0**-4, 127)
    lost = row(k, 2.0**8, 1.75 * 2.0**-6, 127), row(k, 2.0**8, 1.125 * 2.0**-6, 127)
    entry = f"{E4M3}_{E4M3}"
    _, of_cut = check_bound(checks, "cut", *cut, entry, sums)
    _, of_lost = check_bound(checks, "lost", *lost, entry, sums)
    checks.require("more than half of the bound", max(of_cut, of_lost) > 0.5, (of_cut, of_lost))
    for a, b in (cut, lost) if checks.scales_a else ():
        check_bound(checks, "parts", a, b, "parts", sums, parts=3)


def check_tiny(checks, sums):
    """Sums of subnormal numbers."""
    k = 2048
    a, b = row(k, 0, 1.75 * 2.0**-76, 51), row(k, 0, 1.125 * 2.0**-75, 52)
    _, fraction = check_bound(checks, "below 2^-126", a, b, f"{E4M3}_{E4M3}", sums)
    checks.require("more than half of the bound below 2^-126", fraction > 0.5, fraction)


def check_subnormal_operands(checks, sums):
    """Checks that a subnormal operand is treated as 2^-126. Without this rule, the bound would be too small."""
    a, b = np.zeros((1, 64)), np.zeros((1, 64))
    a[0, 0:16:4], b[0, 0:16:4] = 2.0**-133, 2.0**120
    a[0, 32:], b[0, 32:] = 1.75 * 2.0**-126, 1.125 * 2.0**95
    if checks.scales_a:
        a = numbers(a, np.array([[3, 1]], np.uint8))
        b = numbers(b, np.array([[247, 222]], np.uint8))
    else:  # a step covers 16 adjacent products
        a[0, :32], a[0, 32::16] = 0, 2.0**-133
        b[0, 32::16] = 2.0**120
        a, b = activations(b), numbers(a, np.array([[1, 1]], np.uint8))
    error, _ = check_bound(checks, "subnormal operands", a, b, f"{E4M3}_{E4M3}", sums)
    without = get_bound(a, b, sums, raised=False)
    checks.require("subnormal operands count as 2^-126", (error > without).all() == (sums == "truncated"))


def check_large_sums(checks, sums):
    """Checks that only the sum after a step overflows f32; products may exceed its range."""
    y = []
    for places, scale in (((0, 1, 2), 127 + 127), ((0, 1, 4), 127 + 127), ((0, 1, 2), 127 + 100)):
        a, b = np.zeros((1, 64)), np.ones((1, 64))
        a[0, places] = np.exp2(scale - 127.0) * np.array([1, 1, -1])
        if scale == 227:  # products of 2^200 that cancel, and one of 1
            a[0, 1] = 0
            b[0, :32] = 2.0**100
            a[0, 32] = 1
        scales = np.array([[scale, 127]], np.uint8), np.array([[227 if scale == 227 else 127, 127]], np.uint8)
        y.append(checks.matmul(f"{E4M3}_{E4M3}", *(numbers(v, s) for v, s in zip((a, b), scales)))[0, 0])
    checks.require("sums of a step", y[:2] == [2.0**127, np.inf], y)
    checks.require("products above the range of f32", y[2] == (1 if sums == "exact" else 0), y)


def check_all(program, sums):
    checks = Checks(program, sums)
    for element in DOMAIN:
        for way in ("A", "B", *WEIGHTS) if checks.scales_a else WEIGHTS:
            check_domain(checks, element, way)
    for way in WEIGHTS:
        check_activations(checks, way)
    check_nvfp4(checks)
    for check in (check_large_first, check_tiny, check_subnormal_operands):
        check(checks, sums)
    if checks.scales_a:
        check_special(checks)
        check_large_sums(checks, sums)


test = Harness("mx_compile", "folder", chip="sm_90a", programs=False)
WEIGHTS = CHIPS[test.chip]
mx.set_device(test.device)
if not test.programs:
    test.compile(programs(), chip=test.chip)
for sums in ("exact", "truncated") if test.device == "sim" else ("truncated",):
    if test.device == "sim":
        mx.set_simulator_option("tensor-sums", sums)
    with mx.Program(test.path("compiled")) as program:
        check_all(program, sums)
test.finish(least=200000)
