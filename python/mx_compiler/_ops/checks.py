# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Argument checks of the functions. An error names the argument, the expected value and the found
value. Properties that the compiled programs check are not checked here."""

import operator

import numpy as np

from .._arrays.elements import find_element
from .._arrays.interop import find_library
from .formats import find_format
from .quantized import elements_shape, scales_shape

# Element types of unquantized matrices: inputs and results.
MATRICES = ("f32", "bf16", "f16")
_AXES = {-1: (-1,), -2: (-2,), (-1,): (-1,), (-2,): (-2,),
         (-1, -2): (-1, -2), (-2, -1): (-2, -1)}


def one_of(name, value, known):
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(map(str, known))}, found {value!r}")


def axes(axis):
    try:
        given = (tuple(map(operator.index, axis)) if isinstance(axis, (tuple, list))
                 else operator.index(axis))
        return _AXES[given]
    except (KeyError, TypeError):
        raise ValueError(f"axis: expected -1, -2 or (-1, -2), found {axis!r}") from None


def element(name, dtype, known):
    try:
        found = find_element(dtype)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    if found.mlir not in known:
        raise TypeError(f"{name}: expected one of {', '.join(known)}, found {found.mlir}")
    return found


def operand(name, x):
    """Returns the element type and shape of an array of any supported library. Raises TypeError."""
    found = find_library(type(x))
    if found is None:
        raise TypeError(f"{name}: expected an array of NumPy, PyTorch or CuPy or a "
                        f"mx_compiler.DeviceArray, found {type(x).__name__}: convert other "
                        "arrays with mx_compiler.from_dlpack")
    try:
        given = found.operand(x)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    return given.element, tuple(given.shape)


def matrix(name, x, known, advice=""):
    """Returns the element type and shape of an array. The array must have at least 2 dimensions and an
    element type in `known`. The message about another type ends with `advice`."""
    found, shape = operand(name, x)
    if found.mlir not in known:
        raise TypeError(f"{name}: expected an array of {', '.join(known)}, found "
                        f"{found.mlir}{advice}")
    if len(shape) < 2:
        raise ValueError(f"{name}: expected 2 dimensions or more, found shape {shape}")
    return found, shape


def vector(name, x):
    """Returns the length of an index array of i32 or i64, or None if `x` is None."""
    if x is None:
        return None
    found, shape = operand(name, x)
    if found.mlir not in ("i32", "i64"):
        raise TypeError(f"{name}: expected an array of i32 or i64, found {found.mlir}")
    is_ends = name in ("offsets", "offs")
    if len(shape) != 1 or (is_ends and not shape[0]):
        raise ValueError(f"{name}: expected 1 dimension"
                         f"{' of at least one expert group' * is_ends}, found shape {shape}")
    return shape[0]


def index_type(name, x):
    return None if x is None else operand(name, x)[0].mlir


def multiple(name, what, number, block):
    if number % block:
        raise ValueError(f"{name}: expected a multiple of {block} {what}, a whole "
                         f"number of blocks, found {number}; pad to {-(-number // block) * block}")


def both_or_none(name, value, other, why):
    if (value is None) != (other is None):
        wanted = f"an array, because {why}" if other else f"None, unless {why}"
        raise ValueError(f"{name}: expected {wanted}, found "
                         f"{'None' if value is None else 'an array'}")


def is_number(x):
    return isinstance(x, (int, float, np.floating, np.integer))


def scalar(name, x):
    """Returns an f32 factor without dimensions. A number becomes a NumPy array. Raises TypeError."""
    if is_number(x):
        return np.asarray(x, np.float32)
    found, shape = operand(name, x)
    if found.mlir != "f32" or shape != ():
        raise TypeError(f"{name}: expected a number, or an array of f32 without "
                        f"dimensions, found {found.mlir} of shape {shape}")
    return x


def size(name, number, block):
    """Checks a static size. It must be a positive multiple of `block`."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"{name}: expected a number of at least 1, found {type(number).__name__}")
    if number < 1 or number % block:
        wanted = f"a multiple of {block}, " * (block > 1)
        raise ValueError(f"{name}: expected {wanted}at least {block}, found {number}")


def training_format(name, format):
    """Returns the Format with the name `format`. The matmuls of training must support it."""
    found = find_format(format, name)
    if found.block != 32 or not found.has_matmul:
        raise ValueError(f"{name}: expected a format with blocks of 32 that supports matmuls, "
                         f"found {found.name}")
    return found


def matmul_format(name, format):
    """Returns the Format with the name `format`. Matmuls with bf16 must support it."""
    found = find_format(format, name)
    if not found.has_matmul:
        raise ValueError(f"{name}: expected a format that supports matmuls, found {found.name}")
    return found


def quantized(name, q):
    """Checks that the arrays of a Quantized match the size of its matrix, because programs compare
    only numbers of tiles."""
    if q.packed and q.groups:
        raise ValueError(f"{name}: expected packed weights without expert groups, found {q!r}")
    for what, x, shape in (
            ("elements", q.elements, elements_shape(q.shape, q.format, q.packed)),
            ("scales", q.scales,
             scales_shape(q.shape, q.format, q.layout, q.ragged, q.groups))):
        found = operand(f"{name}.{what}", x)[1]
        if found != tuple(shape):
            raise ValueError(f"{name}.{what}: expected shape {tuple(shape)} for {q!r}, "
                             f"found {found}")
