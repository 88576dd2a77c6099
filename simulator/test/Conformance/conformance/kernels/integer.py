"""Integer arithmetic: every type of every instruction with edge cases, random
words, shift amounts beyond the width, and division by zero."""

from ..base import Group, name_of, pack, random_words

EDGES = {
    16: [0, 1, 2, 3, 5, 7, 0x7F, 0x80, 0xFF, 0x100, 0x7FFE, 0x7FFF, 0x8000, 0x8001]
    + [0xFFFE, 0xFFFF, 15, 16, 17, 0x1234],
    32: [0, 1, 2, 3, 7, 31, 32, 33, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
    + [
        0x7FFFFFFF,
        0x80000000,
        0x80000001,
        0xFFFFFFFE,
        0xFFFFFFFF,
        0x12345678,
        0xDEADBEEF,
    ],
    64: [0, 1, 2, 3, 63, 64, 65, 0xFFFFFFFF, 1 << 32, (1 << 32) + 1, (1 << 63) - 1]
    + [1 << 63, (1 << 63) + 1, (1 << 64) - 2, (1 << 64) - 1, 0x123456789ABCDEF0],
}


def operands(bits, count, seed, extra=200):
    """Returns a column of values for each operand: all pairs of edge values (a selection of
    triples for three operands), and random values, some of them small."""
    e = EDGES[bits]
    if count == 1:
        rows = [(a,) for a in e] + [(1 << i,) for i in range(bits)]
        rows += [((1 << i) - 1,) for i in range(bits)]
    elif count == 2:
        rows = [(a, b) for a in e for b in e]
    else:
        rows = [
            tuple(e[(i * 7 + j * k + k) % len(e)] for k in range(count))
            for i in range(len(e))
            for j in range(len(e))
        ]
    words = random_words(f"{seed}{bits}", bits // 8, extra * count)
    rows += [tuple(words[i * count : (i + 1) * count]) for i in range(extra)]
    shifts = random_words(f"{seed}{bits}s", 1, extra * count)
    rows += [
        tuple(
            words[i * count + k] >> (shifts[i * count + k] % bits) for k in range(count)
        )
        for i in range(extra)
    ]
    return [[r[k] for r in rows] for k in range(count)]


def table():
    """Returns rows (instruction, sizes of the operands, size of the result)."""
    rows = []

    def add(text, types, ins, out=None):
        for t in types.split():
            bits = int(t[1:])
            rows.append((text.replace("T", t), [bits] * ins, out or bits))

    every = "s16 u16 s32 u32 s64 u64"
    for op in "add sub min max div rem mul.lo mul.hi".split():
        add(f"{op}.T", every, 2)
    add("add.sat.T", "s32", 2)
    add("sub.sat.T", "s32", 2)
    for op in ("abs", "neg"):
        add(f"{op}.T", "s16 s32 s64", 1)
    for op in "and or xor".split():
        add(f"{op}.T", "b16 b32 b64", 2)
    for op in "not cnot".split():
        add(f"{op}.T", "b16 b32 b64", 1)
    add("mad.lo.T", every, 3)
    add("mad.hi.T", every, 3)
    add("mad.hi.sat.T", "s32", 3)
    for op in "mul24.lo mul24.hi".split():
        add(f"{op}.T", "s32 u32", 2)
    for op in "mad24.lo mad24.hi".split():
        add(f"{op}.T", "s32 u32", 3)
    add("mad24.hi.sat.T", "s32", 3)
    add("sad.T", every, 3)
    add("brev.T", "b32 b64", 1)
    for op in ("popc", "clz"):
        add(f"{op}.T", "b32 b64", 1, 32)
    for op in ("bfind", "bfind.shiftamt"):
        add(f"{op}.T", "s32 u32 s64 u64", 1, 32)
    for t in "u16 s16 u32 s32".split():
        bits = int(t[1:])
        rows.append((f"mul.wide.{t}", [bits] * 2, 2 * bits))
        rows.append((f"mad.wide.{t}", [bits, bits, 2 * bits], 2 * bits))
    for t in "b16 b32 b64".split():
        rows.append((f"shl.{t}", [int(t[1:]), 32], int(t[1:])))
    for t in "b16 b32 b64 s16 u16 s32 u32 s64 u64".split():
        rows.append((f"shr.{t}", [int(t[1:]), 32], int(t[1:])))
    for t in "u32 s32 u64 s64".split():
        rows.append((f"bfe.{t}", [int(t[1:]), 32, 32], int(t[1:])))
    for t in "b32 b64".split():
        rows.append((f"bfi.{t}", [int(t[1:])] * 2 + [32, 32], int(t[1:])))
    rows.append(("fns.b32", [32, 32, 32], 32))
    for mode in "clamp wrap".split():
        for side in "l r".split():
            rows.append((f"shf.{side}.{mode}.b32", [32, 32, 32], 32))
    for a in "u32 s32".split():
        for b in "u32 s32".split():
            rows.append((f"dp4a.{a}.{b}", [32, 32, 32], 32))
            for half in "lo hi".split():
                rows.append((f"dp2a.{half}.{a}.{b}", [32, 32, 32], 32))
    rows.append(("szext.wrap.u32", [32, 32], 32))
    rows.append(("szext.wrap.s32", [32, 32], 32))
    rows.append(("szext.clamp.u32", [32, 32], 32))
    rows.append(("szext.clamp.s32", [32, 32], 32))
    rows.append(("bmsk.wrap.b32", [32, 32], 32))
    rows.append(("bmsk.clamp.b32", [32, 32], 32))
    return rows


# Operands that are positions, widths or shift amounts, and therefore small.
SMALL = {
    "shl": [1],
    "shr": [1],
    "bfe": [1, 2],
    "bfi": [2, 3],
    "fns": [1, 2],
    "shf": [2],
    "szext": [1],
    "bmsk": [0, 1],
}
COUNTS = [0, 1, 2, 3, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 127, 128, 255]
COUNTS += [256, 257, 0x10000, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF8]


def arrays(instruction, bits):
    op = instruction.split(".")[0]
    values = [operands(max(bits), len(bits), instruction)[k] for k in range(len(bits))]
    n = len(values[0])
    for k in SMALL.get(op, []):
        step = [1, 3, 5, 7][k]
        values[k] = [
            (
                COUNTS[(i * step + i // len(COUNTS)) % len(COUNTS)]
                if i % 8
                else values[k][i]
            )
            for i in range(n)
        ]
    if op == "fns":
        # The base is a bit number. The offset is small and signed.
        values[1] = [v % 32 for v in values[1]]
        values[2] = [i % 67 - 33 for i in range(n)]
    return [pack(b // 8, v) for b, v in zip(bits, values)]


def groups():
    group = Group("integer")
    for instruction, bits, out in table():
        ops = ", ".join(f"%a{i}" for i in range(len(bits)))
        group.elementwise(
            name_of(instruction),
            f"{instruction} %d0, {ops};",
            [f"b{b}" for b in bits],
            [f"b{out}"],
            arrays(instruction, bits),
        )
    carries(group)
    bits = Group("integer-logic")
    logic(bits)
    parts = Group("integer-video")
    video(parts)
    return [group, bits, parts]


def carries(group):
    """Tests chains of three words for each instruction with a carry input."""
    for op, second in (("add", "addc"), ("sub", "subc")):
        words = random_words("carry" + op, 4, 3 * 256)
        words += [0, 0xFFFFFFFF, 1, 0x80000000] * 48
        a, b = [words[i::6] for i in (0, 1, 2)], [words[i::6] for i in (3, 4, 5)]
        n = min(map(len, a + b))
        group.elementwise(
            f"{op}_cc_chain",
            f"{op}.cc.u32 %d0, %a0, %a3;\n{second}.cc.u32 %d1, %a1, %a4;\n"
            f"{second}.cc.s32 %d2, %a2, %a5;\n{second}.u32 %d3, 0, 0;",
            ["b32"] * 6,
            ["b32"] * 4,
            [pack(4, v[:n]) for v in a + b],
        )
        wide = operands(64, 4, "carry64" + op)
        group.elementwise(
            f"{op}_cc_chain64",
            f"{op}.cc.u64 %d0, %a0, %a2;\n{second}.cc.u64 %d1, %a1, %a3;\n"
            f"{second}.u64 %d2, 0, 0;",
            ["b64"] * 4,
            ["b64"] * 3,
            [pack(8, v) for v in wide],
        )
    for t in ("u32", "s32", "u64", "s64"):
        bits = int(t[1:])
        group.elementwise(
            f"mad_cc_chain_{t}",
            f"mad.lo.cc.{t} %d0, %a0, %a1, %a2;\nmadc.hi.cc.{t} %d1, %a0, %a1, %a2;\n"
            f"madc.lo.{t} %d2, %a1, %a2, %a0;",
            [f"b{bits}"] * 3,
            [f"b{bits}"] * 3,
            [pack(bits // 8, v) for v in operands(bits, 3, "madcc")],
        )


def logic(group):
    """Tests lop3 with each of its 256 tables, on all eight combinations of bits."""
    lines = [".reg .b32 %x0, %x1, %x2, %x3;"]
    for table in range(256):
        lines.append(f"lop3.b32 %x3, %a0, %a1, %a2, {table};")
        lines.append(f"st.global.b32 [%rd1+{4 * table}], %x3;")
    group.entry(
        "lop3_all",
        ["u64 out", "u32 a", "u32 b", "u32 c"],
        ".reg .b32 %a<3>;\nld.param.u64 %rd1, [p_out];\nld.param.u32 %a0, [p_a];\n"
        "ld.param.u32 %a1, [p_b];\nld.param.u32 %a2, [p_c];\n"
        + "\n".join(lines)
        + "\nret;",
    )
    for i, (a, b, c) in enumerate(
        [(0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA), (0x12345678, 0xDEADBEEF, 0x0F1E2D3C)]
    ):
        group.case(
            f"lop3_all_{i}",
            "lop3_all",
            block=1,
            buffers={"out": 1024},
            args=["out", a, b, c],
        )
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]:
        a = random_words("prmt a" + mode, 4, 1024)
        b = random_words("prmt b" + mode, 4, 1024)
        c = random_words("prmt c" + mode, 4, 1024)
        # The first operands place every nibble at every position.
        for i in range(64):
            c[i] = (i % 16) << 4 * (i // 16)
        c[64:256] = [i % 8 for i in range(192)]
        group.elementwise(
            name_of(f"prmt.b32{mode}"),
            f"prmt.b32{mode} %d0, %a0, %a1, %a2;",
            ["b32"] * 3,
            ["b32"],
            [pack(4, v) for v in (a, b, c)],
        )


def video(group):
    """Tests the video instructions, which operate on bytes and halves of a word."""
    data = [pack(4, v) for v in operands(32, 3, "video", 400)]
    for op in "vadd vsub vabsdiff vmin vmax".split():
        for d, a, b in (
            ("s32", "s32", "s32"),
            ("u32", "u32", "u32"),
            ("s32", "u32", "s32"),
        ):
            for tail, parts in ("", ("", "")), (".sat", (".b1", ".h1")):
                instruction = f"{op}.{d}.{a}.{b}{tail}"
                group.elementwise(
                    name_of(instruction),
                    f"{instruction} %d0, %a0{parts[0]}, %a1{parts[1]};\n"
                    f"{instruction}.add %d1, %a0{parts[1]}, %a1{parts[0]}, %a2;",
                    ["b32"] * 3,
                    ["b32"] * 2,
                    data,
                )
    for op in "vshl vshr".split():
        for mode in "clamp wrap".split():
            group.elementwise(
                f"{op}_u32_{mode}",
                f"{op}.u32.u32.u32.{mode} %d0, %a0, %a1;\n"
                f"{op}.s32.s32.u32.{mode}.add %d1, %a0, %a1, %a2;",
                ["b32"] * 3,
                ["b32"] * 2,
                data,
            )
    group.elementwise(
        "vmad",
        "vmad.s32.s32.s32 %d0, %a0.h0, %a1.h1, %a2;\n"
        "vmad.u32.u32.u32.shr7 %d1, %a0.b0, %a1.b3, %a2;",
        ["b32"] * 3,
        ["b32"] * 2,
        data,
    )
    for kind in ("2", "4"):
        for op in "vadd vsub vavrg vabsdiff vmin vmax".split():
            for t in "s32 u32".split():
                instruction = f"{op}{kind}.{t}.{t}.{t}"
                group.elementwise(
                    name_of(instruction),
                    f"{instruction} %d0, %a0, %a1, %a2;\n"
                    f"{instruction}.sat %d1, %a0, %a1, %a2;\n"
                    f"{instruction}.add %d2, %a0, %a1, %a2;",
                    ["b32"] * 3,
                    ["b32"] * 3,
                    data,
                )
