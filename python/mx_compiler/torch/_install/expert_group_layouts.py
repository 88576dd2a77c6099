# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert groups of rows and of columns: from PyTorch's places to those of mx.

PyTorch has the tiles of scales of one expert group right after those of the previous group,
and columns of groups where they are. mx begins a group at a place that follows from
`offs` alone (docs/reference/Spec.md), so tiles are gathered, and columns of groups copied. All
indices are computed on the device: nothing waits to know `offs`."""

import torch

from ..._ops import scale_tiles
from ..._ops.scale_tiles import REDUCTION_ALIGN, capacity, round_up
from .._ops.token_groups import begins

_ROWS, _COLUMNS = scale_tiles.ROWS, scale_tiles.BLOCKS  # of a tile of scales
_BYTES = _ROWS * _COLUMNS
_CHUNK = 32                     # columns that an expert group has a multiple of


class ExpertGroups:
    """Where expert groups begin and what they have; a tensor of i64 each, [groups]. Wrong ends
    give wrong numbers; what is indexed by them is kept within its tensor."""

    def __init__(self, offs):
        ends = offs.long()
        self.count = offs.shape[0]
        self.starts = begins(ends)
        self.sizes = ends - self.starts


def before(counts):
    """How many there are in all expert groups before each."""
    return counts.cumsum(0) - counts


def owners(starts, count):
    """The expert group that owns each of `count` places. `starts` begin with 0 and do not
    decrease; of groups that begin at one place the last owns it."""
    places = torch.arange(count, device=starts.device)
    return places, torch.searchsorted(starts[1:], places, right=True)


def scales_of_rows(scales, offs, rows, columns):
    """Blocked scales of expert groups of rows as mx has them, [tile rows * 128, columns up to
    a multiple of 4].

    scales    of `rows` rows and `columns` blocks in all: tiles of each group, which
              begins at a tile of its own, one group right after the other"""
    width = -(-columns // _COLUMNS) * _BYTES
    given = _tiles(scales, width)
    groups = ExpertGroups(offs)
    starts = groups.starts // _ROWS + torch.arange(groups.count, device=offs.device)
    shift = before((groups.sizes + _ROWS - 1) // _ROWS) - starts
    places, group = owners(starts, rows // _ROWS + groups.count)
    moved = given.index_select(0, (places + shift[group]).clamp(0, given.shape[0] - 1))
    return moved.view(scales.dtype).view(-1, width // _ROWS)


def scales_of_reduction(scales, offs, rows, total, block):
    """Blocked scales of expert groups along K as mx has them, [rows up to 128, blocks].

    scales    of `rows` rows and blocks of `block` in `total` columns: tiles of each
              group, whose columns are padded to 4 blocks, one group after the other"""
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
    # After a group are zeros, whatever PyTorch's padding has.
    left = (blocks[group] - local * _COLUMNS)[:, None]
    exists = torch.arange(_COLUMNS, device=offs.device) < left
    moved = moved.view(torch.uint8).view(heights, count, -1, _COLUMNS)
    moved = moved.masked_fill(~exists[None, :, None], 0)
    return moved.view(scales.dtype).view(heights * _ROWS, count * _COLUMNS)


def columns_of_reduction(matrix, offs, total, per_byte):
    """Elements [rows, total] as mx has expert groups along K: [rows, capacity], each
    from a multiple of 128 on, with zeros after it."""
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
    """Dense scales as whole tiles, as many as there are, in words of 8 bytes."""
    count = scales.numel() // bytes_each
    flat = scales.view(torch.uint8).view(-1)[:count * bytes_each]
    return _words(flat).view(count, bytes_each // 8)


def _words(x):
    """Dense bytes as words of 8, which cost less to gather."""
    return (x.clone() if x.storage_offset() % 8 else x).view(torch.int64)
