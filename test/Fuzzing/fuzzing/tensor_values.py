"""Reference values, in float64 and with error bounds, for random graphs of tensor operations.

Each value is computed without rounding (floats in float64, integers as in the program), together with a bound on the
program's rounding error. A difference above the bound is a wrong number."""

import dataclasses
import functools
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "test" / "python"))
from math_bounds import read_bounds

# NumPy dtype, unit roundoff, least normal number
FLOATS = {"f32": (np.float32, 2.0**-24, 2.0**-126), "bf16": (ml_dtypes.bfloat16, 2.0**-8, 2.0**-126),
          "f16": (np.float16, 2.0**-11, 2.0**-14), "f64": (np.float64, 2.0**-53, 2.0**-1022)}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}
LARGEST = {"f32": 1e30, "bf16": 1e30, "f16": 6e4, "f64": 1e200}


@dataclasses.dataclass
class Number:
    """Array of numbers of one type, with an error bound for each number."""

    dtype: str
    exact: np.ndarray
    error: np.ndarray

    @staticmethod
    def of(dtype, exact, error=0.0):
        return Number(dtype, exact, np.broadcast_to(np.asarray(error, np.float64), exact.shape))

    @property
    def shape(self):
        return self.exact.shape

    def map(self, function):
        """Applies `function`, which moves or selects elements, to the numbers and to their errors."""
        return Number(self.dtype, function(self.exact), function(self.error))

    def is_tame(self):
        """Tests whether all values are far from overflow and precise enough for a comparison."""
        if self.dtype not in FLOATS:
            return True
        sizes = np.abs(self.exact)
        return bool(np.all(np.isfinite(self.exact)) and np.all(sizes + self.error < LARGEST[self.dtype] / 64)
                    and np.all(self.error <= 0.05 * (1 + sizes)))

    def disagreement(self, found):
        """Returns the first element in `found` with an error above its bound."""
        if self.dtype not in FLOATS:
            wrong = found != self.exact
            if np.any(self.error):  # rounding may change the comparison
                wrong &= self.error == 0
        else:
            if self.dtype == "bf16":
                found = found.view(ml_dtypes.bfloat16)
            with np.errstate(invalid="ignore"):
                wrong = ~(np.abs(found.astype(np.float64) - self.exact) <= self.error)
        places = np.argwhere(wrong)
        return tuple(int(i) for i in places[0]) if len(places) else None


def rounded(dtype, exact, error, steps=1):
    """Returns a number with an error bound that includes `steps` roundings of numbers as large as `exact`."""
    _, unit, least = FLOATS[dtype]
    return Number(dtype, exact, error + steps * (unit * (np.abs(exact) + error) + unit * least))


def add(a, b, sign=1):
    return rounded(a.dtype, a.exact + sign * b.exact, a.error + b.error)


def multiply(a, b):
    error = np.abs(a.exact) * b.error + np.abs(b.exact) * a.error + a.error * b.error
    return rounded(a.dtype, a.exact * b.exact, error)


def divide(a, b):
    """Divides if the divisor is far enough from 0."""
    least = np.maximum(np.abs(b.exact) - b.error, 1e-300)
    error = (a.error + np.abs(a.exact) / np.abs(b.exact) * b.error) / least
    return rounded(a.dtype, a.exact / b.exact, error)


def extreme(a, b, function):
    return Number(a.dtype, function(a.exact, b.exact), np.maximum(a.error, b.error))


@functools.lru_cache(None)
def roundings_of(function, dtype):
    """Returns the error of a math function in roundings. A unit in the last place equals two roundings."""
    return 2 * read_bounds(dtype)[function]


def lipschitz(a, function, slope, steps):
    """Applies a function. `slope` bounds its derivative: a number, or a function of the smallest and largest value."""
    with np.errstate(all="ignore"):
        return rounded(a.dtype, function(a.exact), a.error * slope(a.exact, a.error) if callable(slope)
                       else a.error * slope, steps)


def exponential(a):
    return lipschitz(a, np.exp, lambda x, e: np.exp(np.minimum(x + e, 700)), roundings_of("exp", a.dtype))


def hyperbolic_tangent(a):
    return lipschitz(a, np.tanh, 1.0, roundings_of("tanh", a.dtype))


def less(a, b):
    """Compares two operands. The error of an element is 1 if rounding may change the result."""
    unsure = np.abs(a.exact - b.exact) <= a.error + b.error if a.dtype in FLOATS else (a.error + b.error) > 0
    equal = (a.error + b.error) == 0
    return Number("i1", a.exact < b.exact, np.where(unsure & ~equal, 1.0, 0.0))


def select(condition, a, b):
    if a.dtype not in FLOATS:
        error = np.maximum(condition.error * (a.exact != b.exact), np.maximum(a.error, b.error))
    else:
        error = np.where(condition.error > 0, np.abs(a.exact - b.exact), 0.0) + np.maximum(a.error, b.error)
    return Number(a.dtype, np.where(condition.exact, a.exact, b.exact), error)


def convert(a, dtype):
    if dtype in FLOATS:
        exact = a.exact.astype(np.float64)
        error = np.asarray(a.error, np.float64)
        if a.dtype not in FLOATS and np.any(error):
            error = np.where(error > 0, 1e300, 0.0)
        return rounded(dtype, exact, error)
    return Number(dtype, a.exact.astype(INTEGERS[dtype]), a.error)


def total(a, axes):
    """Adds numbers. The bound is valid for any order."""
    count = int(np.prod([a.shape[axis] for axis in axes]))
    _, unit, least = FLOATS[a.dtype]
    size = np.sum(np.abs(a.exact) + a.error, axis=axes)
    return Number(a.dtype, np.sum(a.exact, axis=axes),
                  np.sum(a.error, axis=axes) + (count + 1) * (unit * size * 1.1 + unit * least))


def product(a, axes):
    out = None
    moved = np.moveaxis(a.exact, axes, range(len(axes))), np.moveaxis(a.error, axes, range(len(axes)))
    shape = moved[0].shape[len(axes):]
    flat = [part.reshape((-1,) + shape) for part in moved]
    out = Number.of(a.dtype, np.ones(shape))
    for exact, error in zip(*flat):
        out = multiply(out, Number(a.dtype, exact, error))
    return out


def contract(a, b):
    """Multiplies two matrices or batches. The sums are f32 or f64 regardless of the operands' type."""
    dtype = "f64" if a.dtype == "f64" else "f32"
    exact = a.exact @ b.exact
    size = (np.abs(a.exact) + a.error) @ (np.abs(b.exact) + b.error)
    error = np.abs(a.exact) @ b.error + a.error @ np.abs(b.exact) + a.error @ b.error
    _, unit, least = FLOATS[dtype]
    return Number(dtype, exact, error + (a.shape[-1] + 2) * (unit * size * 1.1 + unit * least))
