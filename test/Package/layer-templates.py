"""Checks that the package's layer programs match the examples, at the examples' sizes and at other sizes.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

from mx_compiler._ops.experts import ranks_template_text, template_text

examples = pathlib.Path(sys.argv[1], "examples")
assert ranks_template_text(2, 64, 8, 384, 256, 2) == (examples / "moe_layer_ranks.mlir").read_text()
assert template_text(8, 384, 256) == (examples / "moe_layer.mlir").read_text()

# The result contains none of the examples' sizes and element types.
FORMATS = "f4E2M1FN", "f8E5M2", "f6E2M3FN"
for text, own in (template_text(17, 96, 160, *FORMATS), []), (
        ranks_template_text(3, 55, 51, 96, 160, 13, *FORMATS), [13, 3 * 55, 3 * 55 * 13]):
    found = {int(size) for dims in re.findall(r"tensor<((?:\w+?x|[?]x)*)[bfi]\d", text) for size in re.findall(r"\d+", dims)}
    assert found == {17, 96, 160, 320, 3, 5, 10, *own}, found
    assert set(re.findall(r"groups = (\d+)|%slack = arith.constant (\d+)", text)) == {("17", ""), ("", str(127 * 18))}
    assert set(re.findall(r"\[%p, (\d+)\]|gu\[0, ([1-9]\d*)\]", text)) == {("160", ""), ("", "160")}
    assert "f8E4M3" not in text and all(format in text for format in FORMATS)
assert set(re.findall(r"(experts|size|tokens) = (\d+)", text)) == {("experts", "51"), ("size", "3"), ("tokens", "55")}
assert "%own = arith.constant 17 :" in text
# Blocks of 128 do not change an equal number of experts.
assert "%own = arith.constant 32 :" in ranks_template_text(2, 55, 64, 128, 256, 3, is_fast=True)
