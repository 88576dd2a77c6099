"""Floating-point arithmetic with random operands and edge cases: zeros of both signs,
denormals, infinities, NaNs and halfway cases."""

import struct

from ..base import Group, name_of, pack, random_words

# Exponent and mantissa bits of each type.
FORMS = {16: (5, 10), "bf16": (8, 7), 32: (8, 23), 64: (11, 52)}


def edges(form):
    """Returns edge cases of a format: zeros, denormals, powers of two, infinities, NaNs."""
    e, m = FORMS[form]
    bits = 1 + e + m
    top, one = (1 << e) - 1, ((1 << e - 1) - 1) << m
    codes = [0, 1, 2, (1 << m) - 1, 1 << m - 1, 1 << m, (1 << m) + 1]
    codes += [one, one + 1, one - 1, one + (1 << m), one + (1 << m - 1)]
    codes += [
        one - (1 << m),
        one + (m << m),
        one + ((m + 1) << m),
        one + 3 * (1 << m - 1),
    ]
    codes += [(top << m) - 1, (top - 1) << m, top << m, (top << m) + 1]
    codes += [(top << m) + (1 << m - 1), (top << m) + (1 << m) - 1]
    return codes + [c | 1 << bits - 1 for c in codes]


def operands(form, count, seed, extra=1200):
    """Returns a column of codes for each operand: all pairs of edge cases, with a varying
    third operand, and random codes."""
    e, m = FORMS[form]
    bits = 1 + e + m
    special = edges(form)
    n = len(special)
    if count == 1:
        rows = [(a,) for a in special]
    elif count == 2:
        rows = [(a, b) for a in special for b in special]
    else:
        rows = [
            (special[i], special[j], special[(i * 5 + j * 3 + k * 11) % n])
            for k in range(4)
            for i in range(n)
            for j in range(n)
        ]
    words = random_words(f"float {seed} {form}", 8, extra * count)
    middle = (1 << e - 1) - 1
    for i in range(extra):
        row = []
        for k in range(count):
            code = words[i * count + k] & ((1 << bits) - 1)
            if i % 4 == 1:  # similar exponents, so that mantissas overlap
                exponent = middle + (code >> m) % 7 - 3
                code = code & ~(((1 << e) - 1) << m) | exponent << m
            if i % 4 == 2:  # close to the smallest numbers
                code &= ~(((1 << e) - 4) << m)
            if i % 4 == 3:  # few mantissa bits, so that results are exact or ties
                code &= ~((1 << m - 3) - 1)
                exponent = middle + (code >> m) % 16 - 8
                code = code & ~(((1 << e) - 1) << m) | exponent << m
            row.append(code)
        rows.append(tuple(row))
    return [[r[k] for r in rows] for k in range(count)]


def packed(form, count, seed, **options):
    """Returns operands packed in pairs. The upper half is the operand of another row."""
    columns = operands(form, count, seed, **options)
    n = len(columns[0])
    return [[v | c[(i * 7 + 3) % n] << 16 for i, v in enumerate(c)] for c in columns]


def table():
    """Returns rows (instruction, number of operands)."""
    rows = []

    def add(text, ins):
        rows.append((text, ins))

    for ftz in ("", ".ftz"):
        for sat in ("", ".sat"):
            for rounding in ".rn .rz .rm .rp".split():
                for op, ins in ("add", 2), ("sub", 2), ("mul", 2), ("fma", 3):
                    add(f"{op}{rounding}{ftz}{sat}.f32", ins)
        for op in "min max".split():
            for nan in ("", ".NaN"):
                for mark in ("", ".xorsign.abs"):
                    add(f"{op}{ftz}{nan}{mark}.f32", 2)
        for op in "abs neg".split():
            add(f"{op}{ftz}.f32", 1)
        for rounding in ".rn .rz .rm .rp".split():
            add(f"div{rounding}{ftz}.f32", 2)
            add(f"rcp{rounding}{ftz}.f32", 1)
            add(f"sqrt{rounding}{ftz}.f32", 1)
        add(f"copysign.f32", 2) if not ftz else None
    for rounding in ".rn .rz .rm .rp".split():
        for op, ins in ("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2):
            add(f"{op}{rounding}.f64", ins)
        for op in "rcp sqrt".split():
            add(f"{op}{rounding}.f64", 1)
    for op in "min max copysign".split():
        add(f"{op}.f64", 2)
    for op in "abs neg".split():
        add(f"{op}.f64", 1)
    for t in "f16 f16x2 bf16 bf16x2".split():
        half = t.startswith("f16")
        for ftz in ("", ".ftz") if half else ("",):
            for sat in ("", ".sat") if half else ("",):
                for op in "add sub mul".split():
                    add(f"{op}.rn{ftz}{sat}.{t}", 2)
                add(f"fma.rn{ftz}{sat}.{t}", 3)
            add(f"fma.rn{ftz}.relu.{t}", 3)
            for op in "abs neg".split():
                add(f"{op}{ftz}.{t}", 1)
            for op in "min max".split():
                for nan in ("", ".NaN"):
                    for mark in ("", ".xorsign.abs"):
                        add(f"{op}{ftz}{nan}{mark}.{t}", 2)
    return rows


def form_of(instruction):
    t = instruction.split(".")[-1]
    return {"f32": 32, "f64": 64, "f16": 16, "f16x2": 16}.get(t, "bf16"), t


def add_one(group, instruction, ins):
    form, t = form_of(instruction)
    extra = 400 if ins == 2 else 1200
    if t.endswith("x2"):
        values, bits = packed(form, ins, instruction, extra=extra), 32
    else:
        values, bits = operands(form, ins, instruction, extra=extra), 16
        bits = form if isinstance(form, int) else 16
    ops = ", ".join(f"%a{i}" for i in range(ins))
    group.elementwise(
        name_of(instruction),
        f"{instruction} %d0, {ops};",
        [f"b{bits}"] * ins,
        [f"b{bits}"],
        [pack(bits // 8, v) for v in values],
    )


COMPARISONS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()


def comparisons(group):
    """Adds one kernel per type. The result contains one bit for each comparison."""
    for t in "f32 f64 f16 bf16".split():
        for ftz in ("", ".ftz") if t in ("f32", "f16") else ("",):
            form = form_of("x." + t)[0]
            bits = form if isinstance(form, int) else 16
            lines = ["mov.b32 %d0, 0;", ".reg .b32 %s;", ".reg .pred %q, %u;"]
            for i, c in enumerate(COMPARISONS):
                lines.append(f"setp.{c}{ftz}.{t} %q, %a0, %a1;")
                lines.append(f"@%q or.b32 %d0, %d0, {1 << i};")
            if bits > 16:
                lines.append(f"setp.lt.and{ftz}.{t} %q|%u, %a0, %a1, %q;")
                lines.append("@%q or.b32 %d0, %d0, 0x10000;")
                lines.append("@%u or.b32 %d0, %d0, 0x20000;")
            group.elementwise(
                f"setp{ftz}_{t}".replace(".", "_"),
                "\n".join(sorted(lines, key=lambda x: not x.startswith(".reg"))),
                [f"b{bits}"] * 2,
                ["b32"],
                [pack(bits // 8, v) for v in operands(form, 2, "setp", extra=200)],
            )
    for t in "f16x2 bf16x2".split():
        lines = [".reg .pred %q, %u;", "mov.b32 %d0, 0;"]
        for i, c in enumerate(COMPARISONS):
            lines.append(f"setp.{c}.{t} %q|%u, %a0, %a1;")
            lines.append(f"@%q or.b32 %d0, %d0, {1 << i};")
            lines.append(f"@%u or.b32 %d0, %d0, {1 << i + 16};")
        values = packed(form_of("x." + t)[0], 2, "setp", extra=200)
        group.elementwise(
            f"setp_{t}",
            "\n".join(lines),
            ["b32"] * 2,
            ["b32"],
            [pack(4, v) for v in values],
        )
    for t in "f32 f16 bf16".split():
        form = form_of("x." + t)[0]
        bits = form if isinstance(form, int) else 16
        # Some types support set with a floating-point result.
        result = {"f32": "f32", "f16": "f16", "bf16": "bf16"}[t]
        group.elementwise(
            f"set_{t}",
            f"set.lt.{result}.{t} %d0, %a0, %a1;\nset.geu.u32.{t} %d1, %a0, %a1;",
            [f"b{bits}"] * 2,
            [f"b{bits}", "b32"],
            [pack(bits // 8, v) for v in operands(form, 2, "set", extra=200)],
        )
    group.elementwise(
        "testp_f32",
        ".reg .pred %q;\nmov.b32 %d0, 0;\n"
        + "\n".join(
            f"testp.{c}.f32 %q, %a0;\n@%q or.b32 %d0, %d0, {1 << i};"
            for i, c in enumerate(
                "finite infinite number notanumber normal subnormal".split()
            )
        ),
        ["b32"],
        ["b32"],
        [pack(4, operands(32, 1, "testp")[0])],
    )
    group.elementwise(
        "slct_f32",
        "slct.b32.f32 %d0, %a0, %a1, %a2;\nslct.ftz.b32.f32 %d1, %a0, %a1, %a2;",
        ["b32"] * 3,
        ["b32"] * 2,
        [pack(4, v) for v in operands(32, 3, "slct", extra=100)],
    )


def scales(group):
    """Tests fused multiply-adds that need all bits of the multiplication. The addend is close
    to the negated product, and in half of the rows its exponent is shifted."""
    a = random_words("fma a", 4, 4096)
    rows = []
    for i, word in enumerate(a):
        x = word & 0x007FFFFF | 0x3F800000
        y = (word >> 9) & 0x007FFFFF | 0x3F800000 | 0x80000000 * (i & 1)
        fx, fy = (struct.unpack("<f", struct.pack("<I", v))[0] for v in (x, y))
        product = struct.unpack("<I", struct.pack("<f", -fx * fy))[0]
        shift = (i % 97 - 48) << 23
        rows.append(
            (x, y, (product + (shift if i % 2 else 0) + i % 3 - 1) & 0xFFFFFFFF)
        )
    for instruction in "fma.rn.f32 fma.rz.f32 fma.rm.f32 fma.rp.f32".split():
        group.elementwise(
            name_of(instruction) + "_cancel",
            f"{instruction} %d0, %a0, %a1, %a2;",
            ["b32"] * 3,
            ["b32"],
            [pack(4, [r[k] for r in rows]) for k in range(3)],
        )


def groups():
    single, double, half = Group("float-f32"), Group("float-f64"), Group("float-16")
    for instruction, ins in table():
        t = instruction.split(".")[-1]
        add_one({"f32": single, "f64": double}.get(t, half), instruction, ins)
    scales(single)
    compare = Group("float-compare")
    comparisons(compare)
    return [single, double, half, compare]
