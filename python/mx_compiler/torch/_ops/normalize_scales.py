# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalized scales of MXFP4 weights (docs/reference/Spec.md, Expanded operands)."""

import torch

from ..._ops import scale_tiles
from . import tensors
from .checks import check_tensor

# Scale bytes with products of E2M1 elements that are exact in E4M3.
LEAST, MOST, NAN = 119, 133, 255
# A byte without rounding, for blocks of zeros.
OF_ZEROS = 127


def normalize_scales(elements, scales):
    """Normalizes the scales of MXFP4 weights for multiplication in FP8.

    elements  MXFP4 elements, [..., N, K / 2], not packed
    scales    blocked scales

    Returns normalized scales of the same shape, and the omitted factors of the rows, f32, [N], which
    are powers of two. Matrices of a batch share factors. Returns None if the scales of a row span more
    than 14 powers of two, because its weights would be rounded. Waits for the device. Raises TypeError or ValueError. Errors name the argument."""
    check_tensor("elements", elements)
    check_tensor("scales", scales)
    given = tensors.quantized("weights", elements, scales, "mxfp4", True)
    *batch, rows, columns = given.shape
    tiles = given.scales.view(torch.uint8)
    order = scale_tiles.FROM_TILES
    outer = tuple(range(len(batch)))
    matrix = tiles.permute(*outer, *(len(batch) + dim for dim in order))
    padded = scale_tiles.padded(rows, columns // 32)
    bytes_ = matrix.reshape(*batch, *padded)[..., :rows, :columns // 32].int()
    pairs = given.elements.view(torch.uint8).view(*batch, rows, columns // 32, 16)
    counts = ((pairs & 0x77) != 0).any(-1) & (bytes_ != NAN)
    over = (*outer, -1)
    top = torch.where(counts, bytes_, -1).amax(over)
    least = torch.where(counts, bytes_, NAN).amin(over)
    if bool((top - least > MOST - LEAST).any()):
        return None
    top = torch.where(top < 0, MOST, top)
    found = torch.where(counts, bytes_ - top[:, None] + MOST, OF_ZEROS)
    found = torch.where(bytes_ == NAN, NAN, found).to(torch.uint8)
    whole = found.new_full((*batch, *padded), OF_ZEROS)
    whole[..., :rows, :columns // 32] = found
    split = whole.view(*batch, *scale_tiles.split_shape(rows, columns // 32))
    back = split.permute(*outer, *(len(batch) + dim for dim in scale_tiles.TO_TILES))
    factors = torch.ldexp(torch.ones_like(top, dtype=torch.float32), top - MOST)
    return back.reshape(scales.shape).view(scales.dtype), factors
