"""Tests of wmma: the register layout of each fragment, loads and stores of all shapes,
types and layouts, and MMAs."""

import struct

from ..base import Group, name_of, pack, random_bytes
from ._operands import small, wild
from .matrix import doubles

# Bits of an element in memory.
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "s32": 32,
}
LARGE = ("m16n16k16", "m8n32k16", "m32n8k16")
# (shapes, types of A and B, types of C, layouts of A and B)
ROW = (("row", "col"),)
ANY = tuple((a, b) for a in ("row", "col") for b in ("row", "col"))
FORMS = [
    (LARGE, ("f16",), ("f16", "f32"), ANY),
    (LARGE, ("bf16",), ("f32",), ANY),
    (LARGE, ("s8", "u8"), ("s32",), ANY),
    (("m16n16k8",), ("tf32",), ("f32",), ANY),
    (("m8n8k4",), ("f64",), ("f64",), ANY),
    (("m8n8k32",), ("s4", "u4"), ("s32",), ROW),
    (("m8n8k128",), ("b1",), ("s32",), ROW),
]
# Padding elements of each row in memory, a multiple of 16 bytes.
PAD = 128


def extents(shape, matrix):
    m, n, k = (
        int(x) for x in shape.replace("n", " ").replace("k", " ")[1:].split()
    )
    return {"a": (m, k), "b": (k, n), "c": (m, n)}[matrix]


def registers(shape, matrix, type):
    """Returns the number of registers and the bits of each."""
    if type == "f64":
        return (2 if matrix == "c" else 1), 64
    rows, cols = extents(shape, matrix)
    if type == "f16":
        return (4 if matrix == "c" else 8), 32
    return max(1, rows * cols * BITS[type] // 1024), 32


def names(prefix, count):
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def stride(shape, matrix, layout, pad=PAD):
    rows, cols = extents(shape, matrix)
    return (cols if layout == "row" else rows) + pad


def size(shape, matrix, layout, type, pad=PAD):
    """Returns the size of the matrix in memory, in bytes."""
    rows, cols = extents(shape, matrix)
    lines = rows if layout == "row" else cols
    return lines * stride(shape, matrix, layout, pad) * BITS[type] // 8


def image(shape, matrix, layout, type, element, pad=PAD):
    """Returns the bytes of the matrix in memory. `element(row, column)` returns an int of
    BITS[type] bits. The padding between rows is filled with ones."""
    rows, cols = extents(shape, matrix)
    step, bits = stride(shape, matrix, layout, pad), BITS[type]
    total = size(shape, matrix, layout, type, pad)
    whole = (1 << 8 * total) - 1
    for r in range(rows):
        for c in range(cols):
            at = bits * (r * step + c if layout == "row" else c * step + r)
            whole ^= (((1 << bits) - 1) ^ element(r, c)) << at
    return whole.to_bytes(total, "little")


def fragments(group):
    """Stores the registers after a load, to test the register layouts. Each element is set to
    bits of its index. If an element is too narrow for the index, several cases load
    different bits."""
    seen = set()
    for shapes, factors, results, layouts in FORMS:
        for shape in shapes:
            wanted = [("a", t, a) for t in factors for a, _ in layouts]
            wanted += [("b", t, b) for t in factors for _, b in layouts]
            wanted += [("c", t, l) for t in results for l in ("row", "col")]
            for matrix, type, layout in wanted:
                if (shape, matrix, type, layout) in seen:
                    continue
                seen.add((shape, matrix, type, layout))
                load(group, shape, matrix, type, layout)


def load(group, shape, matrix, type, layout):
    count, bits = registers(shape, matrix, type)
    entry = f"load_{matrix}_{shape}_{type}_{layout}"
    step = stride(shape, matrix, layout)
    lines = [
        f".reg .b{bits} %f<{count}>;",
        "ld.param.u64 %rd1, [p_in];",
        "ld.param.u64 %rd2, [p_out];",
        "mov.u32 %r1, %tid.x;",
        f"mad.wide.u32 %rd2, %r1, {count * bits // 8}, %rd2;",
        f"wmma.load.{matrix}.sync.aligned.{layout}.{shape}.global.{type} "
        f"{names('f', count)}, [%rd1], {step};",
    ]
    lines += [f"st.global.b{bits} [%rd2+{i * bits // 8}], %f{i};" for i in range(count)]
    group.entry(entry, ["u64 in", "u64 out"], "\n".join(lines + ["ret;"]))
    rows, cols = extents(shape, matrix)
    width = BITS[type]
    shown = (rows * cols - 1).bit_length()
    for plane in range(-(-shown // width)):
        data = image(
            shape,
            matrix,
            layout,
            type,
            lambda r, c: (r * cols + c) >> plane * width & ((1 << width) - 1),
        )
        group.case(
            f"{entry}_{plane}",
            entry,
            buffers={"in": data, "out": 32 * count * bits // 8},
            args=["in", "out"],
        )


def mmas(group):
    for shapes, factors, results, layouts in FORMS:
        for shape in shapes:
            for la, lb in layouts:
                if len(factors) == 2:
                    for ta in factors:
                        for sat in ("", ".satfinite"):
                            mma(group, shape, la, lb, ta, "s32", "s32", sat=sat)
                elif factors == ("f16",):
                    for td in results:
                        for tc in results:
                            mma(group, shape, la, lb, "f16", tc, td)
                elif factors == ("b1",):
                    for op in ("xor.popc", "and.popc"):
                        mma(group, shape, la, lb, "b1", "s32", "s32", op=op)
                else:
                    mma(group, shape, la, lb, *factors, *results, *results)


def mma(group, shape, la, lb, tab, tc, td, sat="", op=""):
    """Adds an MMA. C and D use the layout of A."""
    types = f"{td}.{tc}" if tab == "f16" else f"{td}.{tab}.{tab}.{tc}"
    instruction = "wmma.mma" + (f".{op}" if op else "")
    instruction += f".sync.aligned.{la}.{lb}.{shape}.{types}{sat}"
    entry = name_of(instruction[9:].replace(".sync.aligned", ""))
    layouts = {"a": la, "b": lb, "c": la, "d": la}
    kinds = {"a": tab, "b": tab, "c": tc, "d": td}
    lines = []
    for x in "abcd":
        matrix = "c" if x == "d" else x
        count, bits = registers(shape, matrix, kinds[x])
        lines.append(f".reg .b{bits} %{x}<{count}>;")
        lines.append(f"ld.param.u64 %rd{ord(x) - 96}, [p_{x}];")
        if x != "d":
            step = stride(shape, matrix, layouts[x], 0)
            lines.append(
                f"wmma.load.{x}.sync.aligned.{layouts[x]}.{shape}.global.{kinds[x]} "
                f"{names(x, count)}, [%rd{ord(x) - 96}], {step};"
            )
    lists = {
        x: names(x, registers(shape, "c" if x == "d" else x, kinds[x])[0])
        for x in "abcd"
    }
    lines.append(f"{instruction} {', '.join(lists[x] for x in 'dabc')};")
    step = stride(shape, "c", la, 0)
    lines.append(
        f"wmma.store.d.sync.aligned.{la}.{shape}.global.{td} "
        f"[%rd4], {lists['d']}, {step};"
    )
    group.entry(entry, [f"u64 {x}" for x in "abcd"], "\n".join(lines + ["ret;"]))
    whole = td == "s32"
    for kind in ("any",) if whole else ("exact", "random"):
        buffers = {}
        for x in "abc":
            total = size(shape, x, layouts[x], kinds[x], 0)
            buffers[x] = operands(kinds[x], total, kind, f"{entry} {x} {kind}")
        buffers["d"] = size(shape, "c", la, td, 0)
        group.case(
            f"{entry}_{kind}",
            entry,
            buffers=buffers,
            args=["a", "b", "c", "d"],
            outputs=["d"],
            item=BITS[td] // 8,
            sums="exact" if kind == "exact" else "truncated",
        )


def operands(type, total, kind, seed):
    if type in ("s8", "u8", "s4", "u4", "b1", "s32"):
        return random_bytes(seed, total)
    count = total * 8 // BITS[type]
    if type == "f64":
        return doubles(kind, count, seed)
    make = {"exact": small, "random": wild}[kind]
    return make("tf32" if type == "f32" else type, count, seed)


def groups():
    fragment, multiply = Group("matrix-wmma-move"), Group("matrix-wmma-mma")
    fragments(fragment)
    mmas(multiply)
    return [fragment, multiply]
