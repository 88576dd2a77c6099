"""Conversions. For formats of up to 16 bits, the operands are all codes. For wider formats,
the operands combine the relevant exponents with mantissas at rounding boundaries."""

from ..base import Group, all_codes, name_of, pack, random_words


def float_inputs(bits, kept, seed, extra=6000):
    """Returns codes of f32 or f64. `kept` lists numbers of mantissa bits. For each
    exponent and sign, the mantissas are close to the halfway points of these formats."""
    e, m = {32: (8, 23), 64: (11, 52)}[bits]
    codes = []
    exponents = range(1 << e)
    if bits == 64:
        # Use the exponents that narrower formats represent, and both ends of the range.
        bias = 1023
        exponents = [
            *range(0, 3),
            *range(bias - 160, bias + 140, 1),
            *range(2045, 2048),
        ]
    for exponent in exponents:
        for sign in (0, 1):
            for mantissa in boundaries(m, kept):
                codes.append(sign << bits - 1 | exponent << m | mantissa)
    return codes + random_words(f"convert {bits} {seed}", bits // 8, extra)


def boundaries(m, kept):
    out = {0, 1, (1 << m) - 1, (1 << m) - 2, 1 << m - 1}
    for k in kept:
        half = 1 << m - k - 1
        for lead in (0, 1 << m - k, ((1 << k) - 1) << m - k):
            for delta in (-1, 0, 1):
                out.add((lead + half + delta) & ((1 << m) - 1))
    return sorted(out)


def integer_inputs(bits, seed):
    """Returns sums and differences of powers of two, which cause ties in conversions to
    floats, and random integers."""
    out = {0, 1, 2, 3, (1 << bits) - 1, (1 << bits - 1) - 1, 1 << bits - 1}
    for i in range(bits):
        for j in range(i):
            out |= {1 << i | 1 << j, (1 << i) - (1 << j), (1 << i | 1 << j) + 1}
            out |= {(1 << bits) - (1 << i | 1 << j), (1 << i | 1 << j) - 1}
    out = sorted(v & ((1 << bits) - 1) for v in out)
    return out + random_words(f"int {bits} {seed}", bits // 8, 2000)


def add(group, instruction, source, result, data, name=None, body=None, outs=None):
    group.elementwise(
        name or name_of(instruction),
        body or f"{instruction} %d0, %a0;",
        source if isinstance(source, list) else [source],
        outs or [result],
        data if isinstance(data, list) else [data],
    )


WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def between_floats(group):
    singles = pack(4, float_inputs(32, [10, 7, 3, 2], "narrow"))
    doubles = pack(8, float_inputs(64, [23, 10, 7], "narrow"))
    codes = all_codes(16)
    for ftz in ("", ".ftz"):
        for r in ".rn .rz".split():
            for sat in ("", ".sat"):
                add(group, f"cvt{r}{ftz}{sat}.f16.f32", "b32", "b16", singles)
        for r in ".rn .rz .rm .rp".split():
            add(group, f"cvt{r}{ftz}.f32.f64", "b64", "b32", doubles)
        add(group, f"cvt{ftz}.f32.f16", "b16", "b32", codes)
        add(group, f"cvt{ftz}.f64.f32", "b32", "b64", singles)
        for r in ".rni .rzi .rmi .rpi".split():
            add(group, f"cvt{r}{ftz}.f32.f32", "b32", "b32", singles)
            add(group, f"cvt{r}{ftz}.sat.f32.f32", "b32", "b32", singles)
    for r in ".rm .rp".split():
        add(group, f"cvt{r}.f16.f32", "b32", "b16", singles)
    for r in ".rn .rz .rm .rp".split():
        add(group, f"cvt{r}.f16.f64", "b64", "b16", doubles)
    add(group, "cvt.f64.f16", "b16", "b64", codes)
    for r in ".rni .rzi .rmi .rpi".split():
        add(group, f"cvt{r}.f16.f16", "b16", "b16", codes)
        add(group, f"cvt{r}.f64.f64", "b64", "b64", doubles)
    add(group, "cvt.sat.f16.f16", "b16", "b16", codes)
    add(group, "cvt.sat.f32.f32", "b32", "b32", singles)
    add(group, "cvt.sat.f64.f64", "b64", "b64", doubles)
    for r in ".rn .rz".split():
        for relu in ("", ".relu"):
            add(group, f"cvt{r}{relu}.bf16.f32", "b32", "b16", singles)
            if relu:
                add(group, f"cvt{r}{relu}.f16.f32", "b32", "b16", singles)
            for t in "f16x2 bf16x2".split():
                n = len(singles) // 4
                other = singles[4 * 37 :] + singles[: 4 * 37]
                assert len(other) == 4 * n
                instruction = f"cvt{r}{relu}.{t}.f32"
                add(
                    group,
                    instruction,
                    ["b32", "b32"],
                    "b32",
                    [singles, other],
                    body=f"{instruction} %d0, %a0, %a1;",
                )
    for instruction in "cvt.rna.tf32.f32 cvt.rn.tf32.f32 cvt.rz.tf32.f32".split():
        add(group, instruction, "b32", "b32", singles)
    for instruction in "cvt.rn.relu.tf32.f32 cvt.rz.relu.tf32.f32".split():
        add(group, instruction, "b32", "b32", singles)
    add(group, "cvt.f32.bf16", "b16", "b32", codes)
    for r in ".rn .rz .rm .rp".split():
        add(group, f"cvt{r}.bf16.f16", "b16", "b16", codes)
        add(group, f"cvt{r}.bf16.f64", "b64", "b16", doubles)
    for r in ".rn .rz .rm .rp".split():
        add(group, f"cvt{r}.f16.bf16", "b16", "b16", codes)
    add(group, "cvt.f64.bf16", "b16", "b64", codes)
    for r in ".rni .rzi .rmi .rpi".split():
        add(group, f"cvt{r}.bf16.bf16", "b16", "b16", codes)


def eight_bits(group):
    singles = pack(4, float_inputs(32, [3, 2], "fp8"))
    other = singles[4 * 37 :] + singles[: 4 * 37]
    codes = all_codes(16)
    swapped = pack(2, [(v >> 8 | v << 8) & 0xFFFF for v in range(1 << 16)])
    for t in "e4m3x2 e5m2x2".split():
        for relu in ("", ".relu"):
            instruction = f"cvt.rn.satfinite{relu}.{t}.f32"
            add(
                group,
                instruction,
                ["b32", "b32"],
                "b16",
                [singles, other],
                body=f"{instruction} %d0, %a0, %a1;",
            )
            instruction = f"cvt.rn.satfinite{relu}.{t}.f16x2"
            add(
                group,
                instruction,
                ["b16", "b16"],
                "b16",
                [codes, swapped],
                body=f".reg .b32 %x1;\nmov.b32 %x1, {{%a0, %a1}};\n{instruction} %d0, %x1;",
            )
            add(group, f"cvt.rn{relu}.f16x2.{t}", "b16", "b32", codes)


def integers(group):
    half, single = all_codes(16), pack(4, float_inputs(32, [10, 3], "int", 3000))
    double = pack(8, float_inputs(64, [23], "int", 3000))
    floats = {"f16": half, "f32": single, "f64": double, "bf16": half}
    types = "s8 u8 s16 u16 s32 u32 s64 u64".split()
    for f, data in floats.items():
        for t in types[2:] if f == "bf16" else types:
            for r in ".rni .rzi .rmi .rpi".split():
                out = "b16" if t[1:] == "8" else "b" + t[1:]
                # An 8-bit result is extended to its 16-bit register.
                add(group, f"cvt{r}.{t}.{f}", f"b{WIDTHS[f]}", out, data)
        if f == "f32":
            for t in "s32 u32 s64 u64".split():
                add(group, f"cvt.rni.ftz.{t}.f32", "b32", "b" + t[1:], data)
                add(group, f"cvt.rpi.ftz.{t}.f32", "b32", "b" + t[1:], data)
    for t in types:
        bits = max(int(t[1:]), 16)
        data = half if bits == 16 else pack(bits // 8, integer_inputs(bits, t))
        for f in floats:
            if f == "bf16" and t[1:] == "8":
                continue
            for r in ".rn .rz .rm .rp".split():
                add(group, f"cvt{r}.{f}.{t}", f"b{bits}", f"b{WIDTHS[f]}", data)
        for d in types:
            out = max(int(d[1:]), 16)
            if d != t:
                add(group, f"cvt.{d}.{t}", f"b{bits}", f"b{out}", data)
                # .sat applies if the result type cannot represent every operand.
                if int(d[1:]) < int(t[1:]) or (
                    d[0] != t[0] and (d[0] == "u" or d[1:] == t[1:])
                ):
                    add(group, f"cvt.sat.{d}.{t}", f"b{bits}", f"b{out}", data)
    words = pack(4, integer_inputs(32, "pack"))
    other = words[4 * 11 :] + words[: 4 * 11]
    third = words[4 * 101 :] + words[: 4 * 101]
    for t in "u16 s16".split():
        instruction = f"cvt.pack.sat.{t}.s32"
        add(
            group,
            instruction,
            ["b32", "b32"],
            "b32",
            [words, other],
            body=f"{instruction} %d0, %a0, %a1;",
        )
    for t in "u8 s8 u4 s4 u2 s2".split():
        instruction = f"cvt.pack.sat.{t}.s32.b32"
        add(
            group,
            instruction,
            ["b32"] * 3,
            "b32",
            [words, other, third],
            body=f"{instruction} %d0, %a0, %a1, %a2;",
        )


def groups():
    floats = Group("convert-float", version="8.6")
    between_floats(floats)
    narrow = Group("convert-fp8", version="8.1")
    eight_bits(narrow)
    whole = Group("convert-integer")
    integers(whole)
    return [floats, narrow, whole]
