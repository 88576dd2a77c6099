# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalized scales of MXFP4 weights (docs/reference/Spec.md, Expanded operands)."""

import torch
from torch import Tensor

from ..._ops import scale_tiles
from . import tensors
from .checks import check_tensor
from .token_groups import from_tiles, rearrange_scales

# Scale bytes with products of E2M1 elements that are exact in E4M3.
LEAST, MOST, NAN = 119, 133, 255
# A byte without rounding, for blocks of zeros.
OF_ZEROS = 127


def normalize_scales(elements: Tensor, scales: Tensor) -> tuple[Tensor, Tensor] | None:
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
    blocks = columns // 32
    tiles = given.scales.view(torch.uint8).reshape(*batch, *scale_tiles.padded(rows, blocks))
    bytes_ = from_tiles(tiles, rows, blocks).int()
    pairs = given.elements.view(torch.uint8).view(*batch, rows, blocks, 16)
    counts = ((pairs & 0x77) != 0).any(-1) & (bytes_ != NAN)
    over = (*range(len(batch)), -1)
    top = torch.where(counts, bytes_, -1).amax(over)
    least = torch.where(counts, bytes_, NAN).amin(over)
    if bool((top - least > MOST - LEAST).any()):
        return None
    top = torch.where(top < 0, MOST, top)
    found = torch.where(counts, bytes_ - top[:, None] + MOST, OF_ZEROS)
    found = torch.where(bytes_ == NAN, NAN, found).to(torch.uint8)
    tiles = rearrange_scales(found.view(torch.float8_e8m0fnu))
    factors = torch.ldexp(torch.ones_like(top, dtype=torch.float32), top - MOST)
    return tiles.reshape(scales.shape).view(scales.dtype), factors
