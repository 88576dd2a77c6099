# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled matmuls. They may be batched or grouped by expert."""

from typing import Any

from . import checks as check
from .chip_sizes import named_reductions
from .mlir_text import Body, tensor
from .quantized import Quantized, elements_type, scales_type
from .specialize import find_entry, find_plan

MODES = ("rows", "masked", "reduction")
# Ragged dimensions of operands `a` and `b`.
RAGGED = dict(zip(MODES, (("rows", None), (None, None), ("reduction", "reduction"))))


def matmul(a: Any, b: Any, dtype: Any = "bfloat16", *, alpha: Any = None, in_order: bool = False,
           stream: Any = None) -> Any:
    """Computes c[m, n] = sum over k of a[m, k] * b[n, k] with f32 accumulation.

    a         a Quantized, [batch..., M, K], or a bf16 array, which is not quantized
              (weight-only quantization, docs/reference/Formats.md)
    b         a Quantized, [batch..., N, K], which may be a result of `pack_weights` if
              `a` is bf16; or a bf16 array, which is not quantized (only "sm_90a" and
              the reference path)
    dtype     element type of the result: bf16, f16 or f32
    alpha     factor of the result: a number, or an f32 array without dimensions in
              device memory. The global scales of NVFP4 are applied in addition
    in_order  True: a row of the result has the same bits for any number of rows
              (docs/reference/Spec.md, Order of sums)

    Returns an array [batch..., M, N]. Raises TypeError or ValueError before any launch. The error
    names the argument."""
    arrays, about = _take_apart(a, b, None, alpha)
    entry, signature = find_plan(_plan_matmul, (dtype, in_order, *about), arrays,
                                 (a, b, alpha, dtype, in_order))
    return entry.call(arrays, signature, stream)[0]


def _plan_matmul(a, b, alpha, dtype, in_order):
    to = check.element("dtype", dtype, check.MATRICES)
    left, right = _Side("a", a), _Side("b", b)
    _check_pair(left, right)
    for side in (left, right):
        if side.groups:
            raise ValueError(f"{side.name}: expected a matrix without expert groups, found "
                             f"{side.groups} expert groups of {side.ragged}: use "
                             "mx_compiler.grouped_matmul")
    if left.shape[:-2] != right.shape[:-2]:
        raise ValueError(f"b: expected the batch {left.shape[:-2]} of a, found {right.shape[:-2]}")
    return _find_matmul(_matmul_text, left, right, len(left.shape) == 2, to.mlir,
                        _factor_types(a, b, alpha), in_order)


def grouped_matmul(a: Any, b: Any, offsets: Any, dtype: Any = "bfloat16", *, mode: str = "rows",
                   alpha: Any = None, in_order: bool = False, stream: Any = None) -> Any:
    """Computes a matmul for each expert group, as in a mixture of experts.

    offsets   i32 or i64, [groups], in device memory; the host does not read them
    mode      "rows": `a` is [T, K], quantized with these offsets (or bf16), `b` is
              [G, N, K], and the result is [T, N]. The rows of group g end at
              offsets[g], and rows past the last offset are undefined.
              "masked": `a` is [G, M, K], `b` is [G, N, K], and the result is [G, M, N].
              Group g uses its first offsets[g] rows, and other rows are undefined.
              "reduction": `a` is [M, T] and `b` is [N, T], both quantized along axis -2
              with these offsets. The result is [G, M, N]; matrix g is the sum over the
              part of T that belongs to group g
    dtype, alpha, in_order  as in `matmul`

    Raises TypeError or ValueError before any launch. The error names the argument."""
    arrays, about = _take_apart(a, b, offsets, alpha)
    entry, signature = find_plan(_plan_grouped, (dtype, mode, in_order, *about), arrays,
                                 (a, b, offsets, alpha, dtype, mode, in_order))
    return entry.call(arrays, signature, stream)[0]


def _plan_grouped(a, b, offsets, alpha, dtype, mode, in_order):
    to = check.element("dtype", dtype, check.MATRICES)
    check.one_of("mode", mode, MODES)
    left, right = _Side("a", a), _Side("b", b)
    _check_pair(left, right, both="reduction" if mode == "reduction" else None)
    groups = check.vector("offsets", offsets)
    if groups is None:
        raise TypeError("offsets: expected an array of i32 or i64, found None")
    ranks = {"rows": (2, 3), "masked": (3, 3), "reduction": (2, 2)}[mode]
    for side, rank, kind in zip((left, right), ranks, RAGGED[mode]):
        if len(side.shape) != rank:
            raise ValueError(f"{side.name}: expected {rank} dimensions with mode "
                             f"\"{mode}\", found shape {side.shape}")
        side.check_expert_groups(kind, groups)
        if rank == 3 and side.shape[0] != groups:
            raise ValueError(f"{side.name}: expected one matrix for each of {groups} "
                             f"expert groups of offsets, found {side.shape[0]}")
    return _find_matmul(_grouped_text, left, right, mode == "rows", to.mlir,
                        _factor_types(a, b, alpha), in_order, mode, groups,
                         check.index_type("offsets", offsets))


def _find_matmul(make_text, left, right, is_dynamic, *about):
    """Returns the entry of a matmul. If `is_dynamic`, the number of rows is dynamic."""
    with named_reductions("a, b", (left.kind, right.kind),
                          f"shapes {left.shape} and {right.shape}"):
        return find_entry(make_text, left.about(is_dynamic), right.about(), *about)


class _Side:
    """Checked operand of a matmul: a Quantized or a bf16 array."""

    def __init__(self, name, x):
        self.name = name
        self.format = self.layout = self.ragged = self.groups = None
        self.is_packed = False
        if isinstance(x, Quantized):
            check.quantized(name, x)
            self.shape = tuple(x.shape)
            self.format, self.layout = x.format, x.layout
            self.ragged, self.groups = x.ragged, x.groups
            self.is_packed = x.packed
            self.element = x.format.elements
            if not x.format.has_matmul:
                raise ValueError(f"{name}: expected a format that supports matmuls, "
                                 f"found {x.format.name}")
        else:
            found, self.shape = check.matrix(
                name, x, ("bf16",), f": quantize the array with mx_compiler.quantize({name}), "
                "or convert it to bfloat16")
            self.element = found.mlir

    @property
    def kind(self):
        return self.format.name if self.format else self.element

    def check_expert_groups(self, kind, groups):
        if self.format is None:
            return
        if (self.ragged, self.groups) != (kind, groups if kind else None):
            def name(ragged, count):
                return f"{count} expert groups of {ragged}" if ragged else "no expert groups"
            raise ValueError(f"{self.name}: expected an mx_compiler.Quantized with "
                             f"{name(kind, groups)}, as mode and offsets require, found "
                             f"{name(self.ragged, self.groups)}")

    def about(self, dynamic=False):
        """Returns the operand's part of the program's key. If `dynamic`, the number of rows is
        dynamic."""
        dims = list(self.shape)
        if dynamic:
            dims[-2] = None
        if self.ragged == "reduction":
            dims[-1] = None
        return (self.name, tuple(dims), self.element, self.format, self.layout,
                self.ragged, self.groups, self.is_packed)


def _check_pair(left, right, both=None):
    if left.is_packed:
        raise ValueError("a: expected a matrix that is not packed, found packed weights: "
                         "pass them as b, or pass mx_compiler.unpack_weights(a)")
    if left.format is not None and right.is_packed:
        raise ValueError("b: expected weights that are not packed if 'a' is quantized, found "
                         "packed weights: pass 'a' as bf16, or pass mx_compiler.unpack_weights(b)")
    if both and left.format is not None and right.format is None:
        raise TypeError(f"b: expected an mx_compiler.Quantized if 'a' is quantized and mode is "
                        f"\"{both}\", found an array: quantize both operands or neither")
    if left.format and right.format and left.format.scales != right.format.scales:
        raise ValueError(f"b: expected a format with scales of {left.format.scales}, like "
                         f"{left.format.name}, found {right.format.name}: "
                         "quantize both operands to the same format")
    if both is None and left.shape[-1] != right.shape[-1]:
        raise ValueError(f"b: expected K = {left.shape[-1]}, the last dimension of a, "
                         f"found shape {right.shape}")


def _take_apart(a, b, offsets, alpha):
    """Returns the arrays of a matmul in argument order, and the other parts of
    the program's key. Every call runs this function, so the code is short."""
    arrays, about, factors = [], [alpha is None], []
    for x in (a, b):
        if type(x) is Quantized:
            arrays += x[:2]
            about.append((x[2:7], x[8]))
            if x[7] is not None:
                factors.append(x[7])
        else:
            arrays.append(x)
            about.append(None)
    if offsets is not None:
        arrays.append(offsets)
    arrays += factors
    if alpha is not None:
        arrays.append(alpha)
    return arrays, about


def _factor_types(a, b, alpha):
    """Returns the MLIR types of the factors. A Python number is passed as f32, which avoids a copy
    to the device."""
    types = ["tensor<f32>" for x in (a, b)
             if isinstance(x, Quantized) and x.global_scale is not None]
    if alpha is not None:
        check.scalar("alpha", alpha)
        types.append("f32" if check.is_number(alpha) else "tensor<f32>")
    return tuple(types)


def _types(about):
    name, dims, element, format, layout, ragged, groups, is_packed = about
    if format is None:
        return [(name, tensor(dims, element))]
    return [(name, elements_type(dims, format, ragged, groups, is_packed)),
            (f"{name}_scales", scales_type(dims, format, layout, ragged, groups))]


def _alpha(body, types):
    """Returns the names and types of the factor arguments, and the `alpha` clause of the operation
    with their product."""
    arguments = [(f"factor{i}", type) for i, type in enumerate(types)]
    product = None
    for name, type in arguments:
        number = (f"%{name}" if type == "f32" else
                  body.add(f"tensor.extract %{name}[] : {type}"))
        product = number if product is None else body.add(
            f"arith.mulf {product}, {number} : f32")
    return arguments, f"alpha({product}) " if product else ""


def operand_types(name, x):
    """Returns the names and MLIR types of a Quantized operand."""
    return tuple(_types(_Side(name, x).about()))


def _operands(types):
    return (f"ins({', '.join('%' + name for name, _ in types)} : "
            f"{', '.join(type for _, type in types)})")


def _form(left, right, in_order):
    blocks = {about[3].block for about in (left, right) if about[3]}
    return (f"block_size = {blocks.pop()} " if blocks else "") + "in_order " * in_order


def _matmul_text(left, right, to, factors, in_order):
    body, types = Body(), _types(left) + _types(right)
    dims = (*left[1][:-1], right[1][-2])
    result = tensor(dims, to)
    sizes = ([body.dim(f"%{left[0]}", types[0][1], len(dims) - 2)]
             if dims[-2] is None else [])
    arguments, alpha = _alpha(body, factors)
    out = body.empty(result, sizes)
    value = body.add(f"mx.matmul {_operands(types)} {alpha}outs({out} : {result}) "
                     f"{_form(left, right, in_order)}-> {result}")
    return body.function(types + arguments, [result], [value])


def _grouped_text(left, right, to, factors, in_order, mode, groups, index):
    body, types = Body(), _types(left) + _types(right)
    dims = {"rows": (None, right[1][-2]),
            "masked": (*left[1][:-1], right[1][-2]),
            "reduction": (groups, left[1][-2], right[1][-2])}[mode]
    result = tensor(dims, to)
    sizes = [body.dim("%a", types[0][1], 0)] if mode == "rows" else []
    arguments, alpha = _alpha(body, factors)
    ends = f"tensor<{groups}x{index}>"
    kind = "rows masked" if mode == "masked" else mode
    out = body.empty(result, sizes)
    value = body.add(f"mx.grouped_matmul ragged = {kind} {_operands(types)} "
                     f"offsets(%offsets : {ends}) {alpha}outs({out} : {result}) "
                     f"{_form(left, right, in_order)}-> {result}")
    return body.function([*types, ("offsets", ends), *arguments], [result], [value])
