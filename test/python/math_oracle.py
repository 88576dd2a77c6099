"""Reference math functions with more precision than f32, and errors in units in the last place.

On x86, numpy's longdouble has a 64-bit significand. The error of glibc's longdouble functions is about one last bit, or
2^-39 units in the last place of f32. check_oracle compares it with mpmath.
"""

import math

import mpmath
import ml_dtypes
import numpy as np

LONG = np.longdouble
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
# Number of significant digits, exponent of the least subnormal number, and first exponent that overflows.
FORMATS = {"f32": (24, -149, 128), "bf16": (8, -133, 128), "f16": (11, -24, 16)}


def of_doubles(function):
    """Wraps functions of the module math. They call libm, with errors below one f64 unit in the last place."""
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
    """Returns the largest relative difference between finite results and mpmath's. mpmath has no signed zero."""
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
    """Returns the largest error in units in the last place. The error is infinite for a wrong NaN, a wrong sign,
    or a nonzero result instead of zero. If an exact value overflows, an infinity is treated as the next power of
    two."""
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
