# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts scales and elements of expert groups from PyTorch's layout to the layout of mx.

PyTorch stores the scale tiles of expert groups back to back, and does not move the columns of
groups. In mx, the start of a group depends only on `offs` (docs/reference/Spec.md), so this module
gathers the tiles and copies the columns. All indices are computed on the device; the host never
reads `offs`."""

import torch

from ..._ops import scale_tiles
from ..._ops.scale_tiles import REDUCTION_ALIGN, capacity, round_up
from .._ops.token_groups import begins

_ROWS, _COLUMNS = scale_tiles.ROWS, scale_tiles.BLOCKS  # size of a scale tile
_BYTES = _ROWS * _COLUMNS
_CHUNK = 32                     # divides the columns of each expert group


class ExpertGroups:
    """Starts and sizes of expert groups: i64 tensors of shape [groups]. Invalid ends
    result in wrong values, but not in invalid accesses, because indices are clamped."""

    def __init__(self, offs):
        ends = offs.long()
        self.count = offs.shape[0]
        self.starts = begins(ends)
        self.sizes = ends - self.starts


def before(counts):
    """Returns, for each expert group, the sum of the counts of the groups before it."""
    return counts.cumsum(0) - counts


def owners(starts, count):
    """Returns the indices 0 to count - 1, and the expert group that owns each index. `starts` begins
    with 0 and does not decrease. If several groups have the same start, the last one owns the
    index."""
    places = torch.arange(count, device=starts.device)
    return places, torch.searchsorted(starts[1:], places, right=True)


def scales_of_rows(scales, offs, rows, columns):
    """Returns blocked scales of expert groups of rows in mx's layout, [tile rows * 128, columns
    rounded up to 4].

    scales    tiles of all groups, back to back, for `rows` rows and `columns` blocks in
              total. Each group starts a new tile"""
    width = -(-columns // _COLUMNS) * _BYTES
    given = _tiles(scales, width)
    groups = ExpertGroups(offs)
    starts = groups.starts // _ROWS + torch.arange(groups.count, device=offs.device)
    shift = before((groups.sizes + _ROWS - 1) // _ROWS) - starts
    places, group = owners(starts, rows // _ROWS + groups.count)
    moved = given.index_select(0, (places + shift[group]).clamp(0, given.shape[0] - 1))
    return moved.view(scales.dtype).view(-1, width // _ROWS)


def scales_of_reduction(scales, offs, rows, total, block):
    """Returns blocked scales of expert groups along K in mx's layout, [rows rounded up to 128,
    blocks].

    scales    tiles of all groups, back to back, for `rows` rows and `total` columns in
              blocks of `block`. The blocks of each group are padded to a multiple of 4"""
    given = _tiles(scales, _BYTES)
    groups = ExpertGroups(offs)
    heights = -(-rows // _ROWS)
    blocks = groups.sizes // block
    widths = (blocks + _COLUMNS - 1) // _COLUMNS
    per_tile = block * _COLUMNS
    count = capacity(total, groups.count) // per_tile
    starts = before(round_up(groups.sizes, REDUCTION_ALIGN)) // per_tile
    places, group = owners(starts, count)
    local, wide = places - starts[group], widths[group]
    row = torch.arange(heights, device=offs.device)
    source = (before(widths)[group] * heights + local)[None] + row[:, None] * wide[None]
    moved = given.index_select(0, source.flatten().clamp(0, given.shape[0] - 1))
    # In mx, zeros follow each group. PyTorch's padding is arbitrary.
    left = (blocks[group] - local * _COLUMNS)[:, None]
    exists = torch.arange(_COLUMNS, device=offs.device) < left
    moved = moved.view(torch.uint8).view(heights, count, -1, _COLUMNS)
    moved = moved.masked_fill(~exists[None, :, None], 0)
    return moved.view(scales.dtype).view(heights * _ROWS, count * _COLUMNS)


def columns_of_reduction(matrix, offs, total, per_byte):
    """Converts elements, [rows, total], to mx's layout of expert groups along K, [rows, capacity].
    Each group starts at a multiple of 128, and zeros follow the group."""
    groups = ExpertGroups(offs)
    chunks = _words(matrix).view(matrix.shape[0], -1, _CHUNK // per_byte // 8)
    starts = before(round_up(groups.sizes, REDUCTION_ALIGN)) // _CHUNK
    places, group = owners(starts, capacity(total, groups.count) // _CHUNK)
    source = places + (groups.starts // _CHUNK - starts)[group]
    moved = chunks.index_select(1, source.clamp(0, chunks.shape[1] - 1))
    exists = places < (starts + groups.sizes // _CHUNK)[group]
    moved = moved.masked_fill(~exists[None, :, None], 0)
    return moved.view(matrix.shape[0], -1).view(matrix.dtype)


def _tiles(scales, bytes_each):
    """Returns dense scales as a tensor of whole tiles of 8-byte words."""
    count = scales.numel() // bytes_each
    flat = scales.view(torch.uint8).view(-1)[:count * bytes_each]
    return _words(flat).view(count, bytes_each // 8)


def _words(x):
    """Returns dense bytes as 8-byte words, because gathering words takes less time."""
    return (x.clone() if x.storage_offset() % 8 else x).view(torch.int64)
