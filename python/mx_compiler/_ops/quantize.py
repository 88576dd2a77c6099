# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize, dequantize, and SwiGLU with its quantization."""

from . import checks as check
from . import scale_tiles
from .formats import find_format
from .mlir_text import Body, tensor
from .quantized import LAYOUTS, Quantized, elements_type, scales_type
from .specialize import find_entry, find_plan

ROUNDINGS = ("ceil", "floor", "even", "fit")
# Codes of E2M1 up to 6 times scales of E4M3 up to 448: what NVFP4 reaches.
_NVFP4_MAX = 448.0 * 6.0
_MATRICES = ("f32", "bf16", "f16")


def quantize(x, format="mxfp8_e4m3", *, axis=-1, scale_rounding="ceil",
             layout="sf_128x4", global_scale=None, offsets=None, gather=None,
             stream=None):
    """Quantizes a matrix, or a batch of matrices, in blocks along an axis.

    x         f32, bf16 or f16, [batch..., rows, columns]
    format    a name of mx.FORMATS
    axis      -1: blocks along the columns of a row; -2: along the rows of a column,
              and the result is transposed, [columns, rows]; (-1, -2): both, from one
              read. The blocked dimension is a multiple of the format's block
    scale_rounding  how the scale of a block follows from its largest magnitude:
              "ceil", "floor" (OCP MX 1.0), "even" or "fit" (TOSA 1.1); docs/Spec.md.
              "nvfp4" has "ceil" alone
    layout    of the scales: "sf_128x4", the tiles that tensor cores take, or
              "linear", row by row
    global_scale  of "nvfp4": the factor of the tensor, f32 without dimensions;
              without it largest magnitude / 2688, computed on the device
    offsets   i32 or i64, [groups]: the rows of group g end at offsets[g], as those
              of experts. Each group has scale tiles of its own; along axis -2 the
              groups divide the last dimension ("reduction", docs/Spec.md)
    gather    i32 or i64, [rows]: row i is x[gather[i]], and zeros for -1
              (docs/Python.md says what other values of these two do)
    stream    as for an entry

    Returns a Quantized, or a pair of them for both axes. Raises a TypeError or
    ValueError that names the argument, before anything is launched."""
    return _quantize(x, None, format, axis, scale_rounding, layout, global_scale,
                     offsets, gather, stream, is_swiglu=False)


def quantize_for_product(x, format, axis, scale_rounding, offsets=None):
    """`quantize` for what only products read: padding is as the memory was."""
    return _quantize(x, None, format, axis, scale_rounding, "sf_128x4", None, offsets,
                     None, None, is_swiglu=False, has_zeros=False)


def swiglu_quantize(gate_up, format="mxfp8_e4m3", *, probs=None, axis=-1,
                    scale_rounding="ceil", layout="sf_128x4", global_scale=None,
                    offsets=None, stream=None):
    """Quantizes silu(gate) * up * probs without storing it.

    gate_up   f32, bf16 or f16, [rows, 2 * columns]: gate, then up
    probs     f32, [rows]: a factor for each row; without it 1

    The product is computed in f32 and rounded once to the type of gate_up, then
    quantized as by `quantize`, which has the other arguments."""
    return _quantize(gate_up, probs, format, axis, scale_rounding, layout,
                     global_scale, offsets, None, stream, is_swiglu=True)


def dequantize(q, dtype="bfloat16", *, offsets=None, stream=None):
    """The matrix that a Quantized stands for: each element times its scale, rounded
    once to `dtype` (f32, bf16 or f16).

    offsets   of a Quantized with groups of rows, as for `quantize`. A "reduction"
              needs none: it comes back with its capacity, in which each group begins
              at a multiple of 128 columns and zeros follow it

    Returns an array of q.shape, [columns, rows] of what was quantized along axis
    -2."""
    if not isinstance(q, Quantized):
        raise TypeError(f"q: expected an mx_compiler.Quantized, found {type(q).__name__}")
    arrays = [x for x in (q.elements, q.scales, q.global_scale, offsets)
              if x is not None]
    entry, signature = find_plan(_plan_dequantize, (q.about, offsets is None, dtype),
                                 arrays, (q, offsets, dtype))
    return entry.call(arrays, signature, stream)[0]


def _plan_dequantize(q, offsets, dtype):
    check.quantized("q", q)
    to = check.element("dtype", dtype, _MATRICES)
    check.both_or_none("offsets", offsets, q.groups if q.ragged == "rows" else None,
                       "q has groups of rows")
    return find_entry(_dequantize_text, _read(q), to.mlir,
                      check.index_type("offsets", offsets))


def _quantize(x, probs, format, axis, rounding, layout, global_scale, offsets,
              gather, stream, is_swiglu, has_zeros=True):
    factor = global_scale
    if check.is_number(factor):
        if not 0 < factor < float("inf"):
            raise ValueError("global_scale: expected a finite number above 0, found "
                             f"{factor!r}")
        factor = check.scalar("global_scale", factor)
    given = x, probs, gather, offsets, factor
    options = format, axis, rounding, layout, is_swiglu
    arrays = [array for array in given if array is not None]
    about = (*options, probs is None, gather is None, offsets is None, factor is None)
    plan, signature = find_plan(_Plan, about, arrays, (*given, *options))
    return plan.wrap(plan.entry.call(arrays, signature, stream,
                                     plan.padded if has_zeros else ()), factor)


class _Plan:
    """A quantization of such arrays."""

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
                             f"are no powers of two, found {rounding!r}")
        element, shape = check.matrix(name, x, _MATRICES)
        self.is_ragged = offsets is not None
        if (self.is_ragged or gather is not None or is_swiglu) and len(shape) != 2:
            raise ValueError(f"{name}: expected 2 dimensions with groups, gathered "
                             f"rows or SwiGLU, found shape {shape}")
        if is_swiglu and shape[-1] % 2:
            raise ValueError(f"{name}: expected gate and up side by side, an even "
                             f"number of columns, found shape {shape}")
        if global_scale is not None and not format.has_global_scale:
            raise ValueError("global_scale: expected None, as only nvfp4 has a factor "
                             f"of a tensor, found one for {format.name}")
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
            _quantize_text, self.batch or None, None if len(shape) == 2 else rows,
            shape[-1], element.mlir, format, axes, rounding, layout, self.groups,
            check.index_type("gather", gather), check.index_type("offsets", offsets),
            is_swiglu, probs is not None, global_scale is not None)
        self.padded = frozenset(self._find_padded())

    def _find_padded(self):
        """The results that the program does not write wholly."""
        for index, axis in enumerate(self.axes):
            rows, columns = ((self.rows, self.columns) if axis == -1
                             else (self.columns, self.rows))
            scales = rows, columns // self.format.block
            is_reduction = self.is_ragged and axis == -2
            if is_reduction:
                yield 2 * index
            if is_reduction or (self.layout == "sf_128x4" and (
                    self.is_ragged or scale_tiles.padded(*scales) != scales)):
                yield 2 * index + 1

    def wrap(self, results, factor):
        """One Quantized, or one for each axis."""
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
    """All of a Quantized that programs are made for, but for its arrays."""
    return (tuple(q.shape[:-2]) or None,
            q.shape[-2] if len(q.shape) > 2 else None,
            None if q.ragged == "reduction" else q.shape[-1],
            q.shape[-2] if q.ragged == "reduction" else None,
            q.format, q.layout, q.ragged, q.groups)


def _dequantize_text(about, to, index):
    batch, rows, columns, static_rows, format, layout, ragged, groups = about
    if ragged == "reduction":  # in memory an ordinary matrix
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
        f"{factor}{ends}outs({out} : {result}) block_size = {format.block} "
        f"-> {result}")
    return body.function(arguments, [result], [returned])


def _quantize_text(batch, rows, columns, source, format, axes, rounding, layout,
                   groups, gather, index, is_swiglu, has_probs, has_factor):
    batch, body = batch or (), Body()
    given = tensor((*batch, rows, columns), source)
    arguments = [("x", given)]
    if has_probs:
        arguments.append(("probs", "tensor<?xf32>"))
    if gather:
        arguments.append(("gather", f"tensor<?x{gather}>"))
    if groups:
        arguments.append(("offsets", f"tensor<{groups}x{index}>"))
    if has_factor:
        arguments.append(("factor", "tensor<f32>"))
    count = rows
    if rows is None:
        count = (body.dim("%gather", f"tensor<?x{gather}>", 0) if gather
                 else body.dim("%x", given, 0))
    value = "%x"
    if is_swiglu:
        columns //= 2
        value = _swiglu(body, given, source, columns, count, has_probs)
        given = tensor((None, columns), source)
    kind, names, types = "", [], []
    if groups:
        kind = "ragged = rows "
    for axis in axes:
        ragged = None if not groups else "rows" if axis == -1 else "reduction"
        dims = (*batch, rows, columns) if axis == -1 else (*batch, columns, rows)
        elements = elements_type(dims, format, ragged, groups)
        scales = scales_type(dims, format, layout, ragged, groups)
        sizes = scale_sizes = []
        if rows is None:
            sizes = scale_sizes = [count]
            if axis == -2:
                size = _capacity(body, count, groups) if groups else count
                block = body.index(format.block)
                sizes = [size]
                scale_sizes = [body.add(f"arith.divui {size}, {block} : index")]
        names += [body.empty(elements, sizes), body.empty(scales, scale_sizes)]
        types += [elements, scales]
    factor, returned_factor = "", None
    if format.has_global_scale:
        encode, returned_factor = _factor(body, value, given, has_factor)
        factor = f"global_scale({encode}) "
    gathered = f"gather(%gather : tensor<?x{gather}>) " if gather else ""
    ends = f"offsets(%offsets : tensor<{groups}x{index}>) " if groups else ""
    ours = ", ".join(str(2 + axis) for axis in axes)
    results = body.add(
        f"mx.quantize {kind}ins({value} : {given}) {factor}{gathered}{ends}"
        f"outs({', '.join(names)} : {', '.join(types)}) axes = [{ours}] "
        f"block_size = {format.block} scale_rounding = {rounding} "
        f"-> {', '.join(types)}", results=len(types))
    if returned_factor:
        results = [*results, returned_factor]
        types = [*types, "tensor<f32>"]
    return body.function(arguments, types, results)


def _capacity(body, rows, groups):
    """scale_tiles.capacity in a program."""
    align = scale_tiles.REDUCTION_ALIGN
    more = body.index((align - 1) * (groups + 1))
    most = body.add(f"arith.addi {rows}, {more} : index")
    tile = body.index(align)
    tiles = body.add(f"arith.divui {most}, {tile} : index")
    return body.add(f"arith.muli {tiles}, {tile} : index")


def _factor(body, value, type, is_given):
    """The factor that NVFP4 is quantized with, and its reciprocal, which is read."""
    if is_given:
        decode = body.add("tensor.extract %factor[] : tensor<f32>")
        one = body.add("arith.constant 1.0 : f32")
        return body.add(f"arith.divf {one}, {decode} : f32"), None
    empty = body.empty("tensor<f32>")
    largest = body.add(f"mx.amax ins({value} : {type}) outs({empty} : tensor<f32>) "
                       "-> tensor<f32>")
    number = body.add(f"tensor.extract {largest}[] : tensor<f32>")
    # Of zeros alone any factor will do but an infinite one.
    least = body.add("arith.constant 1.0e-30 : f32")
    number = body.add(f"arith.maximumf {number}, {least} : f32")
    most = body.add(f"arith.constant {_NVFP4_MAX:e} : f32")
    encode = body.add(f"arith.divf {most}, {number} : f32")
    decode = body.add(f"arith.divf {number}, {most} : f32")
    return encode, body.add(f"tensor.from_elements {decode} : tensor<f32>")


def _swiglu(body, given, source, columns, rows, has_probs):
    half = tensor((None, columns), source)
    gate, up = (body.add(
        f"tensor.extract_slice %x[0, {begin}] [{rows}, {columns}] [1, 1] "
        f": {given} to {half}") for begin in (0, columns))
    out = body.empty(half, [rows])
    whole, row = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
    maps = [whole, whole, *([row] if has_probs else []), whole]
    inputs = [gate, up, *(["%probs"] if has_probs else [])]
    types = [half, half, *(["tensor<?xf32>"] if has_probs else [])]
    scalars = [f"%g: {source}", f"%u: {source}",
               *(["%p: f32"] if has_probs else []), f"%o: {source}"]
    widen = "" if source == "f32" else f"""
    %gf = arith.extf %g : {source} to f32
    %uf = arith.extf %u : {source} to f32"""
    gf, uf = ("%g", "%u") if source == "f32" else ("%gf", "%uf")
    weight = "\n    %w = arith.mulf %product, %p : f32" if has_probs else ""
    y = "%w" if has_probs else "%product"
    narrow = "" if source == "f32" else f"""
    %y = arith.truncf {y} : f32 to {source}"""
    y = y if source == "f32" else "%y"
    return body.add(f"""linalg.generic {{indexing_maps = [{', '.join(maps)}],
      iterator_types = ["parallel", "parallel"]}}
      ins({', '.join(inputs)} : {', '.join(types)}) outs({out} : {half}) {{
  ^bb0({', '.join(scalars)}):{widen}
    %one = arith.constant 1.0 : f32
    %minus = arith.negf {gf} : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf {gf}, %d : f32
    %product = arith.mulf %silu, {uf} : f32{weight}{narrow}
    linalg.yield {y} : {source}
  }} -> {half}""")
