# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR text of programs that quantize, and of quantize operations in larger programs."""

from typing import NamedTuple, Optional

from . import scale_tiles
from .formats import Format
from .mlir_text import Body, tensor
from .quantized import elements_type, scales_type

# Largest magnitude in NVFP4: the largest E4M3 scale, 448, times the largest E2M1 element, 6.
_NVFP4_MAX = 448.0 * 6.0


class Matrix(NamedTuple):
    """Matrix or batch in a program. `rows` is None if the number of rows is dynamic. In this case,
    the SSA value `count` is the number of rows."""
    value: str
    batch: tuple
    rows: Optional[int]
    columns: int
    element: str
    count: Optional[str] = None

    @property
    def type(self):
        return tensor((*self.batch, self.rows, self.columns), self.element)


class Operand(NamedTuple):
    """Quantized matrix in a program: the elements and the scales of a matmul's operand."""
    values: tuple
    types: tuple


class ExpertGroups(NamedTuple):
    """Expert groups of rows. There are `count` of them, and the argument %offsets contains their
    ends as integers of type `index`."""
    count: int
    index: str

    @property
    def type(self):
        return f"tensor<{self.count}x{self.index}>"


def quantize_text(batch, rows, columns, source, format, axes, rounding, layout,
                  groups, gather, index, is_swiglu, has_probs, has_factor):
    """Returns a program that quantizes a matrix or a batch."""
    body = Body()
    given = tensor((*(batch or ()), rows, columns), source)
    arguments = [("x", given)]
    if has_probs:
        arguments.append(("probs", "tensor<?xf32>"))
    if gather:
        arguments.append(("gather", f"tensor<?x{gather}>"))
    if groups:
        arguments.append(("offsets", f"tensor<{groups}x{index}>"))
    if has_factor:
        arguments.append(("factor", "tensor<f32>"))
    count = None
    if rows is None:
        count = (body.dim("%gather", f"tensor<?x{gather}>", 0) if gather
                 else body.dim("%x", given, 0))
    x = Matrix("%x", tuple(batch or ()), rows, columns, source, count)
    if is_swiglu:
        x = x._replace(columns=columns // 2,
                       value=_swiglu(body, given, source, columns // 2, count, has_probs))
    factor, returned_factor = "", None
    if format.has_global_scale:
        encode, returned_factor = _factor(body, x.value, x.type, has_factor)
        factor = f"global_scale({encode}) "
    if gather:
        x = x._replace(value=_gather(body, x, gather))
    operands = add_quantize(body, x, format, axes, rounding,
                            ExpertGroups(groups, index) if groups else None, layout, factor)
    results = [value for operand in operands for value in operand.values]
    types = [type for operand in operands for type in operand.types]
    if returned_factor:
        results.append(returned_factor)
        types.append("tensor<f32>")
    return body.function(arguments, types, results)


def add_quantize(body, x: Matrix, format: Format, axes, rounding, groups=None,
                 layout=None, factor=""):
    """Adds a quantization of `x` and returns an Operand for each axis. The operation reads `x` once.
    `factor` is the global_scale clause for NVFP4. The default layout is that of the format."""
    count, layout = groups.count if groups else None, layout or format.layout
    outs, types = [], []
    for axis in axes:
        ragged = None if not groups else "rows" if axis == -1 else "reduction"
        rows, sizes = x.rows, [x.count]
        if axis == -2 and groups:
            rows, sizes = _capacity(body, x, groups)
        dims = (*x.batch, *((rows, x.columns) if axis == -1 else (x.columns, rows)))
        own = (elements_type(dims, format, ragged, count),
               scales_type(dims, format, layout, ragged, count))
        if rows is not None:
            outs += [body.empty(type) for type in own]
        else:
            elements = body.empty(own[0], sizes)
            if axis == -2:
                block = body.index(format.block)
                sizes = [body.add(f"arith.divui {sizes[0]}, {block} : index")]
            outs += [elements, body.empty(own[1], sizes)]
        types += own
    kind = "ragged = rows " if groups else ""
    ends = f"offsets(%offsets : {groups.type}) " if groups else ""
    name, options = "mx.quantize", "" if rounding is None else f"scale_rounding = {rounding} "
    if format.block > 32:
        rows = f"{format.rows}x" if format.rows > 1 else ""
        name, options = "mx.fused_quantize", f"block_size = {rows}{format.block} {options}"
    results = body.add(
        f"{name} {kind}ins({x.value} : {x.type}) {factor}{ends}"
        f"outs({', '.join(outs)} : {', '.join(types)}) "
        f"axes = [{', '.join(str(2 + axis) for axis in axes)}] {options}"
        f"-> {', '.join(types)}", results=len(types))
    return [Operand(tuple(results[i:i + 2]), tuple(types[i:i + 2]))
            for i in range(0, len(types), 2)]


def _capacity(body, x, groups):
    """Computes scale_tiles.capacity for the rows of `x`. Returns the number and no sizes if the
    number of rows is static, or None and the dynamic size."""
    if x.rows is not None:
        return scale_tiles.capacity(x.rows, groups.count), []
    align = scale_tiles.REDUCTION_ALIGN
    more = body.index((align - 1) * (groups.count + 1))
    most = body.add(f"arith.addi {x.count}, {more} : index")
    tile = body.index(align)
    tiles = body.add(f"arith.divui {most}, {tile} : index")
    return None, [body.add(f"arith.muli {tiles}, {tile} : index")]


def _factor(body, value, type, is_given):
    """Returns the factor by which values are multiplied before quantization to NVFP4. Also returns a
    tensor with its reciprocal, the global scale, or None if the caller passed the global scale."""
    if is_given:
        decode = body.add("tensor.extract %factor[] : tensor<f32>")
        one = body.add("arith.constant 1.0 : f32")
        return body.add(f"arith.divf {one}, {decode} : f32"), None
    empty = body.empty("tensor<f32>")
    largest = body.add(f"mx.amax ins({value} : {type}) outs({empty} : tensor<f32>) -> tensor<f32>")
    number = body.add(f"tensor.extract {largest}[] : tensor<f32>")
    # If all values are zeros, any finite factor is valid.
    least = body.add("arith.constant 1.0e-30 : f32")
    number = body.add(f"arith.maximumf {number}, {least} : f32")
    most = body.add(f"arith.constant {_NVFP4_MAX:e} : f32")
    encode = body.add(f"arith.divf {most}, {number} : f32")
    decode = body.add(f"arith.divf {number}, {most} : f32")
    return encode, body.add(f"tensor.from_elements {decode} : tensor<f32>")


def _gather(body, x, index):
    """Gathers rows of %x. Rows with an index outside of %x are zeros."""
    rows = body.dim("%x", x.type, 0)
    out = body.empty(x.type, [x.count])
    return body.add(f"""linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%gather : tensor<?x{index}>) outs({out} : {x.type}) {{
  ^bb0(%i: {index}, %o: {x.element}):
    %row = arith.index_cast %i : {index} to index
    %column = linalg.index 1 : index
    %exists = arith.cmpi ult, %row, {rows} : index
    %value = tensor.extract %x[%row, %column] : {x.type}
    %zero = arith.constant 0.0 : {x.element}
    %element = arith.select %exists, %value, %zero : {x.element}
    linalg.yield %element : {x.element}
  }} -> {x.type}""")


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
