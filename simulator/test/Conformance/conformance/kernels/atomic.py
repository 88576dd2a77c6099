"""Atomics and reductions in memory. Every operation and type runs on a separate word for
each thread, so that results do not depend on the order. Further kernels update the same
words from many threads."""

from ..base import Group, name_of, pack, random_bytes, random_words
from .float import operands as float_operands
from .integer import operands as integer_operands

# (operation and type, size, operands)
SCALARS = [
    (f"{op}.{t}", int(t[1:]), 2)
    for op in ("min", "max")
    for t in "u32 s32 u64 s64".split()
]
SCALARS += [(f"add.{t}", int(t[1:]), 2) for t in "u32 s32 u64".split()]
SCALARS += [
    (f"{op}.{t}", int(t[1:]), 2)
    for op in "and or xor exch".split()
    for t in "b32 b64".split()
]
SCALARS += [("inc.u32", 32, 2), ("dec.u32", 32, 2)]
SCALARS += [(f"cas.b{n}", n, 3) for n in (16, 32, 64)]
FLOATS = [("add.f32", 32, 32), ("add.f64", 64, 64), ("add.noftz.f16", 16, 16)]
FLOATS += [("add.noftz.bf16", 16, "bf16")]
PAIRS = [("add.noftz.f16x2", 16), ("add.noftz.bf16x2", "bf16")]


def scalar(group, space, operation, bits, columns, count, red=False, tag=""):
    """Adds a kernel. `columns` contains the initial words in memory, followed by the operands."""
    size = bits // 8
    if space in ("global", ""):
        at = f"ld.param.u64 %x, [p_out1];\nmad.wide.u32 %x, %i, {size}, %x;\n"
        address = "%x"
    else:
        at = f"mov.u32 %r1, %tid.x;\nmad.lo.u32 %r1, %r1, {size}, %r2;\n"
        at = "mov.u32 %r2, words;\n" + at
        address = "%r1"
    dot = "." + space if space else ""
    plain = ".shared" if space.startswith("shared") else dot
    ops = ", ".join(f"%a{i + 1}" for i in range(count - 1))
    if red:
        act = f"red{dot}.{operation} [{address}], {ops};\nmov.b{bits} %d0, %a0;"
    else:
        act = f"atom{dot}.{operation} %d0, [{address}], {ops};"
    fence = "" if not red else "membar.cta;\n"
    name = f"{'red' if red else 'atom'}_{space or 'generic'}_{operation}{tag}"
    group.elementwise(
        name_of(name),
        at
        + f"st{plain}.b{bits} [{address}], %a0;\n{act}\n{fence}ld{plain}.b{bits} %d1, [{address}];",
        [f"b{bits}"] * count,
        [f"b{bits}"] * 2,
        columns,
    )


def scalars(group):
    for space in "global shared shared::cluster".split() + [""]:
        short = space in ("shared::cluster", "")
        for operation, bits, count in SCALARS:
            columns = integer_operands(
                bits, count, "atom" + operation, 40 if short else 100
            )
            if operation.startswith(
                "cas"
            ):  # in half of the rows, memory contains the compared value
                columns[1] = [
                    m if i % 2 else c for i, (m, c) in enumerate(zip(*columns[:2]))
                ]
            data = [pack(bits // 8, c) for c in columns]
            scalar(group, space, operation, bits, data, count)
            if operation.split(".")[0] not in ("exch", "cas") and not short:
                scalar(group, space, operation, bits, data, count, red=True)
        for operation, bits, form in FLOATS:
            columns = float_operands(form, 2, "atom", extra=200)
            data = [pack(bits // 8, c) for c in columns]
            scalar(group, space, operation, bits, data, 2)
            if not short:
                scalar(group, space, operation, bits, data, 2, red=True)
        for operation, form in PAIRS:
            columns = float_operands(form, 2, "atom", extra=200)
            n = len(columns[0])
            data = [
                pack(4, [v | c[(i * 5 + 1) % n] << 16 for i, v in enumerate(c)])
                for c in columns
            ]
            scalar(group, space, operation, 32, data, 2)
            if not short:
                scalar(group, space, operation, 32, data, 2, red=True)
    # Orders and scopes do not affect a single thread.
    data = [pack(4, c) for c in integer_operands(32, 2, "scopes", 40)]
    for order in "relaxed acquire release acq_rel".split():
        for scope in "cta cluster gpu sys".split():
            group.elementwise(
                f"atom_{order}_{scope}",
                "ld.param.u64 %x, [p_out1];\nmad.wide.u32 %x, %i, 4, %x;\nst.global.b32 [%x], %a0;\n"
                f"atom.{order}.{scope}.global.add.u32 %d0, [%x], %a1;\nld.{'acquire' if order != 'relaxed' else 'relaxed'}.{scope}.global.b32 %d1, [%x];",
                ["b32"] * 2,
                ["b32"] * 2,
                data,
            )


def wide(group):
    """Tests 128-bit exchange and compare-and-swap."""
    for operation, extra in ("exch", ""), ("cas", "compare"):
        for space in "global shared".split():
            name = f"atom_{space}_{operation}_b128"
            address = "%rd8" if space == "global" else "%r9"
            group.entry(
                name,
                ["u64 in", "u64 mem", "u64 out"],
                f"""
                .reg .b128 %q<4>;
                ld.param.u64 %rd1, [p_in];
                ld.param.u64 %rd2, [p_mem];
                ld.param.u64 %rd3, [p_out];
                mov.u32 %r1, %tid.x;
                mad.wide.u32 %rd4, %r1, 48, %rd1;
                ld.global.v2.b64 {{%rd10, %rd11}}, [%rd4];
                ld.global.v2.b64 {{%rd12, %rd13}}, [%rd4+16];
                ld.global.v2.b64 {{%rd14, %rd15}}, [%rd4+32];
                mov.b128 %q0, {{%rd12, %rd13}};
                mov.b128 %q1, {{%rd14, %rd15}};
                mad.wide.u32 %rd8, %r1, 16, %rd2;
                mov.u32 %r9, words;
                mad.lo.u32 %r9, %r1, 16, %r9;
                st.{space}.v2.b64 [{address}], {{%rd10, %rd11}};
                atom.{space}.{operation}.b128 %q2, [{address}], {'%q0, %q1' if extra else '%q1'};
                mov.b128 {{%rd16, %rd17}}, %q2;
                ld.{space}.v2.b64 {{%rd18, %rd19}}, [{address}];
                mad.wide.u32 %rd5, %r1, 32, %rd3;
                st.global.v2.b64 [%rd5], {{%rd16, %rd17}};
                st.global.v2.b64 [%rd5+16], {{%rd18, %rd19}};
                ret;
                """,
            )
            raw = bytearray(random_bytes(name, 48 * 128))
            for i in range(0, 128, 2):  # memory contains the compared value
                raw[48 * i + 16 : 48 * i + 32] = raw[48 * i : 48 * i + 16]
            for i in range(0, 128, 8):  # memory differs in one bit
                raw[48 * i + 31] ^= 0x80
            group.case(
                name,
                block=128,
                buffers={"in": bytes(raw), "mem": 2048, "out": 4096},
                args=["in", "mem", "out"],
                item=8,
            )


def vectors(group):
    """Tests vectors in global memory. Each element is a separate atomic operation."""
    rows = [("add", n, "f32", 32) for n in (2, 4)]
    for op in "add min max".split():
        rows += [(f"{op}.noftz", n, t, 16) for n in (2, 4, 8) for t in ("f16", "bf16")]
        rows += [(f"{op}.noftz", n, t, 32) for n in (2, 4) for t in ("f16x2", "bf16x2")]
    for op, n, t, bits in rows:
        for red in (False, True):
            name = f"{'red' if red else 'atom'}_v{n}_{op}_{t}".replace(".", "_")
            size = bits // 8
            regs = lambda k: "{" + ", ".join(f"%v{k}_{i}" for i in range(n)) + "}"
            declare = "\n".join(
                f".reg .b{bits} " + ", ".join(f"%v{k}_{i}" for i in range(n)) + ";"
                for k in range(4)
            )
            load = lambda k, at, skip=0: "\n".join(
                f"ld.global.b{bits} %v{k}_{i}, [{at}+{size * (i + skip)}];"
                for i in range(n)
            )
            save = lambda k, at, skip=0: "\n".join(
                f"st.global.b{bits} [{at}+{size * (i + skip)}], %v{k}_{i};"
                for i in range(n)
            )
            act = (
                f"red.global.v{n}.{t}.{op} [%rd6], {regs(1)};"
                if red
                else f"atom.global.v{n}.{t}.{op} {regs(2)}, [%rd6], {regs(1)};"
            )
            group.entry(
                name,
                ["u64 in", "u64 mem", "u64 out"],
                f"""
                {declare}
                ld.param.u64 %rd1, [p_in];
                ld.param.u64 %rd2, [p_mem];
                ld.param.u64 %rd3, [p_out];
                mov.u32 %r1, %tid.x;
                mad.wide.u32 %rd4, %r1, {2 * size * n}, %rd1;
                mad.wide.u32 %rd5, %r1, {2 * size * n}, %rd3;
                mad.wide.u32 %rd6, %r1, {size * n}, %rd2;
                {load(0, '%rd4')}
                {load(1, '%rd4', n)}
                {save(0, '%rd6')}
                {chr(10).join(f'mov.b{bits} %v2_{i}, 0;' for i in range(n))}
                {act}
                membar.gl;
                {load(3, '%rd6')}
                {save(2, '%rd5')}
                {save(3, '%rd5', n)}
                ret;
                """,
            )
            form = 32 if t == "f32" else 16 if t.startswith("f16") else "bf16"
            column = float_operands(form, 2, f"vector {t}", extra=1500)
            width = 4 if t == "f32" else 2
            per = size * n // width
            values = []
            for i in range(128):
                for c in column:
                    values += [c[(i * per + k) * 3 % len(c)] for k in range(per)]
            group.case(
                name,
                block=128,
                buffers={
                    "in": pack(width, values),
                    "mem": 128 * size * n,
                    "out": 256 * size * n,
                },
                args=["in", "mem", "out"],
                item=width,
            )


def contended(group):
    """All threads update a few words; the final values do not depend on the order."""
    rows = [
        ("add.u32", 4),
        ("add.u64", 8),
        ("min.s32", 4),
        ("max.u32", 4),
        ("and.b32", 4),
        ("or.b32", 4),
        ("xor.b64", 8),
        ("inc.u32", 4),
    ]
    for operation, size in rows:
        for kind in "atom red".split():
            value = "31" if operation.startswith("inc") else f"%v"
            name = f"contended_{kind}_{operation}".replace(".", "_")
            act = f"red.global.{operation} [%rd3], {value};"
            if kind == "atom":
                act = f"atom.global.{operation} %w, [%rd3], {value};"
            group.entry(
                name,
                ["u64 in", "u64 mem"],
                f"""
                .reg .b{8 * size} %v, %w;
                ld.param.u64 %rd1, [p_in];
                ld.param.u64 %rd2, [p_mem];
                mov.u32 %r1, %tid.x;
                mov.u32 %r2, %ctaid.x;
                mad.lo.u32 %r1, %r2, 256, %r1;
                mad.wide.u32 %rd4, %r1, {size}, %rd1;
                ld.global.b{8 * size} %v, [%rd4];
                and.b32 %r3, %r1, 3;
                mad.wide.u32 %rd3, %r3, {size}, %rd2;
                {act}
                ret;
                """,
            )
            group.case(
                name,
                grid=4,
                block=256,
                buffers={
                    "in": random_bytes(name, 1024 * size),
                    "mem": random_bytes("mem", 4 * size),
                },
                args=["in", "mem"],
                outputs=["mem"],
            )


def groups():
    plain, vector = Group("atomic"), Group("atomic-wide", version="8.3")
    plain.declare(".shared .align 16 .b8 words[2048];")
    vector.declare(".shared .align 16 .b8 words[2048];")
    scalars(plain)
    contended(plain)
    wide(vector)
    vectors(vector)
    return [plain, vector]
