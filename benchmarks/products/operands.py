# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operands, and what they stand for."""

import formats
import torch


def decode_table(name):
    """The value of each code, as float32."""
    return torch.tensor(formats.values(name), dtype=torch.float32, device="cuda")


def random_codes(name, rows, k):
    """Codes of normal numbers rounded to the format: the bits that quantizers
    give, so that power is what it is in use."""
    table = decode_table(name)
    finite = torch.nonzero(torch.isfinite(table)).flatten()
    order = finite[torch.argsort(table[finite])]
    values = table[order]
    largest = values[-1]
    codes = torch.empty(rows, k, dtype=torch.uint8, device="cuda")
    for begin in range(0, rows, 1024):
        x = torch.randn(min(1024, rows - begin), k, device="cuda")
        blocks = x.view(x.shape[0], -1, 32)
        x = (blocks / blocks.abs().amax(-1, keepdim=True) * largest).view_as(x)
        above = torch.searchsorted(values, x).clamp(1, len(values) - 1)
        low, high = values[above - 1], values[above]
        codes[begin:begin + len(x)] = order[torch.where(x - low < high - x, above - 1, above)]
    return codes


def pack(codes, name):
    """As memory holds them: two of 4 bits in a byte, the first in its low half."""
    if name != "f4E2M1FN":
        return codes
    return codes[:, 0::2] | codes[:, 1::2] << 4


def random_scales(scale, rows, blocks):
    """Bytes, and what they stand for."""
    if scale == "f8E8M0FNU":
        codes = torch.randint(121, 128, (rows, blocks), dtype=torch.uint8, device="cuda")
        return codes, torch.exp2(codes.float() - 127)
    codes = torch.randint(0x28, 0x48, (rows, blocks), dtype=torch.uint8, device="cuda")
    return codes, decode_table("f8E4M3FN")[codes.long()]


def tile(scales):
    """In tiles of 128 rows by 4 blocks; 0 beyond the matrix."""
    rows, blocks = scales.shape
    full = torch.zeros(-(-rows // 128) * 128, -(-blocks // 4) * 4, dtype=torch.uint8,
                       device="cuda")
    full[:rows, :blocks] = scales
    tiles = full.view(-1, 4, 32, full.shape[1] // 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).contiguous()


class Operand:
    """Elements and scales as arguments, and the numbers as bf16, which is exact
    for these scales. Numbers of bf16 have no scales."""

    def __init__(self, element, scale, rows, k):
        if element == "bf16":
            self.values = self.elements = torch.randn(rows, k, dtype=torch.bfloat16, device="cuda")
            self.scales = None
            return
        block = 16 if scale == "f8E4M3FN" else 32
        codes = random_codes(element, rows, k)
        scales, factors = random_scales(scale, rows, k // block)
        self.elements, self.scales = pack(codes, element), tile(scales)
        table = decode_table(element)
        self.values = torch.empty(rows, k, dtype=torch.bfloat16, device="cuda")
        for begin in range(0, rows, 1024):
            part = table[codes[begin:begin + 1024].long()]
            part *= factors[begin:begin + 1024].repeat_interleave(block, 1)
            self.values[begin:begin + 1024] = part  # exact
            assert torch.equal(self.values[begin:begin + 1024].float(), part)
