"""Warpgroup MMAs of every type and every N, with operands in each layout of shared memory
and in registers. Sums of the integer operands are exact in any order. Sums of the random
operands depend on how the chip adds."""

import struct

from ..base import Group, pack, random_bytes, random_words
from ._operands import codes, small, wild

# name: (PTX types of A and B, bytes of an element, accumulators)
TYPES = {
    "f16": ("f16.f16", 2, "f32 f16"),
    "bf16": ("bf16.bf16", 2, "f32"),
    "tf32": ("tf32.tf32", 4, "f32"),
    "e4m3": ("e4m3.e4m3", 1, "f32 f16"),
    "e5m2": ("e5m2.e5m2", 1, "f32 f16"),
    "e4m3e5m2": ("e4m3.e5m2", 1, "f32 f16"),
    "e5m2e4m3": ("e5m2.e4m3", 1, "f32"),
    "s8": ("s8.s8", 1, "s32"),
    "u8": ("u8.u8", 1, "s32"),
    "s8u8": ("s8.u8", 1, "s32"),
    "u8s8": ("u8.s8", 1, "s32"),
}
SWIZZLE = {"none": (0, 0), "128b": (1, 128), "64b": (2, 64), "32b": (3, 32)}


def forms(name):
    a, b = TYPES[name][0].split(".")
    return a, b


def descriptor_high(swizzle, base_offset, sbo):
    """Returns the upper word of a descriptor: stride byte offset, base offset and layout."""
    return (sbo >> 4) | base_offset << 17 | SWIZZLE[swizzle][0] << 30


def kernel(group, name, instruction, accumulators, from_registers, count):
    """Copies both operands unchanged to shared memory, runs `count` MMAs from
    successive addresses, and writes the accumulators of each thread."""
    regs = "{" + ", ".join(f"%d{i}" for i in range(accumulators)) + "}"
    a = "{%a0, %a1, %a2, %a3}" if from_registers else "%rd10"
    load_c = "\n".join(
        f"ld.global.b32 %d{i}, [%rd5+{4 * i}];" for i in range(accumulators)
    )
    store_d = "\n".join(
        f"st.global.b32 [%rd5+{4 * i}], %d{i};" for i in range(accumulators)
    )
    one = instruction.format(d=regs, a=a, b="%rd11")
    steps = f"""
        mov.b64 %rd10, {{%r20, %r21}};
        mov.b64 %rd11, {{%r22, %r23}};
        {one}
    """
    for _ in range(count - 1):
        steps += f"""
        add.u32 %r20, %r20, %r26;
        add.u32 %r22, %r22, %r27;
        mov.b64 %rd10, {{%r20, %r21}};
        mov.b64 %rd11, {{%r22, %r23}};
        {one.replace("%p3", "%p5")}
        """
    fragments = (
        """
        mad.wide.u32 %rd7, %r1, 16, %rd1;
        ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd7];
        """
        if from_registers
        else ""
    )
    group.entry(
        name,
        [
            "u64 a",
            "u64 b",
            "u64 c",
            "u32 bytes_a",
            "u32 bytes_b",
            "u32 at_a",
            "u32 lo_a",
            "u32 hi_a",
            "u32 lo_b",
            "u32 hi_b",
            "u32 scale_d",
            "u32 step_a",
            "u32 step_b",
        ],
        f"""
        .reg .b32 %d<{accumulators}>;
        .reg .b32 %a<4>;
        ld.param.u64 %rd1, [p_a];
        ld.param.u64 %rd2, [p_b];
        ld.param.u64 %rd3, [p_c];
        mov.u32 %r1, %tid.x;
        mov.u32 %r10, dynsmem;
        ld.param.u32 %r2, [p_bytes_a];
        ld.param.u32 %r3, [p_bytes_b];
        shl.b32 %r4, %r1, 2;
        COPY_A:
        setp.ge.u32 %p1, %r4, %r2;
        @%p1 bra COPIED_A;
        cvt.u64.u32 %rd4, %r4;
        add.s64 %rd4, %rd4, %rd1;
        ld.global.b32 %r5, [%rd4];
        add.u32 %r6, %r10, %r4;
        st.shared.b32 [%r6], %r5;
        add.u32 %r4, %r4, 512;
        bra COPY_A;
        COPIED_A:
        shl.b32 %r4, %r1, 2;
        add.u32 %r11, %r10, %r2;
        COPY_B:
        setp.ge.u32 %p1, %r4, %r3;
        @%p1 bra COPIED_B;
        cvt.u64.u32 %rd4, %r4;
        add.s64 %rd4, %rd4, %rd2;
        ld.global.b32 %r5, [%rd4];
        add.u32 %r6, %r11, %r4;
        st.shared.b32 [%r6], %r5;
        add.u32 %r4, %r4, 512;
        bra COPY_B;
        COPIED_B:
        fence.proxy.async.shared::cta;
        bar.sync 0;
        mul.wide.u32 %rd5, %r1, {4 * accumulators};
        add.s64 %rd5, %rd5, %rd3;
        {load_c}
        {fragments}
        ld.param.u32 %r20, [p_lo_a];
        ld.param.u32 %r21, [p_hi_a];
        ld.param.u32 %r22, [p_lo_b];
        ld.param.u32 %r23, [p_hi_b];
        ld.param.u32 %r24, [p_at_a];
        ld.param.u32 %r26, [p_step_a];
        ld.param.u32 %r27, [p_step_b];
        // Start addresses count 16 bytes; operand B follows operand A.
        add.u32 %r24, %r24, %r10;
        shr.u32 %r24, %r24, 4;
        add.u32 %r20, %r20, %r24;
        shr.u32 %r25, %r11, 4;
        add.u32 %r22, %r22, %r25;
        ld.param.u32 %r30, [p_scale_d];
        setp.ne.u32 %p3, %r30, 0;
        setp.eq.u32 %p5, %r1, %r1;
        wgmma.fence.sync.aligned;
        {steps}
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        {store_d}
        ret;
        """,
    )


def accumulators_of(n, acc):
    return n // 4 if acc == "f16" else n // 2


def instruction(
    name, n, acc, a_negate=1, b_negate=1, trans=(0, 0), registers=False, sat=False
):
    types, size, _ = TYPES[name]
    text = f"wgmma.mma_async.sync.aligned.m64n{n}k{32 // size}.{acc}.{types}"
    if name[0] in "su":
        return text + (".satfinite" if sat else "") + " {d}, {a}, {b}, %p3;"
    text += f" {{d}}, {{a}}, {{b}}, %p3, {a_negate}, {b_negate}"
    if name in ("f16", "bf16"):
        text += f", {trans[1]}" if registers else f", {trans[0]}, {trans[1]}"
    return text + ";"


def initial(acc, count, kind, seed):
    """Returns the accumulator before the MMA."""
    if acc == "f16":
        make = small if kind == "exact" else wild
        return make("f16", 2 * count, seed)
    if acc == "s32":
        return (
            random_bytes(seed, 4 * count)
            if kind == "wrap"
            else pack(
                4,
                [
                    w - (1 << 19)
                    for w in (x & 0xFFFFF for x in random_words(seed, 4, count))
                ],
            )
        )
    if kind == "exact":
        return struct.pack(f"<{count}f", *(b - 128 for b in random_bytes(seed, count)))
    return pack(
        4,
        [
            w & 0x807FFFFF | (118 + (w >> 23) % 18) << 23
            for w in random_words(seed, 4, count)
        ],
    )


def add(
    group,
    name,
    type,
    n,
    acc,
    kind="exact",
    swizzle=("128b", "128b"),
    lead=(1, 1),
    stride=None,
    base=(0, 0),
    at=(0, 0),
    size=None,
    scale_d=1,
    registers=False,
    trans=(0, 0),
    negate=(1, 1),
    step=(0, 0),
    count=1,
    sat=False,
    tag="",
):
    """Adds a launch. `lead` and `stride` contain the leading and stride byte offsets of A and
    B, and `size` contains their sizes in shared memory, in bytes."""
    form_a, form_b = forms(type)
    width = TYPES[type][1]
    text = instruction(type, n, acc, *negate, trans=trans, registers=registers, sat=sat)
    accs = accumulators_of(n, acc)
    entry = "mma_" + "".join(
        c if c.isalnum() else "_"
        for c in text.split(" ")[0][len("wgmma.mma_async.sync.aligned.") :]
    )
    entry += f"{'_r' if registers else ''}_{trans[0]}{trans[1]}_{negate[0]}{negate[1]}".replace(
        "-", "m"
    )
    entry += f"_x{count}" if count > 1 else ""
    if entry not in group.entries:
        kernel(group, entry, text, accs, registers, count)
    stride = stride or tuple(8 * max(SWIZZLE[s][1], 16) for s in swizzle)
    size = size or (16384, 256 * 128)
    if registers:
        size = (128 * 16, size[1])
    make = {"exact": small, "any": codes}.get(kind, wild)
    a = make(form_a, size[0] // width, f"{type} a {kind}")
    b = make(form_b, size[1] // width, f"{type} b {kind}")
    lo = [l >> 4 << 16 for l in lead]
    hi = [descriptor_high(s, o, d) for s, o, d in zip(swizzle, base, stride)]
    copied = 1024 if registers else size[0]  # a multiple of the largest atom
    group.case(
        name,
        entry,
        block=128,
        smem=copied + size[1],
        buffers={
            "a": a,
            "b": b,
            "c": initial(acc, 128 * accs, kind, f"{type} c {kind} {n}"),
        },
        args=[
            "a",
            "b",
            "c",
            copied,
            size[1],
            at[0],
            lo[0],
            hi[0],
            lo[1] + (at[1] >> 4),
            hi[1],
            scale_d,
            step[0],
            step[1],
        ],
        outputs=["c"],
        sums="truncated" if kind != "exact" else "exact",
    )


def shapes(group):
    """Tests every N with one type, then every type with a few values of N."""
    for n in range(8, 257, 8):
        add(group, f"n{n}", "bf16", n, "f32")
    for type, (_, _, accs) in TYPES.items():
        for acc in accs.split():
            for n in (8, 64) if acc != "s32" else (8, 96):
                add(group, f"{type}_{acc}_n{n}", type, n, acc)
                add(group, f"{type}_{acc}_n{n}_zero", type, n, acc, scale_d=0)
            add(group, f"{type}_{acc}_registers", type, 32, acc, registers=True)
            if acc != "s32":
                for signs in (-1, 1), (1, -1), (-1, -1):
                    add(
                        group,
                        f"{type}_{acc}_negate_{signs[0]}_{signs[1]}".replace("-", "m"),
                        type,
                        16,
                        acc,
                        negate=signs,
                    )
            # With several steps along K, the start address advances within a row.
            add(
                group,
                f"{type}_{acc}_steps",
                type,
                40 if acc != "s32" else 48,
                acc,
                step=(2, 2),
                count=4,
                scale_d=0,
            )
    for type in "s8 u8 s8u8 u8s8".split():
        add(group, f"{type}_wrap", type, 16, "s32", kind="wrap")
        add(group, f"{type}_saturate", type, 24, "s32", kind="wrap", sat=True)


def layouts(group):
    """Tests K-major descriptors in each swizzle mode at several offsets and steps, also with
    strides that leave gaps."""
    for type, n in ("bf16", 64), ("tf32", 64), ("e4m3", 64), ("s8", 64):
        for swizzle in SWIZZLE:
            span = max(SWIZZLE[swizzle][1], 16)

            def case(name, swizzles=(swizzle, swizzle), **fields):
                name = f"{type}_{swizzle}{name}"
                acc = "s32" if type == "s8" else "f32"
                add(group, name, type, n, acc, swizzle=swizzles, **fields)

            if swizzle == "none":
                # A core matrix contains 16 bytes of 8 rows. `lead` is the distance of
                # core matrices along K, `stride` the distance along M or N.
                for lead, stride in (128, 256), (1024, 128), (2048, 256), (144, 1024):
                    name = f"_{lead}_{stride}"
                    case(name, lead=(lead, lead), stride=(stride, stride))
                case("_mixed", ("none", "128b"), lead=(128, 16), stride=(256, 1024))
                continue
            case("")
            for k in range(32, span, 32):
                case(f"_k{k}", at=(k, k))
            strides = (16 * span, 8 * span + 1024)
            case("_stride", stride=strides, size=(16384, 32768))
            # The leading byte offset of a swizzled K-major operand has no effect.
            case("_lead", lead=(512, 4096))
            # The operand begins within the swizzle pattern, with and without the
            # corresponding base offset.
            for row in range(1, 8) if type == "bf16" else (3,):
                at = row * span
                offset = (at >> 7) & 7
                case(f"_row{row}", at=(at, at))
                case(f"_row{row}_base", at=(at, at), base=(offset, offset))


def transposed(group):
    """Tests MN-major operands, which only 16-bit types support."""
    for type in "f16", "bf16":
        for n in (64, 128) if type == "bf16" else (32,):
            for swizzle in SWIZZLE:
                span = max(SWIZZLE[swizzle][1], 16)
                # The two offsets exchange their meaning between the layouts, so their
                # values differ.
                pairs = [
                    (span * 16, span * 8),
                    (span * 8, span * 32),
                    (4096, 8192 if n == 64 else 1024),
                ]
                if swizzle == "none":
                    pairs = [(128, 1024), (1024, 128), (256, 2048)]
                for lead, stride in pairs:
                    for trans in (1, 0), (0, 1), (1, 1):
                        leads = tuple(
                            lead if t else (128 if swizzle == "none" else 16)
                            for t in trans
                        )
                        strides = tuple(
                            stride if t else (256 if swizzle == "none" else 8 * span)
                            for t in trans
                        )
                        add(
                            group,
                            f"{type}_n{n}_{swizzle}_t{trans[0]}{trans[1]}_{lead}_{stride}",
                            type,
                            n,
                            "f32",
                            swizzle=(swizzle, swizzle),
                            lead=leads,
                            stride=strides,
                            trans=trans,
                            size=(40960, 65536),
                        )
    add(
        group,
        "bf16_registers_t",
        "bf16",
        64,
        "f32",
        registers=True,
        trans=(0, 1),
        lead=(16, 4096),
        stride=(1024, 1024),
    )


def numerics(group):
    """Tests random operands, which show the order and the width of the sums."""
    for type, (_, _, accs) in TYPES.items():
        for acc in accs.split():
            if acc == "s32":
                continue

            def random(name, **fields):
                name = f"{type}_{acc}_random_{name}"
                add(group, name, type, 64, acc, kind="random", **fields)

            for scale_d in (0, 1):
                random(scale_d, scale_d=scale_d)
            random("steps", scale_d=0, step=(2, 2), count=4)
            random("registers", registers=True)
            # All codes include infinities, NaNs and denormals.
            add(group, f"{type}_{acc}_any", type, 32, acc, kind="any", scale_d=1)


def groups():
    made = []
    for name, make in {
        "wgmma-shape": shapes,
        "wgmma-layout": layouts,
        "wgmma-transposed": transposed,
        "wgmma-numerics": numerics,
    }.items():
        group = Group(name, version="8.4")
        group.declare(".extern .shared .align 1024 .b8 dynsmem[];")
        make(group)
        made.append(group)
    return made
