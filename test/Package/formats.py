"""Checks that the package supports the formats in include/mx/BlockFormats/Formats.def. --update writes the package's
rows.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

ROWS = "FORMATS = {format.name: format for format in (\n"
# The MLIR name and the bit width of each number format.
TYPES = {"E4M3": ("f8E4M3FN", 8), "E5M2": ("f8E5M2", 8), "E3M2": ("f6E3M2FN", 6),
         "E2M3": ("f6E2M3FN", 6), "E2M1": ("f4E2M1FN", 4), "E8M0": ("f8E8M0FNU", 8),
         "UE4M3": ("f8E4M3FN", 8)}

source = pathlib.Path(sys.argv[1])
table = (source / "include/mx/BlockFormats/Formats.def").read_text()
header = (source / "include/mx/BlockFormats/BlockFormat.h").read_text()
sizes = dict(re.findall(r"constexpr int64_t (k\w+) = (\d+);", header))
blocks, rows = {}, []
for scale, size, int8, _ in re.findall(r"^MX_BLOCK_FORMAT\((\w+), (\w+), (\w+), (\w+)\)$", table, re.M):
    blocks[scale] = sizes.get(size, size), int8 == "true"
for name, element, scale in re.findall(r'^MX_OPERAND_FORMAT\("([\w-]+)", (\w+), (\w+)\)$', table, re.M):
    element, bits = TYPES[element]
    rows.append((name.replace("-", "_"), element, scale, bits, ""))
rows += [("mxint8", "i8", scale, 8, ", has_matmul=False")
         for scale, (_, takes_int8) in blocks.items() if takes_int8]
assert len(blocks) > 1 and len(rows) > 6, (blocks, rows)
written = "".join(f'    Format("{name}", "{element}", "{TYPES[scale][0]}", {blocks[scale][0]}, '
                  f"{bits}{more}),\n" for name, element, scale, bits, more in rows)

path = source / "python/mx_compiler/_ops/formats.py"
before, _, rest = path.read_text().partition(ROWS)
found, _, after = rest.partition(")}\n")
if sys.argv[2:] == ["--update"]:
    path.write_text(before + ROWS + written + ")}\n" + after)
else:
    assert found == written, f"expected in {path}:\n{written}found:\n{found}run {sys.argv[0]} --update"
