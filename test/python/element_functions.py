# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on elements in a region, as MLIR and as numpy models.

FUNCTIONS is the table. Each entry contains the text of an operation, the types of its operands and result, and its
model. The models follow IEEE 754-2019 and docs/reference/Math.md (Arithmetic) and share no code with the compiler.
Floats of all types are stored as float64 arrays, and integers as int64 arrays. Each function rounds its result once.
Functions in FUNCTIONS_OF_MATH have no model; tests only compare the paths with one another.
"""

import collections
from fractions import Fraction

import numpy as np

# Stored mantissa bits, exponent of the smallest subnormal, largest number.
FLOATS = {
    "bf16": (7, -133, (2 - 2.0**-7) * 2.0**127),
    "f16": (10, -24, 65504.0),
    "f32": (23, -149, (2 - 2.0**-23) * 2.0**127),
}
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64,
        "bf16": 16, "f16": 16, "f32": 32, "f64": 64}
INTEGERS = ["i8", "i16", "i32", "i64"]
TYPES = [*FLOATS, "f64"]

# `text` contains {0}, {1}, ... for operands and {k} for a constant.
Function = collections.namedtuple("Function", "text operands result model constants")

# Functions expanded by mx-expand-math to the same sequence on all paths.
FUNCTIONS_OF_MATH = """
acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2
rsqrt sin sinh tan tanh""".split()
FUNCTIONS_OF_TWO = ["atan2", "powf"]
MATH_TYPES = ["f32", "bf16", "f16"]


# --- Numbers ------------------------------------------------------------------


def round_to(value, to):
    """Rounds once, to nearest even. The source is float64, or longdouble for integers."""
    if to == "f64":
        return np.asarray(value, np.float64)
    mantissa, low, largest = FLOATS[to]
    value = np.asarray(value)
    finite = np.isfinite(value)
    _, e = np.frexp(np.where(finite, value, 1))
    unit = np.ldexp(np.ones_like(value), np.maximum(e - 1 - mantissa, low))
    rounded = np.where(finite, np.rint(value / unit) * unit, value)
    rounded = np.where(np.abs(rounded) > largest, np.copysign(np.inf, value), rounded)
    return np.asarray(np.where(np.isnan(value), np.nan, rounded), np.float64)


def get_bits(value, of):
    """Returns the bits as int64, with the canonical NaN."""
    nan = (1 << (BITS[of] - 1)) - 1
    if of == "f64":
        bits = value.view(np.int64)
    elif of == "f16":
        bits = value.astype(np.float16).view(np.int16).astype(np.int64)
    else:
        bits = value.astype(np.float32).view(np.int32).astype(np.int64)
        if of == "bf16":
            bits >>= 16
    return np.where(np.isnan(value), nan, bits)


def from_bits(bits, to):
    bits = np.asarray(bits, np.int64)
    if to == "f64":
        return bits.view(np.float64)
    if to == "f16":
        return bits.astype(np.int16).view(np.float16).astype(np.float64)
    if to == "bf16":
        bits = bits << 16
    return bits.astype(np.int32).view(np.float32).astype(np.float64)


def wrap(value, to):
    """Wraps into the range of signed integers."""
    lost = 64 - BITS[to]
    return (np.asarray(value, np.int64) << lost) >> lost


def unsigned(value, of):
    value = np.asarray(value, np.int64).view(np.uint64)
    return value & np.uint64((1 << BITS[of]) - 1)


# --- Models -------------------------------------------------------------------


@np.vectorize
def fma_f64(a, b, c):
    """Returns a * b + c, rounded once."""
    if np.isfinite([a, b, c]).all() and (exact := Fraction(a) * Fraction(b) + Fraction(c)):
        try:
            return float(exact)
        except OverflowError:
            return np.inf if exact > 0 else -np.inf
    return c if np.isinf(c) and np.isfinite([a, b]).all() else a * b + c


def fma(a, b, c):
    """Returns a * b + c rounded to odd in float64. A second rounding, to a type of at most half the width, is
    correct."""
    product = a * b
    total = product + c
    added = total - product
    error = (product - (total - added)) + (c - added)
    bits = total.view(np.int64)
    away = np.where((error < 0) == (total < 0), 1, -1)
    inexact = np.isfinite(error) & (error != 0) & (bits & 1 == 0)
    return np.where(inexact, bits + away, bits).view(np.float64)


def extreme(a, b, sign):
    """Returns the larger of two numbers, or the smaller if the sign is -1. +0 is larger than -0."""
    a, b = sign * a, sign * b
    return sign * np.where(a > b, a, np.where(b > a, b, np.where(a == 0, a + b, a)))


def maximum(a, b, sign=1):
    return np.where(np.isnan(a) | np.isnan(b), np.nan, extreme(a, b, sign))


def maximum_number(a, b, sign=1):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, extreme(a, b, sign)))


def to_signed(x, to):
    limit = 2.0 ** (BITS[to] - 1)
    largest = 2 ** (BITS[to] - 1) - 1
    inside = (x >= -limit) & (x < limit)
    whole = np.trunc(np.where(inside, x, 0)).astype(np.int64)
    return np.where(np.isnan(x), 0, np.where(inside, whole, np.where(x > 0, largest, -largest - 1)))


def to_unsigned(x, to):
    limit = 2.0 ** BITS[to]
    inside = (x >= 0) & (x < limit)
    whole = np.trunc(np.where(inside, x, 0)).astype(np.uint64)
    largest = np.uint64((1 << BITS[to]) - 1)
    whole = np.where(inside, whole, np.where(x > 0, largest, np.uint64(0)))
    return wrap(whole.view(np.int64), to)


def least_normal(of):
    return 2.0**-1022 if of == "f64" else 2.0**sum(FLOATS[of][:2])


def half_away(x):
    whole = np.trunc(np.abs(x))
    return np.copysign(whole + (np.abs(x) - whole >= 0.5), x)


def copysign(a, b):
    """Copies the sign of a number. Every NaN is treated as positive."""
    return np.copysign(a, np.where(np.isnan(b), 1.0, b))


COMPARISONS = {"eq": np.equal, "gt": np.greater, "ge": np.greater_equal,
               "lt": np.less, "le": np.less_equal}


def compare(predicate):
    """Compares two numbers. With a NaN, ordered predicates are false and unordered predicates are true."""
    name = predicate[1:]

    def model(a, b):
        nan = np.isnan(a) | np.isnan(b)
        if predicate in ("ord", "uno"):
            return (nan == (predicate == "uno")).astype(np.int64)
        found = (a != b) if name == "ne" else COMPARISONS[name](a, b)
        return np.where(nan, predicate[0] == "u", found).astype(np.int64)

    return model


def compare_integers(predicate, of):
    def model(a, b):
        if predicate[0] == "u":
            a, b = unsigned(a, of), unsigned(b, of)
        name = predicate[-2:]
        found = (a != b) if name == "ne" else COMPARISONS[name](a, b)
        return found.astype(np.int64)

    return model


def count_ones(x, of):
    x = unsigned(x, of)
    return sum(((x >> np.uint64(i)) & np.uint64(1)).astype(np.int64) for i in range(BITS[of]))


def count_zeros(x, of, leading):
    bits = range(BITS[of])
    x = unsigned(x, of)
    count, running = np.zeros(x.shape, np.int64), np.ones(x.shape, bool)
    for i in reversed(bits) if leading else bits:
        running = running & ((x >> np.uint64(i)) & np.uint64(1) == 0)
        count += running
    return wrap(count, of)


def divide(kind, of):
    """Returns an integer quotient or remainder. If the divisor is 0, the quotient is all ones and the remainder is the
    dividend. The smallest number divided by -1 is itself."""
    def model(a, b):
        isZero = b == 0
        with np.errstate(over="ignore"):
            found = defined(a, np.where(isZero, 1, b))
        return np.where(isZero, a if kind[:3] == "rem" else wrap(np.full_like(a, -1), of), found)

    def defined(a, b):
        if kind[-2:] == "ui":
            a, b = (unsigned(v, of) for v in (a, b))
            quotient, rest = a // b, a % b
            up = quotient + (rest != 0)
            result = {"divui": quotient, "remui": rest, "ceildivui": up}[kind]
            return wrap(result.view(np.int64), of)
        down = a // b  # towards -inf
        rest = a - down * b
        truncated = down + ((rest != 0) & ((a < 0) != (b < 0)))
        result = {"divsi": truncated, "remsi": a - truncated * b, "floordivsi": down,
                  "ceildivsi": down + (rest != 0)}[kind]
        return wrap(result, of)

    return model


# --- The table ----------------------------------------------------------------


def floats(t):
    def rounded(model):
        return lambda *values: round_to(model(*values), t)

    def add(text, count, model, result=t, operands=None):
        operands = operands or [t] * count
        operation = f"{text} : {t}" if " to " not in text else text
        return Function(operation, operands, result, model, None)

    for name, model in {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
                        "maximumf": maximum, "minimumf": lambda a, b: maximum(a, b, -1),
                        "maxnumf": maximum_number, "minnumf": lambda a, b: maximum_number(a, b, -1)}.items():
        yield add(f"arith.{name} {{0}}, {{1}}", 2, rounded(model))
    for name, model in {"absf": np.abs, "sqrt": np.sqrt, "ceil": np.ceil, "floor": np.floor,
                        "trunc": np.trunc, "round": half_away, "roundeven": np.rint}.items():
        yield add(f"math.{name} {{0}}", 1, rounded(model))
    yield add("arith.negf {0}", 1, np.negative)
    yield add("math.copysign {0}, {1}", 2, copysign)
    yield add("math.fma {0}, {1}, {2}", 3, rounded(fma_f64 if t == "f64" else fma))
    for name, model in {"isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf,
                        "isnormal": lambda a: np.isfinite(a) & (np.abs(a) >= least_normal(t))}.items():
        yield add(f"math.{name} {{0}}", 1, lambda a, m=model: m(a).astype(np.int64), "i1")
    for order in "ou":
        for name in ["eq", "gt", "ge", "lt", "le", "ne"]:
            yield add(f"arith.cmpf {order}{name}, {{0}}, {{1}}", 2, compare(order + name), "i1")
    for name in ["ord", "uno"]:
        yield add(f"arith.cmpf {name}, {{0}}, {{1}}", 2, compare(name), "i1")
    yield add("arith.select {0}, {1}, {2}", 3, lambda c, a, b: np.where(c != 0, a, b), t, ["i1", t, t])


def integers(t):
    def wrapped(model):
        return lambda *values: wrap(model(*values), t)

    def add(text, operands, model, result=t, constants=None):
        return Function(f"{text} : {t}", operands, result, model, constants)

    for name, model in {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and,
                        "ori": np.bitwise_or, "xori": np.bitwise_xor, "maxsi": np.maximum,
                        "minsi": np.minimum}.items():
        yield add(f"arith.{name} {{0}}, {{1}}", [t, t], wrapped(model))
    for name, model in {"maxui": np.maximum, "minui": np.minimum}.items():
        yield add(f"arith.{name} {{0}}, {{1}}", [t, t],
                  lambda a, b, m=model: wrap(m(unsigned(a, t), unsigned(b, t)).view(np.int64), t))
    shifts = list(range(BITS[t]))
    yield add("arith.shli {0}, {k}", [t], lambda a, k: wrap(a << k, t), t, shifts)
    yield add("arith.shrsi {0}, {k}", [t], lambda a, k: wrap(a >> k, t), t, shifts)
    yield add("arith.shrui {0}, {k}", [t],
              lambda a, k: wrap((unsigned(a, t) >> np.uint64(k)).view(np.int64), t), t, shifts)
    width = np.uint64(BITS[t])
    within = lambda k: np.minimum(unsigned(k, t), width - np.uint64(1))
    inside = lambda k, found: np.where(unsigned(k, t) < width, found, 0)
    yield add("arith.shli {0}, {1}", [t, t],
              lambda a, k: inside(k, wrap((unsigned(a, t) << within(k)).view(np.int64), t)))
    yield add("arith.shrsi {0}, {1}", [t, t], lambda a, k: wrap(a >> within(k).view(np.int64), t))
    yield add("arith.shrui {0}, {1}", [t, t],
              lambda a, k: inside(k, wrap((unsigned(a, t) >> within(k)).view(np.int64), t)))
    for name in ["divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui"]:
        yield add(f"arith.{name} {{0}}, {{1}}", [t, t], divide(name, t))
        yield add(f"arith.{name} {{0}}, {{k}}", [t],
                  lambda a, k, m=divide(name, t): m(a, np.full_like(a, k)), t, [1, 2, 3, 7, 10, 100, 127, -2, -3, -128])
    for name in ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]:
        yield add(f"arith.cmpi {name}, {{0}}, {{1}}", [t, t], compare_integers(name, t), "i1")
    yield add("arith.select {0}, {1}, {2}", ["i1", t, t], lambda c, a, b: np.where(c != 0, a, b))
    yield add("math.absi {0}", [t], wrapped(np.abs))
    yield add("math.ctpop {0}", [t], lambda a: wrap(count_ones(a, t), t))
    yield add("math.ctlz {0}", [t], lambda a: count_zeros(a, t, True))
    yield add("math.cttz {0}", [t], lambda a: count_zeros(a, t, False))


def conversions(integers=INTEGERS):
    def add(name, a, b, model):
        return Function(f"arith.{name} {{0}} : {a} to {b}", [a], b, model, None)

    for a in TYPES:
        for b in TYPES:
            if BITS[a] < BITS[b]:
                yield add("extf", a, b, lambda x: x)
                yield add("truncf", b, a, lambda x, a=a: round_to(x, a))
        for b in integers:
            yield add("fptosi", a, b, lambda x, b=b: to_signed(x, b))
            yield add("fptoui", a, b, lambda x, b=b: to_unsigned(x, b))
            if BITS[a] == BITS[b]:
                yield add("bitcast", a, b, lambda x, a=a: get_bits(x, a))
                yield add("bitcast", b, a, lambda x, a=a: from_bits(x, a))
        # A signed i1 is 0 or -1, an unsigned i1 is 0 or 1, and NaN converts to 0.
        yield add("fptosi", a, "i1", lambda x: (x <= -1).astype(np.int64))
        yield add("fptoui", a, "i1", lambda x: (x >= 1).astype(np.int64))
        for b in ["i1", *integers]:
            # A signed i1 is 0 or -1.
            yield add("sitofp", b, a, lambda x, a=a, b=b: round_to(wrap(x, b).astype(np.longdouble), a))
            yield add("uitofp", b, a, lambda x, a=a, b=b: round_to(unsigned(x, b).astype(np.longdouble), a))
    for i, a in enumerate(integers):
        yield add("extui", "i1", a, lambda x: x & 1)
        for b in integers[i + 1:]:
            yield add("extsi", a, b, lambda x: x)
            yield add("extui", a, b, lambda x, a=a, b=b: wrap(unsigned(x, a).view(np.int64), b))
            yield add("trunci", b, a, lambda x, a=a: wrap(x, a))


def functions_of_math():
    for t in MATH_TYPES:
        for name in FUNCTIONS_OF_MATH:
            yield Function(f"math.{name} {{0}} : {t}", [t], t, None, None)
        for name in FUNCTIONS_OF_TWO:
            yield Function(f"math.{name} {{0}}, {{1}} : {t}", [t, t], t, None, None)


FUNCTIONS = [*(f for t in TYPES for f in floats(t)), *(f for t in INTEGERS for f in integers(t)),
             *conversions(), *functions_of_math()]
