# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts programs of expert layers from blocks of 32 to the blocks of fp8_text."""

import re

from .fp8_text import BLOCK, REDUCTION_FORM, ROWS_FORM

_QUANTIZE = re.compile(r"(mx\.(?:fused_)?quantize\b.*?ins\((%w\d )?.*?axes = \[[01, ]+\])", re.DOTALL)
_MATMUL = re.compile(r"(mx\.grouped_matmul ragged = (\w+)\s.*?outs\(.*?\))", re.DOTALL)
# Aliases of a weight's elements and scales.
_WEIGHT = re.compile(r"^(!w\dt?)(e = tensor<(\d+)x(\d+)x(\d+)x\w+>\n)\1s = .*$", re.MULTILINE)


def with_blocks_of_128(text):
    """Returns `text`, an example with numbers of blocks of 128, with the block sizes of all
    operations and the types of scales of weights."""
    def weight(found):
        rows, columns = (int(found[i]) // BLOCK for i in (4, 5))
        return f"{found[1]}{found[2]}{found[1]}s = tensor<{found[3]}x{rows}x{columns}xf8E8M0FNU>"

    text = text.replace("%c32 = arith.constant 32 :", f"%c32 = arith.constant {BLOCK} :")
    text = _QUANTIZE.sub(
        lambda found: f"{found[1]} block_size = {f'{BLOCK}x' * bool(found[2])}{BLOCK}", text)
    text = _MATMUL.sub(
        lambda found: f"{found[1]} {ROWS_FORM if found[2] == 'rows' else REDUCTION_FORM}", text)
    return _WEIGHT.sub(weight, text)
