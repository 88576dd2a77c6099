# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a weight between the tensors of a checkpoint and the buffers of a module."""

import dataclasses

import torch

from ..._ops import scale_tiles
from .._ops.token_groups import from_tiles, rearrange_scales
from .files import DTYPES
from .layouts import Layout


@dataclasses.dataclass
class Source:
    """Description of the tensors from which a weight was read, to write them unchanged.

    names   names of the matrices by place: () for the whole weight, or (expert, section)
    dtypes  dtypes of the elements and the scales
    tiled   scales have the order of mx and PyTorch, SWIZZLE_32_4_4
    kept    global scales, and tensors without use in matmuls, by key
    """
    layout: Layout
    names: dict
    dtypes: tuple
    tiled: bool = False
    kept: dict = dataclasses.field(default_factory=dict)


def _places(names, shape, sections):
    """Yields the places of matrices with their names, indices of rows, and shapes."""
    for place, name in names.items():
        if place == ():
            yield place, name, ..., shape
        else:
            expert, section = place
            rows = len(range(shape[-2])[sections[section]])
            yield place, name, (expert, sections[section]), (rows, shape[-1])


def read(checkpoint, layout, names, shape, sections, device):
    """Reads a weight of `shape`, [..., N, K], with sections of rows as in `Quantized`.

    Returns the parts of the weight (`Quantized.hold`) and its Source. Raises ValueError. The error names
    the file, the key, and the expected and found values."""
    format, outer = layout.format, shape[:-2]
    first = next(iter(names.values()))
    _check_size(checkpoint, first + layout.elements[0], layout, shape, sections)
    dtypes = tuple(checkpoint.header(first + suffix)[1] for suffix, *_ in (layout.elements, layout.scales))
    source = Source(layout, names, dtypes)
    width = DTYPES[dtypes[1]].itemsize
    rows, blocks = -(-shape[-2] // format.rows), shape[-1] // format.block * width
    whole = () in names
    elements = None if whole else torch.empty(
        (*shape[:-1], shape[-1] // format.per_byte), dtype=torch.uint8, device=device)
    scales = None if whole else torch.empty((*outer, rows, blocks), dtype=torch.uint8, device=device)
    factors = torch.ones((*outer, len(sections)), dtype=torch.float32) if format.has_global_scale else None
    for place, name, index, one in _places(names, shape, sections):
        found = _read_matrix(checkpoint, layout, name, one, dtypes, source, device)
        if whole:
            elements, scales = found
        else:
            at = _scale_index(index, format.rows, shape[-2])
            elements[index].copy_(found[0])
            scales[at].copy_(found[1])
        if layout.factor:
            factors[(*place, ...)] = _read_factor(checkpoint, layout, name, source)
        for suffix in layout.kept:
            if name + suffix in checkpoint.keys():
                source.kept[name + suffix] = checkpoint.read(
                    name + suffix, checkpoint.shape(name + suffix), tuple(DTYPES.values()))
    if format.layout == "sf_128x4":
        scales = rearrange_scales(scales)
    parts = [elements, scales]
    if factors is not None:
        parts.append(factors.view(torch.uint8).to(device))
    return parts, source


def _check_size(checkpoint, key, layout, shape, sections):
    format = layout.format
    multiple = 32 if format.has_global_scale else format.block
    file = checkpoint.file(key)
    if shape[-1] % multiple:
        raise ValueError(f"{file}: {key}: expected a multiple of {multiple} columns for {layout.name}, found "
                         f"{shape[-1]}")
    if format.rows > 1 and len(sections) > 1 and (shape[-2] // len(sections) % format.rows or sections[0].step):
        raise ValueError(f"{file}: {key}: expected a multiple of {format.rows} rows of experts for {layout.name}, found "
                         f"{shape[-2] // len(sections)}")


def _scale_index(index, rows, total):
    """Returns the index of the scales of an index of rows."""
    if rows == 1:
        return index
    start, stop, _ = index[1].indices(total)
    return index[0], slice(start // rows, -(-stop // rows))


def _read_matrix(checkpoint, layout, name, shape, dtypes, source, device):
    """Returns elements and plain scales as bytes."""
    wanted = layout.shapes(shape)
    (suffix, *known), (scale_suffix, *known_scales) = layout.elements, layout.scales
    elements = checkpoint.read(name + suffix, wanted[0], [DTYPES[dtype] for dtype in known], device)
    dims, rows, blocks = wanted[1], *wanted[1][-2:]
    tiles = -(-rows // scale_tiles.ROWS) * 32, -(-blocks // scale_tiles.BLOCKS) * 16
    found = checkpoint.header(name + scale_suffix)[0]
    source.tiled = layout.name.startswith("torchao ") and found == tiles
    key = name + scale_suffix
    scales = checkpoint.read(key, tiles if source.tiled else dims, [DTYPES[dtype] for dtype in known_scales], device)
    check_scales(checkpoint, key, scales)
    scales = scales.view(torch.uint8)
    if source.tiled:
        scales = from_tiles(scales.reshape(tiles[0] * 4, tiles[1] // 4), rows, blocks)
    return elements.view(torch.uint8).flatten(-2) if layout.is_stacked else elements.view(torch.uint8), scales


def check_scales(checkpoint, key, scales):
    """Raises ValueError for NaN, infinite, or negative scales."""
    if scales.dtype == torch.float32:
        bad, wanted = ~torch.isfinite(scales) | (scales < 0), "finite scales of at least 0"
    elif scales.dtype == torch.float8_e4m3fn:
        bad, wanted = scales.view(torch.uint8) >= 127, "scales from 0 to 448"
    else:
        bad, wanted = scales.view(torch.uint8) == 255, "scales of at most 254"
    if count := int(bad.sum()):
        value = scales[bad][0]
        raise ValueError(f"{checkpoint.file(key)}: {key}: expected {wanted}, found "
                         f"{value.item() if value.dtype != torch.float8_e8m0fnu else 255}"
                         f"{', which is a NaN,' * (scales.dtype in (torch.uint8, torch.float8_e8m0fnu))} in {count} places")


def _read_factor(checkpoint, layout, name, source):
    """Returns the factor of a matrix, in f32."""
    key = name + layout.factor
    if key not in checkpoint.keys() and _is_optional(layout):
        return 1.0
    shape = checkpoint.header(key)[0]
    value = checkpoint.read(key, shape if shape in ((), (1,)) else (1,), (torch.float32,))
    number = value.reshape(())
    factor = 1 / number if layout.is_divisor else number
    if not (torch.isfinite(factor) and factor > 0):
        raise ValueError(f"{checkpoint.file(key)}: {key}: expected a finite number above 0, found {number.item()}")
    source.kept[key] = value
    return factor


def write(module, name, source):
    """Returns the tensors of a module's weight by key. If the weight was read and not changed, they equal
    the tensors of its checkpoint."""
    layout, format = source.layout, source.layout.format
    elements, scales = module._plain_parts(name)
    shape = module._shape(name)
    rows, blocks = layout.shapes(shape)[1][-2:]
    if format.layout == "sf_128x4":
        scales = from_tiles(scales, rows, blocks)
    factors, tensors = module._factors(name), {}
    sections = module._sections(name, shape[-2])
    for place, base, index, one in _places(source.names, shape, sections):
        dims = layout.shapes(one)
        matrix = elements[index] if place else elements
        matrix_scales = scales[_scale_index(index, format.rows, shape[-2])] if place else scales
        if source.tiled:
            tiled = rearrange_scales(matrix_scales)
            matrix_scales = tiled.reshape(tiled.shape[0] // 4, tiled.shape[1] * 4)
            dims = dims[0], tuple(matrix_scales.shape)
        for part, (suffix, *_), dtype, wanted in zip(
                (matrix, matrix_scales), (layout.elements, layout.scales), source.dtypes, dims):
            tensors[base + suffix] = part.contiguous().view(DTYPES[dtype]).reshape(wanted)
        if layout.factor:
            tensors |= _write_factor(base + layout.factor, factors[place or (0,)].cpu(), source)
        tensors |= {base + suffix: source.kept[base + suffix] for suffix in layout.kept if base + suffix in source.kept}
    return tensors


def _write_factor(key, factor, source):
    """Returns the global scale as stored, by key. The number of the checkpoint is written unless
    the factor changed, since two reciprocals may round to another number."""
    is_divisor, old = source.layout.is_divisor, source.kept.get(key)
    if old is not None and (1 / old if is_divisor else old).reshape(()) == factor:
        return {key: old}
    if old is None and _is_optional(source.layout) and factor == 1:
        return {}
    return {key: (1 / factor).reshape(1) if is_divisor else factor.clone()}


def _is_optional(layout):
    """Returns True if the tool omits global scales of 1."""
    return layout.name.startswith("torchao ")
