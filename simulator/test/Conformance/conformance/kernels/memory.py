"""Loads and stores of every width, vector size and state space, parameters, address
space conversions, and constant and initialized memory."""

from ..base import Group, pack, random_bytes

WIDTHS = {
    "b8": 1,
    "u8": 1,
    "s8": 1,
    "b16": 2,
    "u16": 2,
    "s16": 2,
    "b32": 4,
    "u32": 4,
    "s32": 4,
    "f32": 4,
}
WIDTHS.update({"b64": 8, "u64": 8, "s64": 8, "f64": 8})


def accesses(group):
    """Reads a vector, writes it to another state space, and reads it back. Narrow signed loads
    must sign-extend the value to a 32-bit register."""
    for t, size in WIDTHS.items():
        for n in (1, 2, 4):
            if size * n > 16:
                continue
            reg = "b64" if size == 8 else "b32"
            if t in ("b16", "b8"):
                reg = "b16"
            v = [f"%v{i}" for i in range(n)]
            vector = f".v{n}" if n > 1 else ""
            regs = "{" + ", ".join(v) + "}" if n > 1 else v[0]
            total = size * n
            wide = {"b64": 8, "b32": 4, "b16": 2}[reg]
            lines = [f".reg .{reg} {', '.join(v)};"]
            lines += [
                "ld.param.u64 %rd1, [p_in];",
                "ld.param.u64 %rd2, [p_out];",
                "mov.u32 %r1, %tid.x;",
            ]
            lines += [
                f"mad.wide.u32 %rd3, %r1, {total}, %rd1;",
                f"mad.wide.u32 %rd4, %r1, {6 * wide * n}, %rd2;",
            ]
            lines += [
                "mov.u32 %r2, words;",
                f"mad.lo.u32 %r2, %r1, {total}, %r2;",
                "mov.u64 %rd7, place;",
            ]
            at = 0

            def keep():
                nonlocal at
                for x in v:
                    lines.append(f"st.global.{reg} [%rd4+{at}], {x};")
                    at += wide

            store = t.replace("s", "u") if size < 4 else t
            lines.append(f"ld.global{vector}.{t} {regs}, [%rd3];")
            keep()
            for space, address in (".shared", "%r2"), (".local", "%rd7"):
                lines.append(f"st{space}{vector}.{store} [{address}], {regs};")
                lines += [f"mov.{reg} {x}, 0;" for x in v]
                lines.append(f"ld{space}{vector}.{t} {regs}, [{address}];")
                keep()
            # Repeat the accesses through generic addresses.
            lines += [
                "cvt.u64.u32 %rd5, %r2;",
                "cvta.shared.u64 %rd5, %rd5;",
                "cvta.local.u64 %rd6, %rd7;",
            ]
            for address in "%rd5", "%rd6":
                lines.append(f"ld{vector}.{t} {regs}, [{address}];")
                keep()
            lines.append(f"ld.global.nc{vector}.{t} {regs}, [%rd3];")
            keep()
            lines.append("ret;")
            name = f"access{vector.replace('.', '_')}_{t}"
            lines.insert(0, ".local .align 16 .b8 place[16];")
            group.entry(name, ["u64 in", "u64 out"], "\n".join(lines))
            group.case(
                name,
                block=64,
                buffers={"in": random_bytes("access", 64 * total), "out": 64 * at},
                args=["in", "out"],
            )


def modifiers(group):
    """Tests modifiers of loads and stores that do not change the result."""
    loads = "ld.global.ca ld.global.cg ld.global.cs ld.global.lu ld.global.cv ld.volatile.global ld.relaxed.gpu.global ld.acquire.sys.global ld.weak.global"
    loads += " ld.global.L1::no_allocate ld.global.L1::evict_first ld.global.L1::evict_last ld.global.L1::evict_unchanged ld.global.L2::64B ld.global.L2::128B ld.global.L2::256B"
    loads += " ld.global.nc.L1::no_allocate ld.global.ca.nc ld.mmio.relaxed.sys.global ldu.global"
    stores = "st.global.wb st.global.cg st.global.cs st.global.wt st.volatile.global st.relaxed.gpu.global st.release.sys.global st.weak.global st.global.L1::no_allocate st.mmio.relaxed.sys.global"
    lines = [
        "ld.param.u64 %rd1, [p_in];",
        "ld.param.u64 %rd2, [p_out];",
        "mov.u32 %r1, %tid.x;",
        "mad.wide.u32 %rd3, %r1, 4, %rd1;",
        "mad.wide.u32 %rd4, %r1, 128, %rd2;",
    ]
    at = 0
    for k, load in enumerate(loads.split()):
        lines.append(
            f"{load}.b32 %r2, [%rd3+{128 * (k % 4)}];\nst.global.b32 [%rd4+{at}], %r2;"
        )
        at += 4
    for store in stores.split():
        lines.append(f"{store}.b32 [%rd4+{at}], %r2;")
        at += 4
    assert at <= 128
    lines += [
        "prefetch.global.L2 [%rd3];",
        "prefetchu.L1 [%rd3];",
        "prefetch.global.L1 [%rd3];",
        "prefetch.global.L2::evict_last [%rd3];",
        "ret;",
    ]
    group.entry("modifiers", ["u64 in", "u64 out"], "\n".join(lines))
    group.case(
        "modifiers",
        buffers={"in": random_bytes("modifiers", 512), "out": 32 * 128},
        args=["in", "out"],
    )
    policies = [
        "createpolicy.fractional.L2::evict_last.b64 %rd5, 0.5;",
        "createpolicy.fractional.L2::evict_normal.L2::evict_unchanged.b64 %rd5, 1.0;",
        "createpolicy.range.global.L2::evict_last.b64 %rd5, [%rd1], 4096, 8192;",
    ]
    lines = [
        "ld.param.u64 %rd1, [p_in];",
        "ld.param.u64 %rd2, [p_out];",
        "mov.u32 %r1, %tid.x;",
        "mad.wide.u32 %rd3, %r1, 4, %rd1;",
        "mad.wide.u32 %rd4, %r1, 16, %rd2;",
    ]
    for k, policy in enumerate(policies[:2]):
        lines += [
            policy,
            f"ld.global.L2::cache_hint.b32 %r2, [%rd3], %rd5;",
            f"st.global.L2::cache_hint.b32 [%rd4+{4 * k}], %r2, %rd5;",
        ]
    lines += [
        "discard.global.L2 [%rd1+8192], 128;",
        "st.global.b64 [%rd4+8], %rd3;",
        "mov.b64 %rd3, 0;",
        "st.global.b64 [%rd4+8], %rd3;",
        "ret;",
    ]
    group.entry("policies", ["u64 in", "u64 out"], "\n".join(lines))
    group.case(
        "policies",
        buffers={"in": random_bytes("policies", 16384), "out": 512},
        args=["in", "out"],
    )


def parameters(group):
    """Tests parts of parameters, structs, vector loads of parameters, and parameter addresses."""
    group.entry(
        "parameters",
        [
            "u64 out",
            "u8 a",
            "s16 b",
            "u32 c",
            "f64 d",
            "align 16 .b8 e[48]",
            "b16 f",
            "align 1 .b8 g[3]",
        ],
        """
        ld.param.u64 %rd1, [p_out];
        ld.param.u8 %r1, [p_a];
        ld.param.s16 %r2, [p_b];
        ld.param.u32 %r3, [p_c];
        ld.param.b64 %rd2, [p_d];
        st.global.v2.b32 [%rd1], {%r1, %r2};
        st.global.b32 [%rd1+8], %r3;
        ld.param.u16 %r4, [p_c+2];
        st.global.b32 [%rd1+12], %r4;
        st.global.b64 [%rd1+16], %rd2;
        ld.param.v4.b32 {%r5, %r6, %r7, %r8}, [p_e];
        st.global.v4.b32 [%rd1+32], {%r5, %r6, %r7, %r8};
        ld.param.v2.b64 {%rd3, %rd4}, [p_e+16];
        st.global.v2.b64 [%rd1+48], {%rd3, %rd4};
        ld.param.s8 %r9, [p_e+33];
        ld.param.u8 %r10, [p_e+34];
        ld.param.s16 %r11, [p_e+36];
        ld.param.b16 %h1, [p_f];
        cvt.u32.u16 %r12, %h1;
        st.global.v4.b32 [%rd1+64], {%r9, %r10, %r11, %r12};
        ld.param.u8 %r13, [p_g];
        ld.param.u8 %r14, [p_g+2];
        st.global.v2.b32 [%rd1+80], {%r13, %r14};
        mov.b64 %rd5, p_e;
        ld.param.b32 %r15, [%rd5+40];
        cvta.param.u64 %rd6, %rd5;
        ld.b32 %r16, [%rd6+44];
        ld.param::entry.b32 %r17, [p_e+4];
        // An address in a register, with an offset that depends on the thread.
        mov.u32 %r18, %tid.x;
        mad.wide.u32 %rd7, %r18, 4, %rd6;
        ld.b32 %r19, [%rd7];
        st.global.v4.b32 [%rd1+96], {%r15, %r16, %r17, %r12};
        mad.wide.u32 %rd8, %r18, 4, %rd1;
        st.global.b32 [%rd8+112], %r19;
        ret;
        """,
    )
    e = random_bytes("parameter", 48).hex()
    group.case(
        "parameters",
        block=8,
        buffers={"out": 160},
        args=[
            "out",
            {"u8": 0x9C},
            {"i16": -12345},
            0xFEDCBA98,
            {"f64": -1.5e-300},
            {"bytes": e},
            {"u16": 0x8001},
            {"bytes": "a1b2c3"},
        ],
    )


def spaces(group):
    """Tests isspacep on addresses of each state space, and cvta in both directions."""
    kinds = "global shared shared::cta shared::cluster local const param"
    lines = ["ld.param.u64 %rd1, [p_out];", ".local .align 8 .b8 place[16];"]
    lines.sort()
    lines += [
        "mov.u64 %rd10, %rd1;",
        "mov.u64 %rd11, place;",
        "cvta.local.u64 %rd11, %rd11;",
        "mov.u64 %rd12, words;",
        "cvta.shared.u64 %rd12, %rd12;",
    ]
    lines += [
        "mov.u64 %rd13, table;",
        "cvta.const.u64 %rd13, %rd13;",
        "mov.u64 %rd14, p_out;",
        "cvta.param.u64 %rd14, %rd14;",
        "mov.u64 %rd15, numbers;",
        "cvta.global.u64 %rd15, %rd15;",
    ]
    for k in range(6):
        lines.append("mov.u32 %r2, 0;")
        for bit, kind in enumerate(kinds.split()):
            lines += [
                f"isspacep.{kind} %p1, %rd{10 + k};",
                f"@%p1 or.b32 %r2, %r2, {1 << bit};",
            ]
        lines.append(f"st.global.b32 [%rd1+{4 * k}], %r2;")
    lines += [
        "mov.u64 %rd20, words;",
        "cvta.to.shared.u64 %rd21, %rd12;",
        "sub.u64 %rd20, %rd20, %rd21;",
        "mov.u64 %rd22, place;",
        "cvta.to.local.u64 %rd23, %rd11;",
        "sub.u64 %rd22, %rd22, %rd23;",
        "cvta.to.global.u64 %rd24, %rd1;",
        "sub.u64 %rd24, %rd24, %rd1;",
        "mov.u64 %rd25, table;",
        "cvta.to.const.u64 %rd26, %rd13;",
        "sub.u64 %rd25, %rd25, %rd26;",
        "st.global.v2.b64 [%rd1+32], {%rd20, %rd22};",
        "st.global.v2.b64 [%rd1+48], {%rd24, %rd25};",
        "ld.b32 %r3, [%rd13+4];",
        "ld.const.b32 %r4, [table+8];",
        "ld.global.b32 %r5, [numbers+4];",
        "ld.b32 %r6, [%rd15+8];",
        "st.global.v4.b32 [%rd1+64], {%r3, %r4, %r5, %r6};",
        "ld.global.u8 %r7, [text+1];",
        "ld.global.u64 %rd30, [pointers+8];",
        "ld.global.b32 %r8, [%rd30];",
        "ld.global.b32 %r9, [holes+8];",
        "ld.global.b16 %h1, [halves+2];",
        "cvt.u32.u16 %r10, %h1;",
        "st.global.v4.b32 [%rd1+80], {%r7, %r8, %r9, %r10};",
        "ret;",
    ]
    group.entry("spaces", ["u64 out"], "\n".join(lines))
    group.case("spaces", block=1, buffers={"out": 96}, args=["out"])


def groups():
    group = Group("memory", version="8.3")
    group.declare(".shared .align 16 .b8 words[2048];")
    group.declare(".const .align 8 .b32 table[4] = {11, 0x22222222, -3, 44};")
    group.declare(
        ".global .align 8 .b32 numbers[3] = {0xdeadbeef, 1234567, 0f3FC00000};"
    )
    group.declare(".global .align 1 .b8 text[4] = {97, 98, 99, 0};")
    group.declare(".global .align 8 .u64 pointers[2] = {numbers, numbers+8};")
    group.declare(".global .align 4 .b32 holes[4] = {7};")
    group.declare(".global .align 2 .b16 halves[2] = {-1, 0x1234};")
    for make in accesses, modifiers, parameters, spaces:
        make(group)
    return [group]
