"""Sums of 8-bit operands with long blocks: the bits and the bound of docs/reference/Spec.md, "Folded operands", and operands of
several distributions. The bits are computed with multiples of a unit, which are exact in f64; the bound is that of the
page, computed from exact sums."""

import dataclasses

import mx_reference as ref
import numpy as np

STEP, BITS = 32, 13
# Greatest error of a step relative to the largest term or partial sum.
OF_STEP = (STEP + 2) * 2.0**-BITS
# Exponents of the smallest normal numbers that are multiplied.
LEAST = {"f8E4M3FN": -6, "f8E5M2": -14, "f4E2M1FN": -6}
EXPANDED = "f4E2M1FN"


@dataclasses.dataclass
class Operand:
    """Codes and scales of a matrix, bytes or f32. A block of None is a whole row. Several rows may have equal scales."""
    codes: np.ndarray
    scales: np.ndarray
    element: str
    block: int | None

    def __post_init__(self):
        self.values = ref.decode(self.codes, self.element)
        is_exact = self.scales.dtype == np.float32
        self.factors = self.scales.astype(np.float64) if is_exact else ref.decode_scale(self.scales)
        if self.element == EXPANDED:
            with np.errstate(all="ignore"):
                scaled = self.values * np.repeat(self.factors, self.block, axis=1)
            codes = ref.encode(np.clip(scaled, -1e9, 1e9), "f8E4M3FN")
            self.values = ref.decode(codes, "f8E4M3FN")
        self.exponents = exponents(self.values, LEAST[self.element])

    def rows(self, part):
        return Operand(self.codes[part], self.scales[part], self.element, self.block)

    def columns(self, part):
        """Returns whole blocks."""
        blocks = np.s_[part.start // self.block:part.stop // self.block]
        return Operand(self.codes[:, part], self.scales[:, blocks], self.element, self.block)

    def factor(self, k):
        """Returns the factors of the rows at position k, or None for whole rows and expanded operands."""
        return self.factors[:, k // self.block] if self.block and self.element != EXPANDED else None


def exponents(x, least):
    with np.errstate(invalid="ignore"):
        return np.maximum(np.frexp(np.where(np.isfinite(x), x, 1))[1] - 1, least)


def f32(x):
    return x.astype(np.float32).astype(np.float64)


def add_once(c, product):
    """Rounds the exact sum to f32. The first rounding, to f64, is to odd, which makes the second correct."""
    total = c + product
    part = total - c
    lost = (c - (total - part)) + (product - part)
    is_even = total.view(np.int64) & 1 == 0
    return f32(np.where(is_even & (np.abs(lost) > 0), np.nextafter(total, np.copysign(np.inf, lost)), total))


def add_step(s, a, b, exponents_a, exponents_b):
    """Returns the tensor core's sum of s and the products of the rows of a and b."""
    terms = np.concatenate([a[:, None, :] * b[None, :, :], s[..., None]], axis=-1)
    e = np.concatenate([exponents_a[:, None, :] + exponents_b[None, :, :], exponents(s, -126)[..., None]], axis=-1)
    plain = terms.sum(-1)
    largest = np.where(terms == 0, -500, e).max(-1)
    unit = np.exp2(largest - BITS)
    finite = terms if np.isfinite(plain).all() else np.where(np.isfinite(terms), terms, 0)
    total = np.trunc(finite * (1 / unit)[..., None]).sum(-1) * unit
    own = np.exp2(exponents(total, -126) - BITS)  # keeps 13 fraction bits
    return np.where(np.isfinite(plain), np.trunc(total / own) * own, plain)


def product(x, y):
    """Returns the factor of a partial sum, for factors that may be None."""
    return y if x is None else x if y is None else f32(x * y)


def outer(a, b):
    return None if a is None else a[:, None], None if b is None else b[None, :]


def multiply(a, b, promote):
    """Returns the accumulators of all rows of `a` and `b`, as f32."""
    k = a.values.shape[1]
    c = np.zeros((len(a.values), len(b.values)))
    with np.errstate(all="ignore"):
        for begin in range(0, k, promote):
            s = np.zeros(c.shape)
            for first in range(begin, min(begin + promote, k), STEP):
                step = np.s_[:, first:min(first + STEP, begin + promote)]
                s = add_step(s, a.values[step], b.values[step], a.exponents[step], b.exponents[step])
            factor = product(*outer(a.factor(begin), b.factor(begin)))
            c = add_once(c, s if factor is None else s * factor)
        for operand, axis in ((a, 1), (b, 0)):
            if not operand.block:
                c = f32(c * np.expand_dims(operand.factors[:, 0], axis))
    return c.astype(np.float32)


def exact(a, b, promote):
    """Returns the exact results without overflow, and the error bound of each."""
    k = a.values.shape[1]
    total, bound = np.zeros((2, len(a.values), len(b.values)))
    for begin in range(0, k, promote):
        s, largest = np.zeros((2, *total.shape))
        for first in range(begin, min(begin + promote, k), STEP):
            x, y = (operand.values[:, first:min(first + STEP, begin + promote)] for operand in (a, b))
            s = s + x @ y.T
            x, y = (np.where(v == 0, 0, np.maximum(np.abs(v), 2.0**LEAST[o.element])) for v, o in ((x, a), (y, b)))
            largest = np.maximum(largest, np.maximum((x[:, None, :] * y[None, :, :]).max(-1), np.abs(s)))
        of_sum = promote // STEP * OF_STEP
        # The bound refers to the partial sums, which exceed the exact ones by at most its own amount.
        of_sum = largest * of_sum / (1 - of_sum)
        factor = product(*outer(a.factor(begin), b.factor(begin)))
        factor = 1.0 if factor is None else factor
        total, bound = total + s * factor, bound + of_sum * factor
        bound = bound + (np.abs(total) + bound) * 2.0**-24 + 2.0**-150
    for operand, axis in ((a, 1), (b, 0)):
        if not operand.block:
            factor = np.expand_dims(operand.factors[:, 0], axis)
            total, bound = total * factor, bound * factor + 2.0**-150
    return total, bound


# --- Operands -------------------------------------------------------------------------


def fold(x, element, block, rounding="ceil"):
    """Quantizes numbers with a scale for each block or row."""
    x = np.asarray(x, np.float32)
    blocks = x.reshape(len(x), -1, block or x.shape[1])
    with np.errstate(all="ignore"):
        scales = ref.block_scale(np.abs(blocks).max(-1), element, rounding)
        scaled = blocks.astype(np.float64) * np.exp2(127.0 - scales)[..., None]
    return Operand(ref.encode(scaled.reshape(x.shape), element), scales, element, block)


def channels(rng, shape):
    x = rng.standard_normal(shape)
    x[:, rng.random(shape[1]) < 0.01] *= 30
    return x


DISTRIBUTIONS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "student": lambda rng, shape: rng.standard_t(3, shape),
    "channels": channels,
    "relu2": lambda rng, shape: np.maximum(rng.standard_normal(shape), 0)**2,
    "lognormal": lambda rng, shape: rng.standard_normal(shape) * rng.lognormal(0, 2, shape),
    "along K": lambda rng, shape: rng.standard_normal(shape) * rng.lognormal(0, 3, shape[1]),
    "zeros": lambda rng, shape: np.zeros(shape),
}
# Codes of A and B: any finite codes with some scales, the smallest codes, any codes with all scales, special numbers.
CODES = {name: (name, name) for name in ("codes", "tiny", "wild", "special")}
CODES |= {"tiny a": ("tiny", "codes"), "tiny b": ("codes", "tiny")}
# "gap" draws blocks 2^14 larger than their neighbors, which meet zeros.
DATA = [*DISTRIBUTIONS, "gap", *CODES]
# Data with results that may overflow or be NaN.
UNBOUNDED = ["wild", "special"]


def draw_codes(rng, shape, element, block, data):
    """Draws codes and scale bytes. "special" includes NaN, infinities, a zero row and extreme scales."""
    sign = 3 if element == EXPANDED else 7
    codes = rng.integers(0, 8 if data == "tiny" else 1 << sign, shape).astype(np.uint8)
    codes |= rng.integers(0, 2, shape).astype(np.uint8) << sign
    finite = np.isfinite(ref.decode(codes, element))
    codes[~finite & (rng.random(shape) > (0.1 if data == "special" else 0))] = 1
    scales = rng.integers(*((0, 255) if data == "wild" else (110, 140)), (shape[0], shape[1] // block if block else 1))
    if data == "special":
        codes[0] = 0
        scales[-1, -1], scales[len(scales) // 2, 0] = 255, 0
    return Operand(codes, scales.astype(np.uint8), element, block)


EXTREMES = np.array([0, 1e-45, 1e-39, 2.0**-126, 3e38, np.inf, np.nan], np.float32)


def with_f32_scales(rng, operand, data):
    """Replaces bytes by f32 scales with random mantissas. "special" includes extreme scales."""
    with np.errstate(over="ignore"):
        scales = (ref.decode_scale(operand.scales) * rng.uniform(1, 2, operand.scales.shape)).astype(np.float32)
    if data == "special":
        chosen = rng.random(scales.shape) < 0.1
        scales[chosen] = rng.choice(EXTREMES, chosen.sum())
    return Operand(operand.codes, scales, operand.element, operand.block)


def in_squares(operand, rows, size=128):
    """Shares the scales of `size` rows in each matrix of `rows` rows."""
    first = np.arange(len(operand.scales))
    first -= first % rows % size
    return Operand(operand.codes, operand.scales[first], operand.element, operand.block)


def draw_pair(rng, shapes, elements, blocks, data):
    """Draws both operands."""
    forms = list(zip(shapes, elements, blocks))
    if data in CODES:
        return [draw_codes(rng, *form, own) for form, own in zip(forms, CODES[data])]
    factors = 1, 1
    if data == "gap":
        large = (rng.random(-(-shapes[0][1] // STEP)) < 0.25).repeat(STEP)[:shapes[0][1]]
        factors = np.where(large, 2.0**14, 1), ~large
    make = DISTRIBUTIONS.get(data, DISTRIBUTIONS["normal"])
    return [fold(make(rng, shape) * factor, element, block)
            for (shape, element, block), factor in zip(forms, factors)]
