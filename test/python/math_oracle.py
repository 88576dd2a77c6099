"""The functions of math in more digits than f32 has, errors in units of its last
place.

numpy's longdouble has 64 bits of significand on x86 and glibc computes it to about
one of its last bits: 2^-39 of an ulp of f32. check_oracle compares it with mpmath.
"""

import math

import mpmath
import ml_dtypes
import numpy as np

LONG = np.longdouble
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
# Digits, and the exponent of the least subnormal number and of the first that is infinite.
FORMATS = {"f32": (24, -149, 128), "bf16": (8, -133, 128), "f16": (11, -24, 16)}


def of_doubles(function):
    """math's are those of libm, off by less than a unit of f64's last place."""
    each = np.frompyfunc(lambda x: LONG(function(float(x))), 1, 1)
    return lambda x: each(x).astype(LONG)


def away(x):
    with np.errstate(invalid="ignore"):
        whole = np.trunc(x)
        return np.where(np.isfinite(x), np.copysign(whole + np.copysign(abs(x - whole) >= 0.5, x), x), x)


FUNCTIONS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "cos": np.cos, "cosh": np.cosh,
    "erf": of_doubles(math.erf), "erfc": of_doubles(math.erfc), "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "fpowi": np.power, "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "powf": np.power, "round": away, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin,
    "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
}
PRECISE = {
    **{name: getattr(mpmath, name) for name in FUNCTIONS if hasattr(mpmath, name)},
    "exp2": lambda x: mpmath.mpf(2) ** x, "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "powf": mpmath.power, "fpowi": mpmath.power,
}


def check_oracle(name, *operands):
    """The largest difference from mpmath, relative, over finite results. It has
    no zero with a sign."""
    mpmath.mp.prec = 300
    exact = FUNCTIONS[name](*(LONG(x) for x in operands))
    worst = 0.0
    for i in np.flatnonzero(np.isfinite(exact) & (exact != 0) & np.all([x != 0 for x in operands], 0)):
        wanted = PRECISE[name](*(mpmath.mpf(float(x[i])) for x in operands))
        high = float(exact[i])
        found = mpmath.mpf(high) + mpmath.mpf(float(exact[i] - LONG(high)))
        worst = max(worst, float(abs(found - wanted) / max(abs(wanted), mpmath.mpf(2) ** -149)))
    return worst


def measure(dtype, exact, found):
    """The largest error in units in the last place; infinity where NaN, an
    infinity of zero or a sign is wrong. Beyond the largest number an infinity
    counts as the power of two that follows."""
    digits, least, end = FORMATS[dtype]
    found = LONG(found)
    bad = (np.isnan(exact) != np.isnan(found)) | (~np.isnan(exact) & (np.signbit(exact) != np.signbit(found)))
    bad |= (exact == 0) & (found != 0)
    bad |= np.isinf(exact) & ~np.isinf(found)
    limit = LONG(2) ** end
    exact, found = np.clip(exact, -limit, limit), np.clip(found, -limit, limit)
    ulp = np.ldexp(LONG(1), np.maximum(np.frexp(exact)[1] - digits, least))
    ulp = np.minimum(ulp, np.ldexp(LONG(1), end - digits))
    with np.errstate(invalid="ignore"):
        error = np.where(np.isnan(exact), 0, abs(found - exact) / ulp)
    error[bad] = np.inf
    worst = int(np.argmax(error))
    return float(error[worst]), worst
