# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operands and their values."""

import functools

import mx_compiler.torch as mxt
import torch
from mx_compiler.selftest.reference import code_values

SMALL = (0, 1, -1, 2, -2)  # for exact(): available in every format


def decode_table(name):
    """Returns the value of each code as float32."""
    return torch.tensor(code_values(name), dtype=torch.float32, device="cuda")


# Number of rows drawn for a format and reduction size. Operands repeat them in any order,
# because drawing each row of 64 groups takes longer than all their matmuls.
ROWS_DRAWN = 2048


@functools.lru_cache(maxsize=4)
def drawn_rows(name, k, block):
    """Returns codes of normal values rounded to the format, like the output of quantizers, so
    that power is realistic."""
    table = decode_table(name)
    finite = torch.nonzero(torch.isfinite(table)).flatten()
    order = finite[torch.argsort(table[finite])]
    values = table[order]
    x = torch.randn(ROWS_DRAWN, k, device="cuda")
    blocks = x.view(ROWS_DRAWN, -1, block)
    x = (blocks / blocks.abs().amax(-1, keepdim=True) * values[-1]).view_as(x)
    above = torch.searchsorted(values, x).clamp(1, len(values) - 1)
    low, high = values[above - 1], values[above]
    return order[torch.where(x - low < high - x, above - 1, above)].to(torch.uint8)


def random_codes(name, rows, k, block):
    return drawn_rows(name, k, block)[torch.randint(0, ROWS_DRAWN, (rows,), device="cuda")]


def small_codes(name, rows, k, block):
    table = decode_table(name).tolist()
    codes = torch.tensor([table.index(value) for value in SMALL], dtype=torch.uint8, device="cuda")
    return codes[torch.randint(0, len(SMALL), (rows, k), device="cuda")]


def pack(codes, name):
    """Packs two 4-bit codes per byte, the first in the low half."""
    if name != "f4E2M1FN":
        return codes
    return codes[:, 0::2] | codes[:, 1::2] << 4


def random_scales(scale, rows, blocks, kind):
    """Returns bytes of scales and their values."""
    if scale == "f32":  # powers of two, for exact values in bf16
        low, high = (0, 2) if kind == "exact" else (-6, 1)
        factors = torch.exp2(torch.randint(low, high, (rows, blocks), device="cuda").float())
        return factors, factors
    one = 127 if scale == "f8E8M0FNU" else 0x38  # adding 8 doubles an E4M3 scale
    if kind == "exact":
        more = torch.randint(0, 2, (rows, blocks), dtype=torch.uint8, device="cuda")
        return one + more * (1 if one == 127 else 8), torch.exp2(more.float())
    if scale == "f8E8M0FNU":
        first, last = (107, 147) if kind == "wide" else (121, 127)
        codes = torch.randint(first, last + 1, (rows, blocks), dtype=torch.uint8, device="cuda")
        return codes, torch.exp2(codes.float() - 127)
    codes = torch.randint(0x28, 0x48, (rows, blocks), dtype=torch.uint8, device="cuda")
    return codes, decode_table("f8E4M3FN")[codes.long()]


def tiles(scales, ends=None, matrices=0):
    """Arranges scales in tiles of 128 rows by 4 blocks, 0 beyond the matrix. Expert groups of
    rows, or several stacked matrices, have separate tiles."""
    if matrices:
        scales = scales.view(matrices, -1, scales.shape[-1])
    if ends:
        offsets = torch.tensor(ends, dtype=torch.int32, device=scales.device)
        found = mxt.rearrange_scales(scales, offsets, "rows")
    else:
        found = mxt.rearrange_scales(scales)
    *batch, rows, blocks = found.shape
    return found.view(*batch, rows // 128, blocks // 4, 32, 4, 4)


def by_columns(scales, matrices=0):
    """Arranges f32 scales in layout mn_major."""
    found = scales.view(matrices or 1, -1, scales.shape[-1]).transpose(1, 2)
    found = torch.nn.functional.pad(found, (0, -found.shape[-1] % 4)).contiguous()
    found = found.view(*found.shape[:2], -1, 4)
    return found if matrices else found[0]


def segments(ends):
    """Returns the starts of the groups of a ragged reduction."""
    starts = [0]
    for begin, end in zip([0, *ends], ends):
        starts.append(starts[-1] + -(-(end - begin) // 128) * 128)
    return starts


class Operand:
    """Elements and scales as arguments, and the values in bf16, which represents them exactly
    for these scales. bf16 operands have no scales.

    kind: "" for values like a quantizer's; "wide" for scales over 40 binades; "grid" for bf16
    values representable in MXFP8; "exact" for small integers with exact f32 sums in any order.
    ends: ends of row groups. matrices: number of stacked matrices of equal height.
    valid: mask of columns; other columns are zeros and belong to no group.
    block: elements that share a scale, 0 for whole rows. square: rows with one scale."""

    def __init__(self, element, scale, rows, k, kind="", ends=None, valid=None, matrices=0,
                 block=32, square=1):
        if element == "bf16" and kind != "grid":
            self.values = self.elements = (
                torch.randint(-2, 3, (rows, k), device="cuda").bfloat16() if kind == "exact" else
                torch.randn(rows, k, dtype=torch.bfloat16, device="cuda"))
            self.scales = None
            return
        of_grid = element == "bf16"
        element = "f8E4M3FN" if of_grid else element
        block = block or k
        codes = (small_codes if kind == "exact" else random_codes)(element, rows, k, max(block, 32))
        height = rows // (matrices or 1)
        squares = -(-height // square)
        scales, factors = random_scales(scale, squares * (matrices or 1), k // block, kind)
        if square > 1:
            factors = factors.view(-1, squares, k // block).repeat_interleave(square, 1)
            factors = factors[:, :height].reshape(rows, k // block)
        if valid is not None:
            codes *= valid.to(torch.uint8)
        table = decode_table(element)
        self.values = torch.empty(rows, k, dtype=torch.bfloat16, device="cuda")
        for begin in range(0, rows, 1024):
            part = table[codes[begin:begin + 1024].long()]
            part *= factors[begin:begin + 1024].repeat_interleave(block, 1)
            self.values[begin:begin + 1024] = part  # exact
            assert torch.equal(self.values[begin:begin + 1024].float(), part)
        if of_grid:
            self.elements, self.scales = self.values, None
            return
        self.elements = pack(codes, element)
        if scale != "f32":
            self.scales = tiles(scales, ends, matrices)
        elif square == 1:
            self.scales = by_columns(scales, matrices)
        else:
            self.scales = scales.view(*((matrices,) if matrices else ()), squares, k // block)
