# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pads token groups, and rearranges their scales. A token group consists of the rows of an expert.
The ends of groups are in device memory and the host does not read them, so results have the size of
the worst case."""

from typing import Tuple

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import scale_tiles
from ..._ops.scale_tiles import capacity, round_up
from .checks import assume_expert_groups, check_one_device, check_tensor

_MODES = (None, "rows", "reduction")


def pad_token_groups(x: Tensor, offs: Tensor, alignment: int = 32) -> tuple[Tensor, Tensor]:
    """Moves each token group to a multiple of `alignment` and fills the gaps with zeros.

    x     [T, K]; the rows of group g end at offs[g]; rows past the last group are dropped
    offs  i32 or i64, [G], on the device

    Returns the padded x, [roundup(T + (alignment - 1) G, alignment), K], and the new ends of the
    groups, which have the type and shape of offs. Differentiable in x. Raises TypeError or
    ValueError. Errors name the argument."""
    check_tensor("x", x)
    check_tensor("offs", offs)
    check.size("alignment", alignment, 1)
    return torch.ops.mx.pad_token_groups(x, offs, alignment)


def unpad_token_groups(x: Tensor, offs: Tensor, rows: int, alignment: int = 32) -> Tensor:
    """Reverses pad_token_groups. `offs` and `alignment` are the arguments of that function, and
    `rows` is the number of its rows, T. Rows past the last token group are zeros. Differentiable in
    x. Raises TypeError or ValueError. Errors name the argument."""
    check_tensor("x", x)
    check_tensor("offs", offs)
    check.size("alignment", alignment, 1)
    if not isinstance(rows, (int, torch.SymInt)) or isinstance(rows, bool):
        raise TypeError(f"rows: expected a number, found {type(rows).__name__}")
    if rows < 0:
        raise ValueError(f"rows: expected at least 0, found {rows}")
    return torch.ops.mx.unpad_token_groups(x, offs, rows, alignment)


def rearrange_scales(scales: Tensor, offsets: Tensor | None = None, mode: str | None = None) -> Tensor:
    """Rearranges plain scales to the tiles read by tensor cores (PyTorch's SWIZZLE_32_4_4).

    scales   [batch..., rows, blocks], of any one-byte dtype; the matrices of a batch, such
             as experts, are rearranged separately
    offsets  i32 or i64, [groups], in device memory; requires a mode
    mode     "rows": token groups divide the rows, and each group starts a new tile, as in
             `quantize_mxfp8`. "reduction": groups divide the last dimension; offsets
             count elements and are multiples of 32. In the result, each group starts at
             a multiple of 128 elements, and gaps are zeros

    Returns [batch..., rows, blocks], padded with zeros to multiples of 128 rows and 4 blocks.
    Raises TypeError or ValueError. Errors name the argument."""
    check.one_of("mode", mode, _MODES)
    if (offsets is None) != (mode is None):
        raise ValueError("offsets: expected both offsets and a mode, or neither, "
                         f"found {'none' if offsets is None else 'some'} with mode "
                         f"{mode!r}")
    if not isinstance(scales, Tensor) or scales.element_size() != 1 or scales.dim() < 2:
        found = (f"{scales.dtype} of shape {tuple(scales.shape)}"
                 if isinstance(scales, Tensor) else type(scales).__name__)
        raise TypeError("scales: expected a tensor of rank at least 2 with one-byte "
                        f"elements, found {found}")
    check_tensor("scales", scales)
    if scales.is_quantized:             # PyTorch cannot view quantized tensors as bytes
        raise TypeError(f"scales: expected plain bytes, found {scales.dtype}")
    bits = scales.view(torch.uint8)
    if mode:
        check_tensor("offsets", offsets)
        groups = _count(offsets)
        if scales.dim() != 2:
            raise ValueError("scales: expected 2 dimensions with token groups, found shape "
                             f"{tuple(scales.shape)}")
        if mode == "rows":
            bits = _spread(bits, *_rows_with_tiles(offsets, bits.shape[0], groups))
        else:
            bits = _spread(bits.t(), *_columns_with_tiles(offsets, bits.shape[1],
                                                          groups)).t()
    return _tile(bits).view(scales.dtype)


def _tile(bits):
    """Returns scales, [..., rows, blocks], in the order of sf_128x4, with padding."""
    *batch, rows, blocks = bits.shape
    padded = scale_tiles.padded(rows, blocks)
    bits = torch.nn.functional.pad(bits, (0, padded[1] - blocks, 0, padded[0] - rows))
    n = len(batch)
    order = (*range(n), *(n + dim for dim in scale_tiles.TO_TILES))
    tiles = bits.reshape(*batch, *scale_tiles.split_shape(*padded)).permute(order)
    return tiles.reshape(*batch, *padded)


def from_tiles(tiles, rows, blocks):
    """Returns scales without padding, [..., rows, blocks], of scales in the order of sf_128x4."""
    *batch, padded_rows, padded_blocks = tiles.shape
    n = len(batch)
    parts = tiles.reshape(*batch, *scale_tiles.tiles_shape(padded_rows, padded_blocks))
    plain = parts.permute(*range(n), *(n + dim for dim in scale_tiles.FROM_TILES))
    return plain.reshape(tiles.shape)[..., :rows, :blocks]


def _spread(x, starts, firsts, ends, rows):
    """Scatters the rows of x into a result with `rows` rows. Other rows are zeros. Row r of x
    moves to row starts[g] + r - firsts[g] if it belongs to token group g."""
    index = torch.arange(x.shape[0], device=x.device)
    group = torch.searchsorted(ends, index, right=True)
    is_used = group < ends.shape[0]
    group = group.clamp(max=ends.shape[0] - 1)
    place = torch.where(is_used, starts[group] + index - firsts[group], rows)
    result = x.new_zeros((rows + 1, x.shape[1]))
    return result.index_copy(0, place, x)[:rows]


def _rows_with_tiles(offsets, rows, groups):
    ends = offsets.to(torch.int64)
    firsts = begins(ends)
    group = torch.arange(groups, device=ends.device)
    starts = scale_tiles.row_tiles(firsts, group) * scale_tiles.ROWS
    return starts, firsts, ends, scale_tiles.row_tiles(rows, groups) * scale_tiles.ROWS


def _columns_with_tiles(offsets, blocks, groups):
    ends = offsets.to(torch.int64)
    firsts = begins(ends)
    sizes = round_up(ends - firsts, scale_tiles.REDUCTION_ALIGN)
    starts = begins(torch.cumsum(sizes, 0))
    return starts // 32, firsts // 32, ends // 32, capacity(blocks * 32, groups) // 32


def begins(ends):
    """Returns the starts of token groups, given their ends."""
    return torch.cat([ends.new_zeros(1), ends[:-1]])


def _padded(offs, alignment):
    """Returns the starts and ends of the token groups, and their padded starts and ends."""
    ends = offs.to(torch.int64)
    firsts = begins(ends)
    padded = torch.cumsum(-((firsts - ends) // alignment) * alignment, 0)
    return firsts, ends, begins(padded), padded


def _room(rows, groups, alignment):
    return (rows + (alignment - 1) * (groups + 1)) // alignment * alignment


def _gather(x, source, is_used):
    """Gathers rows of x. Unused rows are zeros."""
    if x.shape[0] == 0:
        return x.new_zeros((source.shape[0], x.shape[1]))
    rows = x.index_select(0, source.clamp(0, x.shape[0] - 1))
    return torch.where(is_used[:, None], rows, rows.new_zeros(()))


def _count(ends):
    """Checks `ends` and returns the number of token groups. Can be traced."""
    assume_expert_groups(ends)
    if ends.dtype not in (torch.int32, torch.int64) or ends.dim() != 1 or \
            ends.shape[0] == 0:
        raise ValueError("offsets: expected a one-dimensional i32 or i64 tensor with at least "
                         f"one token group, found {ends.dtype} of shape {tuple(ends.shape)}")
    return ends.shape[0]


def _check(x, offs):
    if x.dim() != 2:
        raise ValueError(f"x: expected 2 dimensions, found shape {tuple(x.shape)}")
    return _count(offs)


@torch.library.custom_op("mx::pad_token_groups", mutates_args=())
def _pad(x: Tensor, offs: Tensor, alignment: int) -> Tuple[Tensor, Tensor]:
    groups = _check(x, offs)
    firsts, ends, starts, padded = _padded(offs, alignment)
    index = torch.arange(_room(x.shape[0], groups, alignment), device=x.device)
    group = torch.searchsorted(padded, index, right=True).clamp(max=groups - 1)
    source = firsts[group] + index - starts[group]
    return (_gather(x, source, source < ends[group]), padded.to(offs.dtype))


@torch.library.custom_op("mx::unpad_token_groups", mutates_args=())
def _unpad(x: Tensor, offs: Tensor, rows: int, alignment: int) -> Tensor:
    groups = _check(x, offs)
    firsts, ends, starts, _ = _padded(offs, alignment)
    index = torch.arange(rows, device=x.device)
    group = torch.searchsorted(ends, index, right=True)
    is_used, group = group < groups, group.clamp(max=groups - 1)
    return _gather(x, starts[group] + index - firsts[group], is_used)


@_pad.register_fake
def _(x, offs, alignment):
    groups = _check(x, offs)
    check_one_device(x=x, offs=offs)
    return (x.new_empty((_room(x.shape[0], groups, alignment), x.shape[1])),
            torch.empty_like(offs))


@_unpad.register_fake
def _(x, offs, rows, alignment):
    _check(x, offs)
    check_one_device(x=x, offs=offs)
    return x.new_empty((rows, x.shape[1]))


def _keep_pad(ctx, inputs, output):
    x, offs, ctx.alignment = inputs
    ctx.rows = x.shape[0]
    ctx.save_for_backward(offs)
    ctx.mark_non_differentiable(output[1])


def _pad_backward(ctx, dy, _):
    offs, = ctx.saved_tensors
    return torch.ops.mx.unpad_token_groups(dy, offs, ctx.rows, ctx.alignment), None, None


def _keep_unpad(ctx, inputs, output):
    x, offs, rows, ctx.alignment = inputs
    ctx.rows = x.shape[0]
    ctx.save_for_backward(offs)


def _unpad_backward(ctx, dy):
    offs, = ctx.saved_tensors
    dx = torch.ops.mx.pad_token_groups(dy, offs, ctx.alignment)[0]
    # The padded tensor may have had more or fewer rows than the result of pad_token_groups.
    more = ctx.rows - dx.shape[0]
    dx = torch.nn.functional.pad(dx, (0, 0, 0, more)) if more > 0 else dx[:ctx.rows]
    return dx, None, None, None


_pad.register_autograd(_pad_backward, setup_context=_keep_pad)
_unpad.register_autograd(_unpad_backward, setup_context=_keep_unpad)
