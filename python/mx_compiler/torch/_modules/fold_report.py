# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports the foldable share of a model's operands, and the bound on the loss by folding."""

import dataclasses
from typing import Any, Callable

import torch

from ..._ops import checks as check
from .experts import has_experts, is_routed, k_major_weights
from .weight_only import Quantized

WIDTHS = 128, 256, 512, "row"
"""Block sizes of folded operands."""

_BLOCK = 32          # elements that share a scale in MX formats
_SPREADS = 256       # differences of E8M0 scales
_MOST = 1 << 24      # elements of a step, to limit temporary memory
# Per format: the largest magnitude of an element, the smallest magnitude of the largest element
# of a block with scale_rounding "ceil", the largest error in units of the folded scale, and the
# largest spread of a lossless fold. MXFP4 folds to E4M3, where its largest element is 6 * 2^6.
_FORMATS = {"mxfp8": (448., 224., 2. ** -10, 0), "mxfp8_e5m2": (57344., 28672., 2. ** -17, 0),
            "mxfp4": (6., 3., 2. ** -16, 14)}


@dataclasses.dataclass(frozen=True)
class Spreads:
    """Spreads of an operand at one width. A spread is the difference between the largest and the
    smallest exponent of the MX scales in a wider block.

    blocks  number of wider blocks with each spread
    rows    number of rows with each largest spread"""
    format: str
    blocks: torch.Tensor
    rows: torch.Tensor

    def share(self, limit: int = 8) -> float:
        """Returns the share of the wider blocks with a spread of at most `limit`."""
        return _share(self.blocks, limit)

    def row_share(self, limit: int = 8) -> float:
        """Returns the share of the rows with spreads of at most `limit`."""
        return _share(self.rows, limit)

    @property
    def largest(self) -> int:
        """Returns the largest spread."""
        return int(self.blocks.nonzero().max()) if self.blocks.any() else 0

    def bound(self, limit: int | None = None) -> float:
        """Returns the largest error of an element by folding, relative to the largest magnitude in its
        MX block, in rows with spreads of at most `limit` (default: in all rows). 0 if folding a
        spread of this size is lossless."""
        _, least, error, lossless = _FORMATS[self.format]
        spread = self.largest if limit is None else min(limit, self.largest)
        return 0. if spread <= lossless else 2. ** spread * error / least


def _share(counts, limit):
    total = int(counts.sum())
    return int(counts[:limit + 1].sum()) / total if total else 1.


@dataclasses.dataclass(frozen=True)
class FoldedOperand:
    """Report on an operand.

    name    name of the weight, or of the module and "input"
    rows    number of rows, over all calls and experts
    columns number of elements of a row, the reduction of the forward matmul
    widths  Spreads by width (WIDTHS), without widths that do not divide the columns"""
    name: str
    rows: int
    columns: int
    widths: dict[int | str, Spreads]


@dataclasses.dataclass(frozen=True)
class FoldReport:
    """Result of `fold_report`. Its text is a table for `limit = 8`.

    operands  list of FoldedOperand"""
    operands: list[FoldedOperand]

    def table(self, limit: int = 8) -> str:
        """Returns the report as text: for each width the share of the rows that fold with spreads of at
        most `limit`, and the bound on the loss in these rows."""
        lines = [["operand", "rows", "columns", *(f"to {width}" for width in WIDTHS)]]
        for operand in self.operands:
            cells = [f"{100 * found.row_share(limit):.4g} % ({found.bound(limit):.1e})"
                     if (found := operand.widths.get(width)) else "-" for width in WIDTHS]
            lines.append([operand.name, str(operand.rows), str(operand.columns), *cells])
        wide = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(line, wide)).rstrip()
                         for line in lines)

    def __str__(self):
        return self.table()


def fold_report(model: torch.nn.Module, inputs: Any = None, *, format: str = "mxfp8",
                filter: Callable[[torch.nn.Module, str], bool] | None = None) -> FoldReport:
    """Measures the share of each layer's operands with a small loss by folding to FP8 blocks of 128,
    256, 512 or whole rows, for a decision about the recipes with reduced precision.

    model   a torch.nn.Module. Operands are the weights of linear layers and experts, plain or
            converted, and the inputs of these modules, along the reduction of the forward pass
    inputs  arguments of a call of the model without gradients, to measure activations: a
            tensor, a tuple of positional or a dict of keyword arguments. Default: weights only
    format  "mxfp8", "mxfp8_e5m2", or "mxfp4" for weights of W4A8 matmuls
    filter  function of a module and its name; modules are left out if it returns False

    Rows not divisible by 32 are left out, because no recipe quantizes them. Weights divided among ranks count the part of this rank.

    Returns a FoldReport. Raises TypeError or ValueError. Errors name the argument."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    check.one_of("format", format, tuple(_FORMATS))
    if filter is not None and not callable(filter):
        raise TypeError("filter: expected a function of a module and its name, or None, "
                        f"found {type(filter).__name__}")
    modules = {name: module for name, module in model.named_modules()
               if _has_weights(module) and (filter is None or filter(module, name))}
    if not modules:
        raise ValueError("model: expected linear layers or experts"
                         f"{'' if filter is None else ' that the filter accepts'}, found none")
    found = {}
    for prefix, module in modules.items():
        for name, weight in _weights(module):
            _add(found, f"{prefix}.{name}".lstrip("."), weight, format)
    if inputs is not None:
        _measure_inputs(found, model, modules, inputs, format)
    return FoldReport([FoldedOperand(name, rows, columns, {
        width: Spreads(format, *counts.cpu()) for width, counts in widths.items()})
        for name, (rows, columns, widths) in found.items()])


def _has_weights(module):
    return (isinstance(module, (torch.nn.Linear, Quantized)) or has_experts(module)
            or is_routed(module))


def _weights(module):
    """Yields names and weights, [..., N, K]."""
    if isinstance(module, Quantized):
        for name in module._weights:
            yield name, module.dequantized(name, torch.float32)
    elif isinstance(module, torch.nn.Linear):
        yield "weight", module.weight
    else:
        yield from k_major_weights(module)


def _measure_inputs(found, model, modules, inputs, format):
    def hook(name):
        def measure(module, args, kwargs):
            given = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)
                          and x.is_floating_point()), None)
            if given is not None:
                _add(found, f"{name}.input".lstrip("."), given, format)
        return measure

    handles = [module.register_forward_pre_hook(hook(name), with_kwargs=True)
               for name, module in modules.items()]
    args, kwargs = (((), inputs) if isinstance(inputs, dict) else
                    (inputs, {}) if isinstance(inputs, tuple) else ((inputs,), {}))
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()


def _add(found, name, x, format):
    """Counts the spreads of x, [..., K], as operand `name`."""
    x = x.detach()
    x = x.to_local() if hasattr(x, "to_local") else x
    columns = x.shape[-1] if x.dim() else 0
    if not columns or columns % _BLOCK:
        return
    if x.is_meta:
        raise ValueError(f"model: expected {name} with values, found a tensor on the meta device")
    x = x.reshape(-1, columns)
    rows, _, widths = found.get(name, (0, columns, {}))
    for part in x.split(max(1, _MOST // columns)):
        exponents, counts = _find_exponents(part, format)
        for width in WIDTHS:
            size = columns if width == "row" else width
            if columns % size == 0:
                old = widths.get(width, torch.zeros(2, _SPREADS, dtype=torch.int64, device=x.device))
                widths[width] = old + _count(exponents, counts, size // _BLOCK)
    found[name] = rows + len(x), columns, widths


def _find_exponents(x, format):
    """Returns the exponent E of each MX block's scale with rounding "ceil", the least with largest
    magnitude <= 2^E * largest element, and a mask without blocks of zeros and NaN."""
    amax = x.float().unflatten(-1, (-1, _BLOCK)).abs().amax(-1)
    most = _FORMATS[format][0]
    mantissa, exponent = torch.frexp(amax)
    of_most, shift = torch.frexp(torch.tensor(most))
    exponent = exponent - int(shift) + (mantissa > of_most.to(mantissa.device))
    exponent = torch.where(amax.isinf(), 127, exponent).clamp(-127, 127)
    return exponent, (amax > 0)


def _count(exponents, counts, blocks):
    """Returns the number of wider blocks, of `blocks` MX blocks each, and of rows, by spread."""
    wide = exponents.unflatten(-1, (-1, blocks)), counts.unflatten(-1, (-1, blocks))
    most = torch.where(wide[1], wide[0], -_SPREADS).amax(-1)
    least = torch.where(wide[1], wide[0], _SPREADS).amin(-1)
    spreads = (most - least).clamp(min=0).long()
    return torch.stack([torch.bincount(x.flatten(), minlength=_SPREADS)
                        for x in (spreads, spreads.amax(-1))])
