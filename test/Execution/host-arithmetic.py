"""Numbers that the host computes are those of Python, numpy and ml_dtypes, in every type and for every operation of arith and
math that a launch plan has, at the edges of the types and at random.

RUN: %python -W error::SyntaxWarning %s %t mx-compile
REQUIRES: compiler, numpy

The functions are compiled once; the runtime computes them for all numbers. Integers of other widths come from i64 and go back there.
"""

import itertools
import math
import os
import struct
import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

import mx_compiler as mx

directory, mx_compile = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
random = np.random.default_rng(7)

# ---------------------------------------------------------------------------
# Integers, by Python's
# ---------------------------------------------------------------------------


def signed(x, w):
    x &= (1 << w) - 1
    return x - (1 << w) if x >> (w - 1) else x


def unsigned(x, w):
    return x & ((1 << w) - 1)


def truncated(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def by_zero(quotient):
    """docs/reference/Math.md: all ones."""
    return lambda a, b: -1 if b == 0 else quotient(a, b)


def rest_by_zero(rest):
    return lambda a, b: a if b == 0 else rest(a, b)


SIGNED = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": by_zero(truncated),
    "arith.remsi": rest_by_zero(lambda a, b: a - b * truncated(a, b)),
    "arith.floordivsi": by_zero(lambda a, b: a // b),
    "arith.ceildivsi": by_zero(lambda a, b: -(-a // b)),
    "arith.minsi": min, "arith.maxsi": max,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
}
UNSIGNED = {
    "arith.divui": by_zero(lambda a, b: a // b),
    "arith.remui": rest_by_zero(lambda a, b: a % b),
    "arith.ceildivui": by_zero(lambda a, b: -(-a // b)),
    "arith.minui": min, "arith.maxui": max,
}
COMPARE = {"slt": lambda a, b: a < b, "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
           "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}


def shifted(op, a, b, w):
    by, a_unsigned = unsigned(b, w), unsigned(a, w)
    if op == "arith.shrsi":
        return signed(a, w) >> min(by, w)
    return 0 if by >= w else a_unsigned << by if op == "arith.shli" else a_unsigned >> by


def leading(x, w):
    return w - x.bit_length()


def trailing(x, w):
    return w if x == 0 else (x & -x).bit_length() - 1


UNARY = {"math.absi": lambda x, w: abs(signed(x, w)), "math.ctlz": lambda x, w: leading(unsigned(x, w), w),
         "math.cttz": lambda x, w: trailing(unsigned(x, w), w), "math.ctpop": lambda x, w: bin(unsigned(x, w)).count("1")}


class Function:
    """A function of numbers, and what each of its results is."""

    def __init__(self, name, types):
        self.name, self.types = name, types
        self.lines, self.results, self.references = [], [], []
        self.count = 0

    def add(self, text):
        value = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {value} = {text}")
        return value

    def give(self, value, type, reference):
        self.results.append((value, type))
        self.references.append(reference)

    def text(self):
        arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(self.types))
        types = ", ".join(t for _, t in self.results)
        return (f"func.func @{self.name}({arguments}) -> ({types}) {{\n" + "\n".join(self.lines) +
                f"\n  return {', '.join(v for v, _ in self.results)} : {types}\n}}\n")


def integers(w):
    f = Function(f"i{w}", ["i64", "i64"])
    t = f"i{w}"
    a, b = ((f"%a{i}" if w == 64 else f.add(f"arith.trunci %a{i} : i64 to {t}")) for i in range(2))

    def give(value, reference, bit=False):
        """Sign and all, as i64."""
        if w < 64 or bit:
            value = f.add(f"arith.extsi {value} : {'i1' if bit else t} to i64")
        f.give(value, "i64", lambda x, y: signed(int(reference(x, y)), 1 if bit else w))

    for op, of in SIGNED.items():
        give(f.add(f"{op} {a}, {b} : {t}"), lambda x, y, of=of: of(signed(x, w), signed(y, w)))
    for op, of in UNSIGNED.items():
        give(f.add(f"{op} {a}, {b} : {t}"), lambda x, y, of=of: of(unsigned(x, w), unsigned(y, w)))
    for op in ("arith.shli", "arith.shrsi", "arith.shrui"):
        give(f.add(f"{op} {a}, {b} : {t}"), lambda x, y, op=op: shifted(op, x, y, w))
    for op, of in UNARY.items():
        if w > 1 or op != "math.absi":
            give(f.add(f"{op} {a} : {t}"), lambda x, y, of=of: of(x, w))
    for name, of in COMPARE.items():
        give(f.add(f"arith.cmpi {name}, {a}, {b} : {t}"), lambda x, y, of=of: of(signed(x, w), signed(y, w)), bit=True)
        if name[0] == "s":
            give(f.add(f"arith.cmpi u{name[1:]}, {a}, {b} : {t}"), lambda x, y, of=of: of(unsigned(x, w), unsigned(y, w)), bit=True)
    for op, of in (("mulsi", signed), ("mului", unsigned)):
        f.lines.append(f"  %{op}:2 = arith.{op}_extended {a}, {b} : {t}")
        give(f"%{op}#0", lambda x, y, of=of: of(x, w) * of(y, w))
        give(f"%{op}#1", lambda x, y, of=of: of(x, w) * of(y, w) >> w)
    f.lines.append(f"  %sum:2 = arith.addui_extended {a}, {b} : {t}, i1")
    give("%sum#0", lambda x, y: x + y)
    give("%sum#1", lambda x, y: unsigned(x, w) + unsigned(y, w) >> w, bit=True)
    if w < 64:
        f.give(f.add(f"arith.extui {a} : {t} to i64"), "i64", lambda x, y: unsigned(x, w))
        f.give(f.add(f"arith.index_cast {f.add(f'arith.index_cast {a} : {t} to index')} : index to i64"), "i64",
               lambda x, y: signed(x, w))
        f.give(f.add(f"arith.index_cast {f.add(f'arith.index_castui {a} : {t} to index')} : index to i64"), "i64",
               lambda x, y: unsigned(x, w))
    for float_type in FLOATS:
        f.give(f.add(f"arith.sitofp {a} : {t} to {float_type}"), float_type, lambda x, y, u=float_type: rounded(signed(x, w), u))
        f.give(f.add(f"arith.uitofp {a} : {t} to {float_type}"), float_type, lambda x, y, u=float_type: rounded(unsigned(x, w), u))
    return f


# ---------------------------------------------------------------------------
# Floats: exactly, as fractions, and rounded once
# ---------------------------------------------------------------------------

# Bits of the significand, the least and the largest exponent of a normal number.
FLOATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
NUMPY = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
         "f64": np.dtype(np.float64)}


def rounded(x, t, negative_zero=False):
    """A fraction or an integer as the nearest number of the type, ties to even: a Python float."""
    bits, least, most = FLOATS[t]
    x = Fraction(x)
    if x == 0:
        return -0.0 if negative_zero else 0.0
    magnitude = abs(x)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - bits + 1)
    whole = round(magnitude / unit) * unit  # of a Fraction: to even
    if whole >= Fraction(2) ** (most + 1):
        return math.inf if x > 0 else -math.inf
    return float(whole) if x > 0 else -float(whole)


def exact(op):
    """Rounded once; where that is no number, as numpy has it in f64."""

    def of(t, *numbers):
        wide = None
        if all(map(math.isfinite, numbers)) and not (op == "divf" and numbers[1] == 0):
            a, b, c = (list(map(Fraction, numbers)) + [0, 0])[:3]
            x = {"addf": lambda: a + b, "subf": lambda: a - b, "mulf": lambda: a * b, "divf": lambda: a / b,
                 "fma": lambda: a * b + c}[op]()
            if x != 0:
                return rounded(x, t)
        with np.errstate(all="ignore"):
            a, b, c = (list(map(np.float64, numbers)) + [0, 0])[:3]
            # Only the sign of a zero, infinities and NaN are left.
            if op == "fma":
                product = math.copysign(0.0, a) * math.copysign(1.0, b) if 0 in (a, b) and np.isfinite(a * b) else a * b
                if np.isfinite(product) and np.isfinite(c):
                    if a != 0 and b != 0:  # an exact sum of 0
                        return 0.0 if c != 0 else math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b)) + 0.0 * c
                    return product + c
                return math.inf * np.sign(c) if np.isinf(c) and np.isfinite(a) and np.isfinite(b) else product + c
            wide = {"addf": lambda: a + b, "subf": lambda: a - b, "mulf": lambda: a * b, "divf": lambda: a / b}[op]()
        return float(wide)

    return of


def root(t, x):
    if not math.isfinite(x) or x <= 0:
        return x if x == 0 or x == math.inf else math.nan
    # Of 200 bits more than there are, with what is left below them.
    x = Fraction(x)
    scale = 4 ** 700
    whole = math.isqrt(x.numerator * scale // x.denominator)
    near = Fraction(whole, 2 ** 700)
    return rounded(near if near * near == x else near + Fraction(1, 2 ** 702), t)


def to_whole(of):
    return lambda t, x: x if not math.isfinite(x) or x == 0 else math.copysign(abs(float(of(Fraction(x)))), x)


def half_away(x):
    return (1 if x > 0 else -1) * math.floor(abs(x) + Fraction(1, 2))


def extreme(sign, of_numbers):
    def of(t, a, b):
        if math.isnan(a) or math.isnan(b):
            return (b if math.isnan(a) else a) if of_numbers else math.nan
        key = lambda x: (sign * x, sign * math.copysign(1, x))
        return max(a, b, key=key)
    return of


def remainder(t, a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


BINARY = {"arith.addf": exact("addf"), "arith.subf": exact("subf"), "arith.mulf": exact("mulf"), "arith.divf": exact("divf"),
          "arith.remf": remainder, "arith.minimumf": extreme(-1, False), "arith.maximumf": extreme(1, False),
          "arith.minnumf": extreme(-1, True), "arith.maxnumf": extreme(1, True),
          "math.copysign": lambda t, a, b: math.nan if math.isnan(a) else math.copysign(a, 1.0 if math.isnan(b) else b)}
UNARY_FLOAT = {"arith.negf": lambda t, x: -x, "math.absf": lambda t, x: abs(x), "math.sqrt": root,
               "math.floor": to_whole(math.floor), "math.ceil": to_whole(math.ceil), "math.trunc": to_whole(math.trunc),
               "math.round": to_whole(half_away), "math.roundeven": to_whole(round)}
CLASSES = {"math.isfinite": lambda t, x: math.isfinite(x), "math.isinf": lambda t, x: math.isinf(x),
           "math.isnan": lambda t, x: math.isnan(x),
           "math.isnormal": lambda t, x: math.isfinite(x) and abs(x) >= 2.0 ** FLOATS[t][1]}
ORDERED = {"oeq": lambda a, b: a == b, "ogt": lambda a, b: a > b, "oge": lambda a, b: a >= b, "olt": lambda a, b: a < b,
           "ole": lambda a, b: a <= b, "one": lambda a, b: a < b or a > b}


def to_integer(x, w, is_signed):
    low, high = (-(1 << w - 1), (1 << w - 1) - 1) if is_signed else (0, (1 << w) - 1)
    if math.isnan(x):
        return 0
    return signed(high if x == math.inf else low if x == -math.inf else min(max(math.trunc(x), low), high), w)


def floats(t):
    f = Function(t, [t, t, t])

    def bit(value, reference):
        f.give(f.add(f"arith.extui {value} : i1 to i8"), "i8", lambda *x: int(reference(*x)))

    for op, of in BINARY.items():
        f.give(f.add(f"{op} %a0, %a1 : {t}"), t, lambda a, b, c, of=of: of(t, a, b))
    f.give(f.add(f"math.fma %a0, %a1, %a2 : {t}"), t, lambda a, b, c: exact("fma")(t, a, b, c))
    for op, of in UNARY_FLOAT.items():
        f.give(f.add(f"{op} %a0 : {t}"), t, lambda a, b, c, of=of: of(t, a))
    for op, of in CLASSES.items():
        bit(f.add(f"{op} %a0 : {t}"), lambda a, b, c, of=of: of(t, a))
    for name, of in ORDERED.items():
        bit(f.add(f"arith.cmpf {name}, %a0, %a1 : {t}"), lambda a, b, c, of=of: of(a, b))
        bit(f.add(f"arith.cmpf u{'ne' if name == 'one' else name[1:]}, %a0, %a1 : {t}"),
            lambda a, b, c, of=of: math.isnan(a) or math.isnan(b) or of(a, b))
    for name, of in (("ord", False), ("uno", True)):
        bit(f.add(f"arith.cmpf {name}, %a0, %a1 : {t}"), lambda a, b, c, of=of: (math.isnan(a) or math.isnan(b)) == of)
    for w in (8, 16, 32, 64):
        for op, is_signed in (("fptosi", True), ("fptoui", False)):
            f.give(f.add(f"arith.{op} %a0 : {t} to i{w}"), f"i{w}", lambda a, b, c, w=w, s=is_signed: to_integer(a, w, s))
    width = 8 * BYTES[t]
    f.give(f.add(f"arith.bitcast %a0 : {t} to i{width}"), f"i{width}",
           lambda a, b, c: signed((1 << width - 1) - 1, width) if math.isnan(a) else signed(encode(a, t), width))
    f.give(f.add(f"arith.bitcast {f.add(f'arith.bitcast %a0 : {t} to i{width}')} : i{width} to {t}"), t, lambda a, b, c: a)
    for other in FLOATS:
        op = "extf" if BYTES[other] > BYTES[t] else "truncf" if BYTES[other] < BYTES[t] else None
        if op:
            f.give(f.add(f"arith.{op} %a0 : {t} to {other}"), other,
                   lambda a, b, c, u=other: rounded(a, u, math.copysign(1, a) < 0) if math.isfinite(a) else a)
    f.give(f.add(f"arith.select {f.add(f'arith.cmpf olt, %a0, %a1 : {t}')}, %a0, %a1 : {t}"), t,
           lambda a, b, c: a if a < b else b)
    return f


def encode(x, t):
    x = rounded(x, t, math.copysign(1, x) < 0) if math.isfinite(x) else x
    return int(np.array(x, NUMPY[t]).view(f"u{BYTES[t]}"))


def decode(bits, t):
    return float(np.array(bits, f"u{BYTES[t]}").view(NUMPY[t]).astype(np.float64))


def edges(t):
    """Bits of numbers where something begins or ends, and of others."""
    width, (bits, _, _) = 8 * BYTES[t], FLOATS[t]
    top = (1 << width - 1) - (1 << bits - 1)  # infinity
    one = encode(1.0, t)
    half = {encode(x, t) for x in (0.5, 1.5, 2.5, 3.0, 127.5, 128.0, 255.5, 32767.5, 65504.0)}
    limits = {encode(x, t) for x in (2.0 ** 31, 2.0 ** 63, 2.0 ** 64, 2.0 ** 24 + 1) if math.isfinite(decode(encode(x, t), t))}
    positive = {0, 1, 2, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits - 1) + 1, top - 1, top, top + (1 << bits - 2), one, one - 1,
                one + 1} | half | limits
    positive |= set(map(int, random.integers(0, top, 10)))
    return sorted(positive | {x | 1 << width - 1 for x in positive})


def same(found, expected, t):
    if t[0] == "i":
        return int(found) == expected
    found = decode(int(found.view(f"u{BYTES[t]}")), t)
    return math.isnan(found) and math.isnan(expected) or found == expected and math.copysign(1, found) == math.copysign(1, expected)


WIDTHS = (1, 4, 8, 12, 16, 32, 33, 64)
functions = [integers(w) for w in WIDTHS] + [floats(t) for t in FLOATS]
source = os.path.join(directory, "numbers.mlir")
with open(source, "w") as file:
    file.writelines(f.text() for f in functions)
compiled = os.path.join(directory, "out")
subprocess.run([mx_compile, source, "-o", compiled, "--ptxas=none"], check=True)
mx.set_device("sim")
program = mx.Program(compiled)

wrong = checked = 0


def check(f, arguments, numbers, shown):
    global wrong, checked
    results = program[f.name](*arguments)
    for (value, t), reference, found in zip(f.results, f.references, results):
        expected = reference(*numbers)
        checked += 1
        if not same(np.asarray(found), expected, t):
            wrong += 1
            if wrong < 20:
                line = next(x for x in f.lines if x.strip().startswith(value.split("#")[0]))
                print(f"@{f.name}{shown}:{line}: expected {expected}, found {found}")


for w, f in zip(WIDTHS, functions):
    numbers = {0, 1, 2, 3, (1 << w) - 1, 1 << (w - 1), (1 << (w - 1)) - 1, w, w - 1, w + 1}
    numbers |= {int(x) >> int(s) for x, s in zip(random.integers(0, 2**64, 6, dtype=np.uint64), random.integers(0, 64, 6))}
    numbers = sorted({signed(x, w) for x in numbers})
    for a, b in itertools.product(numbers, numbers):
        check(f, (np.int64(a), np.int64(b)), (a, b), (a, b))
for t, f in zip(FLOATS, functions[len(WIDTHS):]):
    bits = edges(t)
    for a in bits:
        for b in random.choice(bits, 14, replace=False):
            c = random.choice(bits)
            if random.random() < 0.5:  # so that a sum nearly cancels
                with np.errstate(all="ignore"):
                    c = encode(-decode(a, t) * decode(b, t), t)
            if random.random() < 0.3:
                b = a ^ 1 << 8 * BYTES[t] - 1
            given = (int(a), int(b), int(c))
            dtype = f"u{BYTES[t]}" if t == "bf16" else f"f{BYTES[t]}"
            arguments = [np.array(x, f"u{BYTES[t]}").view(dtype)[()] for x in given]
            check(f, arguments, [decode(x, t) for x in given], tuple(map(hex, given)))
print(f"{checked} numbers, {wrong} wrong")
sys.exit(wrong != 0 or checked < 100000)
