# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes and dequantizes matrices, and computes SwiGLU with quantization."""

from typing import Any, overload

from . import checks as check
from . import scale_tiles
from .formats import Format, find_format
from .mlir_text import Body, tensor
from .pack_weights import unpack_weights
from .quantize_text import quantize_text
from .quantized import LAYOUTS, Quantized, elements_type, scales_type
from .specialize import find_entry, find_plan

ROUNDINGS = ("ceil", "floor", "even", "fit")


@overload
def quantize(x: Any, format: str | Format = ..., *, axis: int = ..., scale_rounding: str = ...,
             layout: str = ..., global_scale: Any = ..., offsets: Any = ..., gather: Any = ...,
             stream: Any = ...) -> Quantized: ...
@overload
def quantize(x: Any, format: str | Format = ..., *, axis: tuple[int, int], scale_rounding: str = ...,
             layout: str = ..., global_scale: Any = ..., offsets: Any = ..., gather: Any = ...,
             stream: Any = ...) -> tuple[Quantized, Quantized]: ...
def quantize(x: Any, format: str | Format = "mxfp8", *, axis: int | tuple[int, int] = -1,
             scale_rounding: str = "ceil", layout: str = "sf_128x4", global_scale: Any = None,
             offsets: Any = None, gather: Any = None,
             stream: Any = None) -> Quantized | tuple[Quantized, Quantized]:
    """Quantizes a matrix or a batch of matrices in blocks along an axis.

    x         f32, bf16 or f16, [batch..., rows, columns]
    format    a name of mx.FORMATS
    axis      -1: a block contains consecutive columns of a row; -2: a block contains
              consecutive rows of a column, and the result is transposed, [columns,
              rows]; (-1, -2): both results, from one read of x. The blocked dimension
              must be a multiple of the format's block size
    scale_rounding  rounding of a block's scale, which is computed from the block's
              largest magnitude: "ceil", "floor" (OCP MX 1.0), "even" or "fit" (TOSA
              1.1); docs/reference/Spec.md. "nvfp4" supports only "ceil"
    layout    layout of the scales: "sf_128x4", the tiles read by tensor cores, or
              "linear", row by row
    global_scale  for "nvfp4": factor of the tensor, f32 without dimensions;
              default: largest magnitude / 2688, computed on the device
    offsets   i32 or i64, [groups]: the rows of expert group g end at offsets[g].
              Each group uses its own scale tiles. With axis -2, the groups divide the
              last dimension ("reduction", docs/reference/Spec.md)
    gather    i32 or i64, [rows]: row i is x[gather[i]], or zeros if gather[i] is -1
              (docs/guide/Python.md describes other values of offsets and gather)
    stream    as for an entry

    Returns a Quantized, or a pair of them for both axes. Raises TypeError or ValueError before any
    launch. The error names the argument."""
    return _quantize(x, None, format, axis, scale_rounding, layout, global_scale,
                     offsets, gather, stream, is_swiglu=False)


@overload
def swiglu_quantize(gate_up: Any, format: str | Format = ..., *, probs: Any = ..., axis: int = ...,
                    scale_rounding: str = ..., layout: str = ..., global_scale: Any = ...,
                    offsets: Any = ..., stream: Any = ...) -> Quantized: ...
@overload
def swiglu_quantize(gate_up: Any, format: str | Format = ..., *, probs: Any = ..., axis: tuple[int, int],
                    scale_rounding: str = ..., layout: str = ..., global_scale: Any = ...,
                    offsets: Any = ..., stream: Any = ...) -> tuple[Quantized, Quantized]: ...
def swiglu_quantize(gate_up: Any, format: str | Format = "mxfp8", *, probs: Any = None,
                    axis: int | tuple[int, int] = -1, scale_rounding: str = "ceil",
                    layout: str = "sf_128x4", global_scale: Any = None, offsets: Any = None,
                    stream: Any = None) -> Quantized | tuple[Quantized, Quantized]:
    """Quantizes silu(gate) * up * probs without storing the unquantized values.

    gate_up   f32, bf16 or f16, [rows, 2 * columns]: gate, then up
    probs     f32, [rows]: a factor for each row; default 1

    The values are computed in f32, rounded once to the type of gate_up, and quantized like the
    input of `quantize`, which describes the other arguments."""
    return _quantize(gate_up, probs, format, axis, scale_rounding, layout,
                     global_scale, offsets, None, stream, is_swiglu=True)


def dequantize(q: Quantized, dtype: Any = "bfloat16", *, offsets: Any = None, stream: Any = None) -> Any:
    """Dequantizes a matrix. Each element is multiplied by its scale and rounded once to `dtype`
    (f32, bf16 or f16).

    offsets   for a Quantized with expert groups of rows: the offsets passed to
              `quantize`. For a "reduction", offsets must be None. Its result includes
              the padding: each group starts at a multiple of 128 columns, and zeros
              follow the group

    Returns an array of q.shape, which is [columns, rows] after quantization along axis -2. Raises
    TypeError or ValueError. The error names the argument."""
    if not isinstance(q, Quantized):
        raise TypeError(f"q: expected an mx_compiler.Quantized, found {type(q).__name__}")
    if q.packed:
        q = unpack_weights(q, stream=stream)
    arrays = [x for x in (q.elements, q.scales, q.global_scale, offsets)
              if x is not None]
    entry, signature = find_plan(_plan_dequantize, (q.about, offsets is None, dtype),
                                 arrays, (q, offsets, dtype))
    return entry.call(arrays, signature, stream)[0]


def _plan_dequantize(q, offsets, dtype):
    check.quantized("q", q)
    to = check.element("dtype", dtype, check.MATRICES)
    check.both_or_none("offsets", offsets, q.groups if q.ragged == "rows" else None,
                       "q has expert groups of rows")
    return find_entry(_dequantize_text, _read(q), to.mlir,
                      check.index_type("offsets", offsets))


def _quantize(x, probs, format, axis, rounding, layout, global_scale, offsets,
              gather, stream, is_swiglu):
    factor = global_scale
    if check.is_number(factor):
        if not 0 < factor < float("inf"):
            raise ValueError(f"global_scale: expected a finite number above 0, found {factor!r}")
        # Kernels also compute the reciprocal in f32. It must be finite.
        if not 2.0**-127 <= factor <= 2.0**127:
            raise ValueError("global_scale: expected a number from 2^-127 to 2^127, found "
                             f"{factor!r}")
        factor = check.scalar("global_scale", factor)
    given = x, probs, gather, offsets, factor
    options = format, axis, rounding, layout, is_swiglu
    arrays = [array for array in given if array is not None]
    about = (*options, probs is None, gather is None, offsets is None, factor is None)
    plan, signature = find_plan(_Plan, about, arrays, (*given, *options))
    return plan.wrap(plan.entry.call(arrays, signature, stream,
                                     plan.padded), factor)


class _Plan:
    """Checked arguments and entry for the quantization of arrays of these types and shapes."""

    def __init__(self, x, probs, gather, offsets, global_scale, format, axis,
                 rounding, layout, is_swiglu):
        name = "gate_up" if is_swiglu else "x"
        self.format = format = find_format(format)
        self.axes = axes = check.axes(axis)
        self.layout = layout
        check.one_of("scale_rounding", rounding, ROUNDINGS)
        check.one_of("layout", layout, LAYOUTS)
        if format.has_global_scale and rounding != "ceil":
            raise ValueError("scale_rounding: expected ceil with nvfp4, whose scales "
                             f"are not powers of two, found {rounding!r}")
        element, shape = check.matrix(name, x, check.MATRICES)
        self.is_ragged = offsets is not None
        if (self.is_ragged or gather is not None or is_swiglu) and len(shape) != 2:
            raise ValueError(f"{name}: expected 2 dimensions with expert groups, gathered "
                             f"rows or SwiGLU, found shape {shape}")
        if is_swiglu and shape[-1] % 2:
            raise ValueError(f"{name}: expected gate and up side by side, an even "
                             f"number of columns, found shape {shape}")
        if global_scale is not None and not format.has_global_scale:
            raise ValueError("global_scale: expected None, because only nvfp4 has a global "
                             f"scale, found a global scale for {format.name}")
        self.groups = check.vector("offsets", offsets)
        self.batch = shape[:-2]
        self.rows = rows = (check.vector("gather", gather) if gather is not None
                            else shape[-2])
        self.columns = shape[-1] // 2 if is_swiglu else shape[-1]
        if -1 in axes:
            check.multiple(name, "columns", self.columns, format.block)
        if -2 in axes and not self.is_ragged:
            check.multiple(name, "rows", rows, format.block)
        if not self.columns and (is_swiglu or format.has_global_scale):
            raise ValueError(f"{name}: expected at least {format.block} columns"
                             f"{' of gate and of up' * is_swiglu}, found shape {shape}")
        if probs is not None:
            found, given = check.operand("probs", probs)
            if found.mlir != "f32" or given != (rows,):
                raise ValueError(f"probs: expected f32 of shape {(rows,)}, one for each "
                                 f"row of {name}, found {found.mlir} of shape {given}")
        if global_scale is not None:
            check.scalar("global_scale", global_scale)
        self.entry = find_entry(
            quantize_text, self.batch or None, None if len(shape) == 2 else rows,
            shape[-1], element.mlir, format, axes, rounding, layout, self.groups,
            check.index_type("gather", gather), check.index_type("offsets", offsets),
            is_swiglu, probs is not None, global_scale is not None)
        self.padded = frozenset(self._find_padded())

    def _find_padded(self):
        """Yields the indices of the partially written results."""
        for index, axis in enumerate(self.axes):
            rows, columns = ((self.rows, self.columns) if axis == -1
                             else (self.columns, self.rows))
            blocks = columns // self.format.block
            is_reduction = self.is_ragged and axis == -2
            if is_reduction:
                yield 2 * index
            if is_reduction or (self.layout == "sf_128x4" and (
                    self.is_ragged or not scale_tiles.are_whole(rows, blocks))):
                yield 2 * index + 1

    def wrap(self, results, factor):
        """Returns a Quantized, or a tuple of them if there are two axes."""
        if factor is None and self.format.has_global_scale:
            factor = results[-1]
        found = [self._wrap(axis, *results[2 * i:2 * i + 2], factor)
                 for i, axis in enumerate(self.axes)]
        return found[0] if len(found) == 1 else tuple(found)

    def _wrap(self, axis, elements, scales, factor):
        kind, shape = None, (*self.batch, self.rows, self.columns)
        if self.is_ragged:
            kind = "rows" if axis == -1 else "reduction"
        if axis == -2:
            shape = (*self.batch, self.columns,
                     elements.shape[-1] * self.format.per_byte)
        return Quantized(elements, scales, shape, self.format, self.layout, kind,
                         self.groups, factor)


def _read(q):
    """Returns the parts of a Quantized that determine its program."""
    return (tuple(q.shape[:-2]) or None,
            q.shape[-2] if len(q.shape) > 2 else None,
            None if q.ragged == "reduction" else q.shape[-1],
            q.shape[-2] if q.ragged == "reduction" else None,
            q.format, q.layout, q.ragged, q.groups)


def _dequantize_text(about, to, index):
    batch, rows, columns, static_rows, format, layout, ragged, groups = about
    if ragged == "reduction":  # dequantized like an ordinary matrix, with its padding
        rows, ragged, groups = static_rows, None, None
    dims = (*(batch or ()), rows, columns)
    elements = elements_type(dims, format, ragged, groups)
    scales = scales_type(dims, format, layout, ragged, groups)
    body = Body()
    arguments = [("elements", elements), ("scales", scales)]
    if format.has_global_scale:
        arguments.append(("global_scale", "tensor<f32>"))
    if groups:
        arguments.append(("offsets", f"tensor<{groups}x{index}>"))
    result = tensor(dims, to)
    sizes = []
    if rows is None:
        sizes.append(body.dim("%elements", elements, len(dims) - 2))
    if columns is None:
        sizes.append(body.dim("%elements", elements, len(dims) - 1))
    factor = ""
    if format.has_global_scale:
        number = body.add("tensor.extract %global_scale[] : tensor<f32>")
        factor = f"global_scale({number}) "
    kind = f"ragged = {ragged} " if groups else ""
    ends = f"offsets(%offsets : tensor<{groups}x{index}>) " if groups else ""
    out = body.empty(result, sizes)
    returned = body.add(
        f"mx.dequantize {kind}ins(%elements, %scales : {elements}, {scales}) "
        f"{factor}{ends}outs({out} : {result}) block_size = {format.block} -> {result}")
    return body.function(arguments, [result], [returned])
