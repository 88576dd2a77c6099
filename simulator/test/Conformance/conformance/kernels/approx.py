"""Approximate functions. Their result bits depend on the chip, so the tests compare
results with the double-precision value, within the error bound of the PTX ISA
("Floating Point Instructions")."""

import math
import struct

from ..base import Group, name_of, pack, random_words, unpack

NAN, INF = float("nan"), float("inf")


def decode(code):
    return struct.unpack("<f", struct.pack("<I", code))[0]


def inputs(seed):
    words = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x40000000]
    words += [0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001, 0x42FC0000, 0x42FE0000]
    words += [0x42FFFFFF, 0x43000000, 0x43150000, 0x43160000, 0x7E800000, 0x7F000000]
    words += [0x40490FDB, 0x3FC90FDB, 0x3F490FDB, 0x40C90FDB]
    words = words + [w | 0x80000000 for w in words]
    words += [(e << 23) + d for e in range(256) for d in (0, 1, 0x400000, 0x7FFFFF)]
    words += random_words("approx" + seed, 4, 1000)
    # The functions are most interesting between 2^-12 and 2^7.
    words += [
        w & 0x80FFFFFF | (115 + (w >> 24 & 15) + (w >> 28 & 3)) << 23
        for w in random_words("approx middle" + seed, 4, 1500)
    ]
    return words


def ulp(value):
    """Returns the distance between adjacent f32 values at `value`."""
    return 2.0 ** (max(math.frexp(abs(value))[1], -125) - 24)


def check_value(got, want, tolerance, flush):
    """Returns whether `got` is within `tolerance` of `want`. With `flush`, a subnormal
    result may be flushed to zero."""
    if math.isnan(want):
        return math.isnan(got)
    if abs(want) >= 3.4028235677973366e38:  # rounds to infinity
        limit = abs(want) - tolerance
        if abs(got) == INF or (limit < 3.4028235677973366e38 and abs(got) >= limit):
            return (got > 0) == (want > 0)
        return False
    if math.isnan(got) or math.isinf(got):
        return not math.isnan(got) and (abs(want) + tolerance) >= 3.4028235677973366e38
    if flush and abs(want) < 2.0**-126 + tolerance and got == 0:
        return True
    if want == 0 and got == 0 and tolerance == 0:
        return math.copysign(1, got) == math.copysign(1, want)
    return abs(got - want) <= tolerance


def flushed(x):
    return math.copysign(0.0, x) if abs(x) < 2.0**-126 else x


def limited(f, at_pole=INF):
    def g(*x):
        try:
            return f(*x)
        except OverflowError:
            return INF
        except ZeroDivisionError:
            return math.copysign(at_pole, x[-1])
        except ValueError:
            return NAN

    return g


def divide(a, b):
    if b == 0:
        if a == 0 or math.isnan(a):
            return NAN
        return math.copysign(INF, math.copysign(1, a) * math.copysign(1, b))
    return a / b


def lg2(x):
    return -INF if x == 0 else math.log2(x) if x > 0 else NAN


def rsqrt(x):
    return math.copysign(INF, x) if x == 0 else 1 / math.sqrt(x)


def bound_of(function, tolerance, ftz=False, skip=lambda *x: False, narrow=None):
    """Returns a function that checks all results. `tolerance` maps the operands and the
    exact value to the allowed absolute error. `skip` selects operands without a bound."""
    function = limited(function)

    def check(buffers, data):
        keys = sorted(k for k in buffers if k.startswith("in"))
        columns = [unpack(4, buffers[k]["data"]) for k in keys]
        lines = []
        for i, row in enumerate(zip(*columns, unpack(4, data))):
            xs, got = [decode(c) for c in row[:-1]], decode(row[-1])
            if ftz:
                xs = [flushed(x) for x in xs]
            if skip(*xs):
                continue
            want = function(*xs)
            finite = math.isfinite(want) and want != 0
            error = tolerance(xs, want) if finite or want == 0 else 0
            if not check_value(got, want, error, ftz):
                lines.append(f"[{i}]: {got!r} for {xs}, expected {want!r} +- {error:g}")
        return lines

    return check


def relative(exponent):
    return lambda xs, want: abs(want) * 2.0**exponent


def ulps(count):
    return lambda xs, want: count * ulp(want)


def halves(function, form, relative_error, absolute_error=0.0):
    """Returns a check for ex2 and tanh of 16-bit types, scalar or packed in pairs."""

    def decode16(code):
        if form == "bf16":
            return decode(code << 16)
        return struct.unpack("<e", struct.pack("<H", code))[0]

    def check(buffers, data):
        lines = []
        size = 2
        for i, (x, y) in enumerate(
            zip(unpack(size, buffers["in0"]["data"]), unpack(size, data))
        ):
            x, got = decode16(x), decode16(y)
            want = limited(function)(x)
            largest = 65504.0 if form == "f16" else 3.3895313892515355e38
            tolerance = absolute_error + relative_error * (
                abs(want) if math.isfinite(want) else 0
            )
            # Also allow an error of the smallest subnormal number.
            smallest = 2.0**-24 if form == "f16" else 2.0**-133
            tolerance += smallest
            if math.isnan(want):
                good = math.isnan(got)
            elif math.isinf(got):
                good = want + tolerance >= largest
            elif math.isinf(want):
                good = False
            elif form == "bf16" and got == 0 and abs(want) < 2.0**-126:
                good = True  # ex2.approx.ftz.bf16 flushes
            else:
                good = abs(got - want) <= tolerance
            if not good:
                lines.append(f"[{i}]: {got!r} for {x!r}, expected {want!r}")
        return lines

    return check


def table():
    """Returns rows (instruction, function, tolerance, predicate for operands without a bound)."""

    def wide(x):  # no bound beyond 100 pi
        return 100 * math.pi < abs(x) < INF

    def sine_error(xs, want):
        turns = abs(xs[0]) / math.pi
        return 2.0 ** (-20.5 if turns <= 1 else -20 if turns <= 2 else -14.7)

    rows = []
    for ftz in ("", ".ftz"):
        rows += [
            (f"ex2.approx{ftz}.f32", lambda x: 2.0**x, ulps(2), None),
            # The bound of 2^-22 is absolute in [0.5, 2] and relative elsewhere.
            (
                f"lg2.approx{ftz}.f32",
                lg2,
                lambda xs, want: (
                    2.0**-22 if 0.5 <= xs[0] <= 2 else abs(want) * 2.0**-22
                ),
                None,
            ),
            (f"sin.approx{ftz}.f32", math.sin, sine_error, wide),
            (f"cos.approx{ftz}.f32", math.cos, sine_error, wide),
            (f"rcp.approx{ftz}.f32", lambda x: 1 / x, ulps(1), None),
            (f"sqrt.approx{ftz}.f32", math.sqrt, relative(-23), None),
            (f"rsqrt.approx{ftz}.f32", rsqrt, relative(-22.9), None),
        ]
    rows.append(("tanh.approx.f32", math.tanh, relative(-11), None))
    return rows


def groups():
    group = Group("approx")
    for instruction, function, tolerance, skip in table():
        bound = bound_of(
            function, tolerance, ".ftz" in instruction, skip or (lambda *x: False)
        )
        group.elementwise(
            name_of(instruction),
            f"{instruction} %d0, %a0;",
            ["b32"],
            ["b32"],
            [pack(4, inputs(instruction))],
            bound=bound,
        )
    # The bound of 2 ulp applies to div.approx if 2^-126 <= |b| <= 2^126, and
    # to div.full everywhere.
    for name in "div.approx div.full".split():
        for ftz in ("", ".ftz"):
            instruction = f"{name}{ftz}.f32"
            a, b = inputs("a" + instruction), inputs("b" + instruction)[::-1]
            near = lambda a, b: not 2.0**-126 <= abs(b) <= 2.0**126
            group.elementwise(
                name_of(instruction),
                f"{instruction} %d0, %a0, %a1;",
                ["b32"] * 2,
                ["b32"],
                [pack(4, a), pack(4, b)],
                bound=bound_of(divide, ulps(2), bool(ftz), near),
            )
    codes = pack(2, range(1 << 16))
    for t in "f16 bf16".split():
        ftz = ".ftz" if t == "bf16" else ""
        for op, f, error in (
            ("ex2", lambda x: 2.0**x, 2.0**-9.9 if t == "f16" else 2.0**-7),
            ("tanh", math.tanh, 2.0**-10.987 if t == "f16" else 2.0**-7),
        ):
            mark = ftz if op == "ex2" else ""
            instruction = f"{op}.approx{mark}.{t}"
            bound = halves(f, t, error + 2.0**-11 if t == "f16" else error + 2.0**-9)
            group.elementwise(
                name_of(instruction),
                f"{instruction} %d0, %a0;",
                ["b16"],
                ["b16"],
                [codes],
                bound=bound,
            )
            group.elementwise(
                name_of(instruction) + "x2",
                f"{instruction}x2 %d0, %a0;",
                ["b32"],
                ["b32"],
                [codes],
                bound=bound,
            )
    double = Group("approx-f64")
    words = random_words("approx64", 8, 500) + [0, 1 << 63, 0x7FF << 52, 1 << 52, 1]
    for instruction in "rcp.approx.ftz.f64 rsqrt.approx.ftz.f64".split():
        f = (lambda x: divide(1.0, x)) if "rcp" in instruction else rsqrt
        double.elementwise(
            name_of(instruction),
            f"{instruction} %d0, %a0;",
            ["b64"],
            ["b64"],
            [pack(8, words)],
            bound=high_words(f),
        )
    return [group, double]


def high_words(function):
    """Returns a check for rcp and rsqrt.approx.ftz.f64, which read only the upper 32 bits of
    the operand. The lower 32 bits of the result are zero, and the relative error is about
    2^-19."""

    def check(buffers, data):
        lines = []
        for i, (x, y) in enumerate(
            zip(unpack(8, buffers["in0"]["data"]), unpack(8, data))
        ):
            x &= 0xFFFFFFFF << 32
            if not x >> 52 & 0x7FF:
                x &= 1 << 63
            value, got = (struct.unpack("<d", struct.pack("<Q", v))[0] for v in (x, y))
            want = limited(function)(value)
            if math.isfinite(want) and abs(want) < 2.0**-1022:
                want = math.copysign(0.0, want)
            if math.isnan(want):
                good = math.isnan(got)
            elif math.isinf(want) or want == 0:
                good = got == want
            else:
                good = abs(got - want) <= abs(want) * 2.0**-18
            if not good or y & 0xFFFFFFFF:
                lines.append(f"[{i}]: {got!r} for {value!r}, expected {want!r}")
        return lines

    return check
