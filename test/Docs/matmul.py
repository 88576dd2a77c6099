"""Checks the memory maps of docs/design/Matmul.md against the IR on the page and its placed rings. Another test
compares that IR with the output of mx-opt.

REQUIRES: compiler
RUN: mx-opt %mx_src/examples/matmul_schedule.mlir --mx-to-nvvm --mlir-print-ir-after=mxgpu-lower-rings -o /dev/null 2> %t
RUN: %python %s %mx_src/docs/design/Matmul.md %t
"""

import re
import sys

page = open(sys.argv[1]).read()
ir = re.search(r"^```mlir\n(.*?)^```", page, re.M | re.S)[1]
placed = re.search(r"mxgpu\.kernel @main_matmul.*?^  }", open(sys.argv[2]).read(), re.M | re.S)[0]
tables = page.split("## Memory layout", 1)[1]


def table(after):
    rows = tables.split(after, 1)[1].split("|---|---|\n", 1)[1].split("\n\n", 1)[0]
    for row in rows.strip().split("\n"):
        where, what = [cell.strip() for cell in row.strip("|").split("|", 1)]
        numbers = [int(n) for n in where.split(" to ")]
        yield numbers[0], numbers[-1], what


def expect(expected, found, what):
    if expected != found:
        sys.exit(f"{what}: expected {expected}, found {found}")


BYTES = {"f8E4M3FN": 1, "f8E8M0FNU": 1, "f32": 4}
smem, tmem, barriers = [], [], []
for alias, stages, fields in re.findall(r"^(!\w+) = !mxgpu\.ring<(\d+) x \((.*?)\), producer", ir, re.M):
    name = re.search(rf'mxgpu\.ring "(\w+)" : {alias}$', ir, re.M)[1]
    offsets, stride, barrier = re.search(
        rf'mxbar\.placed_ring "{name}" offsets \[(.*?)\] stride\((\d+)\) barriers\((\d+)\)', placed
    ).groups()
    stages, barrier, stride = int(stages), int(barrier), int(stride)
    for offset, (field, space, shape, element) in zip(
        offsets.split(", "), re.findall(r"(\w+): (\w+)<((?:\d+x)+)(\w+)", fields)
    ):
        sizes = [int(n) for n in shape.strip("x").split("x")]
        size = sizes[1]
        if space == "smem":
            size = BYTES[element]
            for n in sizes:
                size *= n
        if space == "smem":
            smem.append((int(offset), int(offset) + size - 1, f"`{name}.{field}` of the first stage"))
        else:
            end = int(offset) + stages * size - 1
            tmem.append((int(offset), end, f"{stages} stages of `{name}.{field}`, {size} columns each"))
    if space == "smem":
        smem.append((barrier, barrier + 15, f"full and empty barrier of the first stage of `{name}`"))
        start = int(offsets.split(", ")[0])
        end = start + stages * stride - 1
        smem.append((start + stride, end, f"{stages - 1} more stages of `{name}`, {stride} bytes each"))
    else:
        end = barrier + stride * stages - 1
        barriers.append((barrier, end, f"barriers of `{name}`: {stages} full, {stages} empty"))
columns, slot = map(int, re.search(r"tensor_memory columns\((\d+)\) slot\((\d+)\)", placed).groups())
barriers.append((slot, slot + 3, "the address of tensor memory"))
for field, column, rows in re.findall(r"copy_to_columns %(\w+) .* column\((\d+)\).*scales<(\d+)>", placed):
    tmem.append((int(column), int(column) + int(rows) // 32 - 1, f"the scales `{field}`"))
tmem.append((tmem[-1][1] + 1, columns - 1, "unused"))
warps, first = [], 0
for role, count in re.findall(r"mxgpu\.role @(\w+) warps\((\d+)\)", ir):
    warps.append((first, first + int(count) - 1, f"`@{role}`"))
    first += int(count)

for after, computed in [
    ("Shared memory:", sorted(smem) + sorted(barriers)),
    ("Tensor memory", tmem),
    ("Warps:", warps),
]:
    shown = list(table(after))
    expect(len(computed), len(shown), f"rows of the table after '{after}'")
    for (start, end, what), row in zip(computed, shown):
        expect((start, end, what), (row[0], row[1], row[2][: len(what)]), after)
