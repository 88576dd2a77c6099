"""Matrix instructions of a warp: mma.sync of every shape and type, ldmatrix,
stmatrix, movmatrix."""

import struct

from ..base import Group, pack, random_bytes, random_words
from ._operands import codes, small, wild

# (shape, types D.A.B.C, registers of A, B, C/D)
DENSE = [
    ("m8n8k4.row.col", "f32.f16.f16.f32", 2, 2, 8),
    ("m8n8k4.col.row", "f32.f16.f16.f32", 2, 2, 8),
    ("m8n8k4.row.row", "f16.f16.f16.f16", 2, 2, 4),
    ("m8n8k4.col.col", "f16.f16.f16.f16", 2, 2, 4),
    ("m16n8k8.row.col", "f32.f16.f16.f32", 2, 1, 4),
    ("m16n8k8.row.col", "f16.f16.f16.f16", 2, 1, 2),
    ("m16n8k16.row.col", "f32.f16.f16.f32", 4, 2, 4),
    ("m16n8k16.row.col", "f16.f16.f16.f16", 4, 2, 2),
    ("m16n8k8.row.col", "f32.bf16.bf16.f32", 2, 1, 4),
    ("m16n8k16.row.col", "f32.bf16.bf16.f32", 4, 2, 4),
    ("m16n8k4.row.col", "f32.tf32.tf32.f32", 2, 1, 4),
    ("m16n8k8.row.col", "f32.tf32.tf32.f32", 4, 2, 4),
]
for _a in ("e4m3", "e5m2"):
    for _b in ("e4m3", "e5m2"):
        DENSE.append(("m16n8k32.row.col", f"f32.{_a}.{_b}.f32", 4, 2, 4))
        DENSE.append(("m16n8k32.row.col", f"f16.{_a}.{_b}.f16", 4, 2, 2))
        DENSE.append(("m16n8k16.row.col", f"f32.{_a}.{_b}.f32", 2, 1, 4))
        DENSE.append(("m16n8k16.row.col", f"f16.{_a}.{_b}.f16", 2, 1, 2))
INTEGER = []
for _size, _shapes in (8, ("m8n8k16", "m16n8k16", "m16n8k32")), (
    4,
    ("m8n8k32", "m16n8k32", "m16n8k64"),
):
    for _shape, _regs in zip(_shapes, [(1, 1, 2), (2, 1, 4), (4, 2, 4)]):
        for _a in "su":
            for _b in "su":
                for _sat in ("", ".satfinite"):
                    INTEGER.append(
                        (
                            f"{_shape}.row.col{_sat}",
                            f"s32.{_a}{_size}.{_b}{_size}.s32",
                            *_regs,
                        )
                    )
BITS = [
    (f"{shape}.row.col", "s32.b1.b1.s32." + op, *regs)
    for shape, regs in (
        ("m8n8k128", (1, 1, 2)),
        ("m16n8k128", (2, 1, 4)),
        ("m16n8k256", (4, 2, 4)),
    )
    for op in ("xor.popc", "and.popc")
]
DOUBLE = [
    ("m8n8k4.row.col", 1, 1, 2),
    ("m16n8k4.row.col", 2, 1, 4),
    ("m16n8k8.row.col", 4, 2, 4),
    ("m16n8k16.row.col", 8, 4, 4),
]
TILES = 8


def add(group, shape, types, a, b, c, kind, bits=32):
    """One warp per tile; the registers of each thread are contiguous in memory."""
    instruction = f"mma.sync.aligned.{shape}.{types}"
    entry = "".join(x if x.isalnum() else "_" for x in f"{shape}_{types}").replace(
        "_row_col", ""
    )
    size = bits // 8
    if entry not in group.entries:
        lines = [f".reg .b{bits} %a<{a}>, %b<{b}>, %c<{c}>, %d<{c}>;"]
        lines += [
            "mov.u32 %r1, %ctaid.x;",
            "mov.u32 %r2, %tid.x;",
            "mad.lo.u32 %r1, %r1, 32, %r2;",
        ]
        for i, (name, count) in enumerate((("a", a), ("b", b), ("c", c))):
            lines += [
                f"ld.param.u64 %rd1, [p_{name}];",
                f"mad.wide.u32 %rd2, %r1, {size * count}, %rd1;",
            ]
            lines += [
                f"ld.global.b{bits} %{name}{k}, [%rd2+{size * k}];"
                for k in range(count)
            ]
        group_of = (
            lambda n, count: "{" + ", ".join(f"%{n}{k}" for k in range(count)) + "}"
        )
        lines.append(
            f"{instruction} {group_of('d', c)}, {group_of('a', a)}, {group_of('b', b)}, {group_of('c', c)};"
        )
        lines += [f"st.global.b{bits} [%rd2+{size * k}], %d{k};" for k in range(c)] + [
            "ret;"
        ]
        group.entry(entry, ["u64 a", "u64 b", "u64 c"], "\n".join(lines))
    t = types.split(".")
    bytes_of = lambda n: 32 * TILES * size * n
    data = {}
    for name, form, count in ("a", t[1], a), ("b", t[2], b), ("c", t[3], c):
        width = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8}.get(form, 1)
        make = {"exact": small, "random": wild, "any": codes}[kind]
        n, seed = bytes_of(count) // width, f"{entry} {name} {kind}"
        if form == "f64":
            data[name] = doubles(kind, n, seed)
        elif form == "f32":
            data[name] = {"exact": small, "random": wild, "any": tf32_codes}[kind](
                "tf32", n, seed
            )
        elif form[0] in "su" or form == "b1":  # integers
            data[name] = random_bytes(seed, n)
            if form == "s32" and kind == "exact":
                data[name] = pack(
                    4, [w & 0xFFFFF for w in random_words(seed, 4, n // 4)]
                )
        else:
            data[name] = make(form, n, seed)
    group.case(
        f"{entry}_{kind}",
        entry,
        grid=TILES,
        buffers=data,
        args=["a", "b", "c"],
        outputs=["c"],
        item=size,
        sums="truncated" if kind != "exact" else "exact",
    )


def tf32_codes(form, count, seed):
    return random_bytes(seed, 4 * count)


def doubles(kind, count, seed):
    if kind == "exact":
        return struct.pack(f"<{count}d", *(b - 128 for b in random_bytes(seed, count)))
    words = random_words(seed, 8, count)
    if kind == "random":
        words = [w & ~(0x7FF << 52) | (1010 + (w >> 52) % 26) << 52 for w in words]
    return pack(8, words)


def mmas():
    floats, whole, double = (
        Group("matrix-mma-float", version="8.7"),
        Group("matrix-mma-integer"),
        Group("matrix-mma-f64"),
    )
    for row in DENSE:
        for kind in "exact random any".split():
            add(floats, *row, kind)
    for row in INTEGER + BITS:
        for kind in "exact", "any":
            add(whole, *row, kind)
    for shape, a, b, c in DOUBLE:
        for kind in "exact random any".split():
            add(double, shape, "f64.f64.f64.f64", a, b, c, kind, bits=64)
    return [floats, whole, double]


COPY = """
mov.u32 %r1, %tid.x;
mov.u32 %r10, tile;
ld.param.u64 %rd1, [p_in];
ld.param.u64 %rd2, [p_out];
ld.param.u64 %rd3, [p_rows];
// 2048 bytes, 64 per lane.
mov.u32 %r2, 0;
COPY:
shl.b32 %r3, %r1, 2;
add.u32 %r3, %r3, %r2;
cvt.u64.u32 %rd4, %r3;
add.s64 %rd5, %rd1, %rd4;
ld.global.b32 %r4, [%rd5];
add.u32 %r5, %r10, %r3;
st.shared.b32 [%r5], %r4;
add.u32 %r2, %r2, 128;
setp.lt.u32 %p1, %r2, 2048;
@%p1 bra COPY;
bar.warp.sync -1;
mad.wide.u32 %rd6, %r1, 4, %rd3;
ld.global.b32 %r6, [%rd6];
add.u32 %r6, %r6, %r10;
"""


def moves():
    group = Group("matrix-move")
    group.declare(".shared .align 128 .b8 tile[2048];")
    plain = [16 * i for i in range(32)]
    shuffled = [(i * 7 % 32) * 48 + 16 * (i % 3) for i in range(32)]
    rows = {
        "plain": plain,
        "shuffled": shuffled,
        "random": [w % 128 * 16 for w in random_words("rows", 4, 32)],
    }
    for count in (1, 2, 4):
        regs = "{" + ", ".join(f"%r{20 + k}" for k in range(count)) + "}"
        for trans in ("", ".trans"):
            for space in (".shared", ""):
                name = f"ldmatrix_x{count}{trans}{space}".replace(".", "_")
                address = "%r6" if space else "%rd8"
                group.entry(
                    name,
                    ["u64 in", "u64 out", "u64 rows"],
                    COPY
                    + f"""
                    cvt.u64.u32 %rd7, %r6;
                    cvta.shared.u64 %rd8, %rd7;
                    ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {regs}, [{address}];
                    mad.wide.u32 %rd9, %r1, {4 * count}, %rd2;
                    """
                    + "\n".join(
                        f"st.global.b32 [%rd9+{4 * k}], %r{20 + k};"
                        for k in range(count)
                    )
                    + "\nret;",
                )
                for kind, offsets in rows.items() if space else [("plain", plain)]:
                    group.case(
                        f"{name}_{kind}",
                        name,
                        buffers={
                            "in": random_bytes("tile", 2048),
                            "out": 128 * count,
                            "rows": pack(4, offsets),
                        },
                        args=["in", "out", "rows"],
                    )
            name = f"stmatrix_x{count}{trans}".replace(".", "_")
            group.entry(
                name,
                ["u64 in", "u64 out", "u64 rows"],
                COPY
                + "".join(
                    f"mad.lo.u32 %r{20 + k}, %r1, {0x00020002 + 0x01000100 * k}, {0x00010000 + 0x00400040 * k};\n"
                    for k in range(count)
                )
                + f"""
                stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r6], {regs};
                bar.warp.sync -1;
                mov.u32 %r2, 0;
                BACK:
                shl.b32 %r3, %r1, 2;
                add.u32 %r3, %r3, %r2;
                cvt.u64.u32 %rd4, %r3;
                add.s64 %rd5, %rd2, %rd4;
                add.u32 %r5, %r10, %r3;
                ld.shared.b32 %r4, [%r5];
                st.global.b32 [%rd5], %r4;
                add.u32 %r2, %r2, 128;
                setp.lt.u32 %p1, %r2, 2048;
                @%p1 bra BACK;
                ret;
                """,
            )
            for kind in "plain", "shuffled":
                group.case(
                    f"{name}_{kind}",
                    name,
                    buffers={
                        "in": random_bytes("tile", 2048),
                        "out": 2048,
                        "rows": pack(4, rows[kind]),
                    },
                    args=["in", "out", "rows"],
                )
    group.entry(
        "movmatrix",
        ["u64 in", "u64 out"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd3, %r1, 4, %rd1;
        mad.wide.u32 %rd4, %r1, 4, %rd2;
        ld.global.b32 %r2, [%rd3];
        movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
        st.global.b32 [%rd4], %r3;
        ret;
        """,
    )
    group.case(
        "movmatrix",
        buffers={"in": random_bytes("movmatrix", 128), "out": 128},
        args=["in", "out"],
    )
    return group


def groups():
    return [*mmas(), moves()]
