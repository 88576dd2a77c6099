"""Interval arithmetic. An interval contains all results that permitted roundings may produce.

Rounding to nearest is monotonic, so each operation maps the ends of an interval to the ends of the result, and exact
numbers stay exact to the last bit. Only sums in any order and `math` functions widen an interval. A sum widens it by
a bound that depends on the number of terms. A function widens it by the error in docs/reference/Math.md. All intervals
are in float64."""

import functools

import numpy as np
from math_bounds import read_bounds

# Number of significant digits, exponent of the least subnormal number, and first exponent that overflows.
FORMATS = {"f64": (53, -1074, 1024), "f32": (24, -149, 128), "bf16": (8, -133, 128), "f16": (11, -24, 16)}


def round_to(x, dtype):
    """Rounds to the nearest number of the type, ties to even."""
    x = np.asarray(x, np.float64)
    if dtype == "f64":
        return x
    if dtype != "bf16":
        with np.errstate(over="ignore"):
            return x.astype({"f32": np.float32, "f16": np.float16}[dtype]).astype(np.float64)
    unit = unit_of(x, dtype)
    with np.errstate(invalid="ignore"):
        near = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
    return np.where(np.abs(near) >= 2.0**128, np.copysign(np.inf, near), near)


def unit_of(x, dtype):
    """Returns the unit in the last place of each number."""
    digits, least, _ = FORMATS[dtype]
    exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))[1] - digits
    return np.ldexp(1.0, np.maximum(exponent, least))


def lowest_bit(x):
    """Returns the exponent of the largest power of two that divides all nonzero numbers, or None if all are zero."""
    x = x[(x != 0) & np.isfinite(x)]
    if not x.size:
        return None
    m, e = np.frexp(x)
    m = np.abs(m * 2.0**53).astype(np.int64)
    return int(np.min(e - 53 + np.round(np.log2((m & -m).astype(np.float64))).astype(int)))


class Interval:
    """Array of intervals [lo, hi] of a number type."""

    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, dtype, lo, hi=None):
        self.dtype, self.lo = dtype, np.asarray(lo, np.float64)
        self.hi = self.lo if hi is None else np.asarray(hi, np.float64)

    @property
    def shape(self):
        return self.lo.shape

    @property
    def known(self):
        return self.hi is self.lo or np.array_equal(self.lo, self.hi, equal_nan=True)

    def lift(self, function):
        """Applies a function that moves or selects elements, such as a reshape, to both ends."""
        return Interval(self.dtype, function(self.lo), None if self.hi is self.lo else function(self.hi))

    def __getitem__(self, places):
        return self.lift(lambda a: a[places])

    def reshape(self, *shape):
        return self.lift(lambda a: a.reshape(*shape))

    def transpose(self, *order):
        return self.lift(lambda a: a.transpose(*order))

    @property
    def T(self):
        return self.transpose()

    def like(self, other):
        if isinstance(other, Interval):
            if other.dtype != self.dtype:
                raise TypeError(f"expected two operands of type {self.dtype}, found {other.dtype}")
            return other
        return Interval(self.dtype, round_to(other, self.dtype))

    def ends(self, function, *others):
        """Applies a function monotonic in each operand to all combinations of ends, then rounds."""
        operands = [self, *others]
        corners = [[]]
        for each in operands:
            parts = [each.lo] if each.hi is each.lo else [each.lo, each.hi]
            corners = [corner + [part] for corner in corners for part in parts]
        with np.errstate(all="ignore"):
            values = [round_to(function(*corner), self.dtype) for corner in corners]
        if len(values) == 1:
            return Interval(self.dtype, values[0])
        return Interval(self.dtype, functools.reduce(np.minimum, values), functools.reduce(np.maximum, values))

    def __add__(self, other):
        return self.ends(np.add, self.like(other))

    def __sub__(self, other):
        return self.ends(np.subtract, self.like(other))

    def __mul__(self, other):
        other = self.like(other)
        if other is self and not self.known:  # a square
            return Interval(self.dtype, np.where(self.lo * self.hi < 0, 0.0, np.minimum(self.lo**2, self.hi**2)),
                            np.maximum(self.lo**2, self.hi**2)).ends(np.positive)
        return self.ends(np.multiply, other)

    def __truediv__(self, other):
        return self.ends(np.divide, self.like(other))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return self.like(other) - self

    def __rtruediv__(self, other):
        return self.like(other) / self

    def __neg__(self):
        return Interval(self.dtype, -self.hi, -self.lo) if not self.known else Interval(self.dtype, -self.lo)

    def to(self, dtype):
        return Interval(dtype, round_to(self.lo, dtype), None if self.hi is self.lo else round_to(self.hi, dtype))

    def widen(self, by):
        return Interval(self.dtype, self.lo - by, self.hi + by)

    def compare(self, function, other):
        """Applies a comparison that increases with the first operand and decreases with the second, such as
        np.greater."""
        other = self.like(other)
        return Bits(function(self.lo, other.hi), function(self.hi, other.lo))

    def __gt__(self, other):
        return self.compare(np.greater, other)

    def __ge__(self, other):
        return self.compare(np.greater_equal, other)

    def __lt__(self, other):
        return self.like(other) > self

    def max(self, axis, keepdims=False):
        return self.lift(lambda a: a.max(axis=axis, keepdims=keepdims))

    def sum(self, axis, keepdims=False, init=None):
        """Sums along axes in any order."""
        axes = tuple(np.atleast_1d(axis) % len(self.shape))
        count = int(np.prod([self.shape[i] for i in axes]))
        total = total_of(self.dtype, [(self.lo, self.hi, lambda a: a.sum(axis=axes, keepdims=keepdims))], count, init)
        return total

    def check(self, found):
        """Returns a mask of the elements outside the interval."""
        with np.errstate(invalid="ignore"):
            inside = (self.lo <= found) & (found <= self.hi)
        return ~(inside | (np.isnan(self.lo) & np.isnan(found)))

    def describe(self, place):
        lo, hi = self.lo[place], self.hi[place]
        return f"{lo!r}" if lo == hi else f"{lo!r} to {hi!r}"


class Bits:
    """Booleans, some of which may be either value."""

    def __init__(self, surely, possibly=None):
        self.lo = np.asarray(surely, bool)
        self.hi = self.lo if possibly is None else np.asarray(possibly, bool)

    shape = property(lambda self: self.lo.shape)

    def check(self, found):
        return (self.lo & ~found) | (found & ~self.hi)

    def describe(self, place):
        return f"{self.lo[place]} or {self.hi[place]}"

    def __and__(self, other):
        other = other if isinstance(other, Bits) else Bits(other)
        return Bits(self.lo & other.lo, self.hi & other.hi)


def total_of(dtype, parts, count, init=None, unit=None):
    """Bounds a sum in any order with a rounding at each step. Each part is a triple: the lower ends of terms, their
    upper ends, and a function to sum terms."""
    lo = hi = size = 0.0
    known, bits = init is None or init.known, []
    for low, high, add in parts:
        lo, hi = lo + add(low), hi + add(high)
        size = size + add(np.maximum(np.abs(low), np.abs(high)))
        known = known and (low is high or np.array_equal(low, high))
        bits.append(lowest_bit(low))
    if init is not None:
        lo, hi = lo + init.lo, hi + init.hi
        size = size + np.maximum(np.abs(init.lo), np.abs(init.hi))
        bits.append(lowest_bit(init.lo))
        count += 1
    bits = [bit for bit in bits if bit is not None]
    digits = FORMATS[dtype][0]
    # The sum is exact: all terms are multiples of a power of two, and the sum fits in the type's significand.
    if known and np.all(size <= 2.0**digits * 2.0**min(bits, default=0)):
        return Interval(dtype, lo)
    unit = 2.0**-digits * count if unit is None else unit
    by = size * unit + count * 2.0**FORMATS[dtype][1]
    return Interval(dtype, lo - by, hi + by).to(dtype)


def einsum(spec, a, b, init=None, dtype="f32", tensor_core=False):
    """Computes an einsum of two intervals with the terms added in any order in f32. A tensor core adds at least 16
    terms at a time to the accumulator and truncates by at most a unit in the last place."""
    letters = set("".join(spec.split("->")[0].split(",")))
    gone = letters - set(spec.split("->")[1])
    sizes = dict(zip(spec.split(",")[0], a.shape), **dict(zip(spec.split("->")[0].split(",")[1], b.shape)))
    count = int(np.prod([sizes[letter] for letter in gone]))
    steps = -(-count // 16) + 1
    unit = steps * 2.0**-23 if tensor_core else (count + 2) * 2.0**-FORMATS[dtype][0]
    centre = lambda x: (x.lo + x.hi) / 2
    half = lambda x: (x.hi - x.lo) / 2
    size_a, size_b = (np.maximum(np.abs(x.lo), np.abs(x.hi)) for x in (a, b))
    value = np.einsum(spec, centre(a), centre(b))
    size = np.einsum(spec, size_a, size_b)
    if init is not None:
        size = size + np.maximum(np.abs(init.lo), np.abs(init.hi))
        value = value + centre(init)
    known = a.known and b.known and (init is None or init.known)
    if known:
        bits = [lowest_bit(a.lo), lowest_bit(b.lo)]
        bit = sum(bits) if None not in bits else 0
        if init is not None and lowest_bit(init.lo) is not None:
            bit = min(bit, lowest_bit(init.lo))
        if np.all(size <= 2.0**FORMATS[dtype][0] * 2.0**bit):
            return Interval(dtype, value)
    by = np.einsum(spec, half(a), size_b) + np.einsum(spec, size_a, half(b)) + size * unit + count * 2.0**-149
    if init is not None:
        by = by + half(init)
    return Interval(dtype, value - by, value + by)


def rows(a, b, **options):
    """Multiplies the rows of `a` by the rows of `b`."""
    return einsum("mk,nk->mn", a, b, **options)


def maximum(a, b):
    return a.ends(np.maximum, a.like(b))


def minimum(a, b):
    return a.ends(np.minimum, a.like(b))


def absolute(a):
    return maximum(a, -a)


def where(condition, a, b):
    a, b = (a, a.like(b)) if isinstance(a, Interval) else (b.like(a), b)
    condition = condition if isinstance(condition, Bits) else Bits(condition)
    low = np.where(condition.lo, a.lo, np.where(condition.hi, np.minimum(a.lo, b.lo), b.lo))
    high = np.where(condition.lo, a.hi, np.where(condition.hi, np.maximum(a.hi, b.hi), b.hi))
    return Interval(a.dtype, low, high)


def join(function, *parts):
    """Applies np.concatenate or np.stack to intervals."""
    return Interval(parts[0].dtype, function([part.lo for part in parts]), function([part.hi for part in parts]))


def of_integers(x, dtype="f32"):
    return Interval(dtype, round_to(np.asarray(x, np.float64), dtype))


@functools.lru_cache(None)
def bound_of(name, dtype):
    return read_bounds(dtype)[name]


def monotonic(name, function, falls=False):
    def apply(x):
        with np.errstate(all="ignore"):
            lo, hi = function(x.lo), function(x.hi)
        lo, hi = (hi, lo) if falls else (lo, hi)
        ulps = bound_of(name, x.dtype)
        return Interval(x.dtype, lo - ulps * unit_of(lo, x.dtype), hi + ulps * unit_of(hi, x.dtype))

    return apply


def steep(ulps, function, slope, dtype_bound=None):
    """Returns the intervals of a function with a slope of at most `slope`."""

    def apply(x):
        centre, half = function((x.lo + x.hi) / 2), slope * (x.hi - x.lo) / 2
        off = bound_of(dtype_bound, x.dtype) if dtype_bound else ulps
        return Interval(x.dtype, centre, centre).widen(half + off * unit_of(np.abs(centre) + half, x.dtype) + 2.0**-120)

    return apply


def erf_of(x):
    import math
    return np.vectorize(math.erf, otypes=[np.float64])(x)


exp, tanh, log = monotonic("exp", np.exp), monotonic("tanh", np.tanh), monotonic("log", np.log)
log1p, erf = monotonic("log1p", np.log1p), monotonic("erf", erf_of)
rsqrt = monotonic("rsqrt", lambda x: 1 / np.sqrt(x), falls=True)
sin, cos = steep(0, np.sin, 1.0, "sin"), steep(0, np.cos, 1.0, "cos")
# Error bounds from docs/reference/Math.md, "Exponentials".
sigmoid = steep(3.5, lambda x: 1 / (1 + np.exp(-x)), 0.25)
silu = steep(4, lambda x: x / (1 + np.exp(-x)), 1.1)


def sqrt(x):
    return x.ends(np.sqrt)
