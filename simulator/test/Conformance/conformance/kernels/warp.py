"""Instructions of a whole warp: shuffles, votes, matches, reductions, masks."""

from ..base import Group, linear_index, pack, random_words

PROLOGUE = """
ld.param.u64 %rd1, [p_out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %laneid;
"""


def shuffles(group):
    """Tests the predicate and the value of shuffles in every mode with every lane operand,
    segment masks and clamps."""
    for mode in "up down bfly idx".split():
        # Operand c in %r3 comes from a table and equals clamp | segment mask << 8.
        group.entry(
            f"shfl_{mode}",
            ["u64 out", "u32 c"],
            PROLOGUE
            + """
            ld.param.u32 %r3, [p_c];
            mul.lo.u32 %r4, %r2, 0x01010101;
            xor.b32 %r4, %r4, 0x5a00ff00;
            mov.u32 %r5, 0;
            mad.wide.u32 %rd2, %r2, 8, %rd1;
            LOOP:
            """
            + f"shfl.sync.{mode}.b32 %r6|%p1, %r4, %r5, %r3, 0xffffffff;"
            + """
            selp.u32 %r7, 1, 0, %p1;
            st.global.v2.u32 [%rd2], {%r6, %r7};
            add.s64 %rd2, %rd2, 256;
            add.u32 %r5, %r5, 1;
            setp.lt.u32 %p2, %r5, 40;
            @%p2 bra LOOP;
            ret;
            """,
        )
        for clamp, mask in (
            (31, 0),
            (0, 0),
            (7, 24),
            (15, 16),
            (31, 30),
            (3, 21),
            (0, 28),
        ):
            group.case(
                f"shfl_{mode}_{clamp}_{mask}",
                f"shfl_{mode}",
                buffers={"out": 40 * 256},
                args=["out", clamp | mask << 8],
            )
        # Each lane has its own operands. The second shuffle runs in half of the warp, with
        # source lanes outside of the member mask.
        group.entry(
            f"shfl_{mode}_lanes",
            ["u64 in", "u64 out"],
            """
            ld.param.u64 %rd1, [p_in];
            ld.param.u64 %rd3, [p_out];
            mov.u32 %r2, %laneid;
            mad.wide.u32 %rd2, %r2, 16, %rd1;
            ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd2];
            """
            + f"shfl.sync.{mode}.b32 %r7|%p1, %r3, %r4, %r5, -1;\n"
            + "setp.lt.u32 %p3, %r2, 16;\nmov.u32 %r9, 0x77777777;\n"
            + f"@%p3 shfl.sync.{mode}.b32 %r9, %r3, 3, 0xf0f, 0xffff;\n"
            + """
            selp.u32 %r8, 1, 0, %p1;
            mad.wide.u32 %rd2, %r2, 16, %rd3;
            st.global.v4.u32 [%rd2], {%r7, %r8, %r9, %r3};
            ret;
            """,
        )
        for seed in range(4):
            words = random_words(f"shfl {mode} {seed}", 4, 128)
            if seed % 2:  # all lanes use the same clamp and segments
                words[2::4] = [words[2] & 0x1F1F] * 32
            group.case(
                f"shfl_{mode}_lanes_{seed}",
                f"shfl_{mode}_lanes",
                buffers={"in": pack(4, words), "out": 512},
                args=["in", "out"],
            )


def votes(group):
    group.entry(
        "vote",
        ["u64 in", "u64 out"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd3, [p_out];
        mov.u32 %r2, %laneid;
        mov.u32 %r20, 0;
        LOOP:
        mad.wide.u32 %rd2, %r20, 4, %rd1;
        ld.global.u32 %r3, [%rd2];
        shr.u32 %r4, %r3, %r2;
        and.b32 %r4, %r4, 1;
        setp.ne.u32 %p1, %r4, 0;
        vote.sync.ballot.b32 %r5, %p1, -1;
        vote.sync.ballot.b32 %r6, !%p1, 0xffffffff;
        vote.sync.all.pred %p2, %p1, -1;
        vote.sync.any.pred %p3, %p1, -1;
        vote.sync.uni.pred %p4, %p1, -1;
        vote.sync.all.pred %p5, !%p1, -1;
        selp.u32 %r7, 1, 0, %p2;
        selp.u32 %r8, 2, 0, %p3;
        selp.u32 %r9, 4, 0, %p4;
        selp.u32 %r10, 8, 0, %p5;
        or.b32 %r7, %r7, %r8;
        or.b32 %r9, %r9, %r10;
        or.b32 %r7, %r7, %r9;
        mov.u32 %r11, 0x99999999;
        mov.u32 %r12, 0;
        setp.gt.u32 %p6, %r2, 11;
        @!%p6 bra SKIP;
        vote.sync.ballot.b32 %r11, %p1, 0xfffff000;
        vote.sync.any.pred %p7, %p1, 0xfffff000;
        selp.u32 %r12, 1, 0, %p7;
        activemask.b32 %r13;
        or.b32 %r12, %r12, %r13;
        SKIP:
        bar.warp.sync -1;
        mad.lo.u32 %r14, %r20, 32, %r2;
        mad.wide.u32 %rd2, %r14, 32, %rd3;
        st.global.v4.u32 [%rd2], {%r5, %r6, %r7, %r11};
        st.global.v4.u32 [%rd2+16], {%r12, %r3, %r4, %r20};
        add.u32 %r20, %r20, 1;
        setp.lt.u32 %p8, %r20, 16;
        @%p8 bra LOOP;
        ret;
        """,
    )
    words = [0, 0xFFFFFFFF, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFF, 0xFFFFF000]
    group.case(
        "vote",
        buffers={
            "in": pack(4, words + random_words("vote", 4, 8)),
            "out": 16 * 32 * 32,
        },
        args=["in", "out"],
    )


def matches(group):
    for bits in (32, 64):
        r = "%r" if bits == 32 else "%rd1"
        store = (
            "ld.global.b64 %rd12, [%rd2];"
            if bits == 64
            else "ld.global.b32 %r12, [%rd2];"
        )
        group.entry(
            f"match_b{bits}",
            ["u64 in", "u64 out"],
            f"""
            ld.param.u64 %rd1, [p_in];
            ld.param.u64 %rd3, [p_out];
            mov.u32 %r2, %tid.x;
            mad.wide.u32 %rd2, %r2, {bits // 8}, %rd1;
            {store}
            match.any.sync.b{bits} %r5, {r}{'12' if bits == 32 else '2'}, -1;
            match.all.sync.b{bits} %r6|%p1, {r}{'12' if bits == 32 else '2'}, -1;
            selp.u32 %r7, 1, 0, %p1;
            mad.wide.u32 %rd2, %r2, 16, %rd3;
            st.global.v4.u32 [%rd2], {{%r5, %r6, %r7, %r2}};
            ret;
            """,
        )
        size = bits // 8
        words = random_words("match", size, 4)
        rows = [words[i * i % 3] for i in range(32)] + [words[3]] * 32
        rows += random_words("match all", size, 32) + [i // 4 for i in range(32)]
        group.case(
            f"match_b{bits}",
            block=128,
            buffers={"in": pack(size, rows), "out": 128 * 16},
            args=["in", "out"],
        )


def reductions(group):
    operations = [f"{o}.{t}" for o in "add min max".split() for t in "u32 s32".split()]
    operations += [f"{o}.b32" for o in "and or xor".split()]
    body = """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd3, [p_out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %laneid;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        ld.global.u32 %r3, [%rd2];
        mad.wide.u32 %rd2, %r1, 128, %rd3;
        setp.gt.u32 %p1, %r2, 20;
    """
    for i, op in enumerate(operations):
        body += f"""
        redux.sync.{op} %r4, %r3, -1;
        mov.u32 %r5, 0x55555555;
        @%p1 redux.sync.{op} %r5, %r3, 0xffe00000;
        st.global.v2.u32 [%rd2+{8 * i}], {{%r4, %r5}};
        """
    group.entry("redux", ["u64 in", "u64 out"], body + "ret;")
    group.case(
        "redux",
        block=128,
        buffers={
            "in": pack(4, random_words("redux", 4, 96) + list(range(32))),
            "out": 128 * 128,
        },
        args=["in", "out"],
    )


def masks(group):
    group.entry(
        "elect",
        ["u64 out"],
        PROLOGUE + """
        mad.wide.u32 %rd2, %r2, 32, %rd1;
        elect.sync %r3|%p1, -1;
        selp.u32 %r4, 1, 0, %p1;
        mov.u32 %r5, -1;
        mov.u32 %r6, 7;
        setp.gt.u32 %p2, %r2, 4;
        @%p2 elect.sync %r5|%p3, 0xffffffe0;
        @%p2 selp.u32 %r6, 1, 0, %p3;
        st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
        mov.u32 %r7, %lanemask_eq;
        mov.u32 %r8, %lanemask_le;
        mov.u32 %r9, %lanemask_lt;
        mov.u32 %r10, %lanemask_ge;
        mov.u32 %r11, %lanemask_gt;
        xor.b32 %r7, %r7, %r8;
        shl.b32 %r9, %r9, 1;
        xor.b32 %r9, %r9, %r10;
        activemask.b32 %r12;
        st.global.v4.u32 [%rd2+16], {%r7, %r9, %r11, %r12};
        ret;
        """,
    )
    group.case("elect", buffers={"out": 1024}, args=["out"])
    # Some lanes exit before the remaining lanes run warp instructions.
    group.entry(
        "leaving",
        ["u64 out"],
        PROLOGUE + """
        mad.wide.u32 %rd2, %r2, 16, %rd1;
        mov.u32 %r3, 0;
        and.b32 %r4, %r2, 3;
        setp.eq.u32 %p1, %r4, 1;
        @%p1 exit;
        bar.warp.sync 0xdddddddd;
        vote.sync.ballot.b32 %r5, 1, 0xdddddddd;
        shfl.sync.bfly.b32 %r6, %r2, 4, 0x1f, 0xdddddddd;
        redux.sync.add.u32 %r7, %r2, 0xdddddddd;
        elect.sync %r8|%p2, 0xdddddddd;
        st.global.v4.u32 [%rd2], {%r5, %r6, %r7, %r8};
        ret;
        """,
    )
    group.case("leaving", buffers={"out": 512}, args=["out"])
    names = "tid.x tid.y tid.z ntid.x ntid.y ntid.z laneid ctaid.x ctaid.y ctaid.z"
    names = (names + " nctaid.x nctaid.y nctaid.z").split()
    lines = "".join(
        f"mov.u32 %r4, %{n};\nst.global.u32 [%rd2+{4 * i}], %r4;\n"
        for i, n in enumerate(names)
    )
    group.entry(
        "registers",
        ["u64 out"],
        "ld.param.u64 %rd1, [p_out];\n"
        + linear_index("ctaid.z", "ctaid.y", "ctaid.x", "tid.z", "tid.y", "tid.x")
        + """
        mad.wide.u32 %rd2, %r1, 64, %rd1;
        """
        + lines
        + """
        mov.u32 %r4, %clock;
        mov.u64 %rd5, %clock64;
        mov.u64 %rd6, %globaltimer;
        setp.ne.u64 %p1, %rd5, 0;
        setp.ne.and.u64 %p1, %rd6, 0, %p1;
        mov.u32 %r6, %smid;
        mov.u32 %r7, %nsmid;
        setp.lt.and.u32 %p1, %r6, %r7, %p1;
        mov.u32 %r6, %warpid;
        mov.u32 %r7, %nwarpid;
        setp.lt.and.u32 %p1, %r6, %r7, %p1;
        selp.u32 %r5, 1, 0, %p1;
        st.global.u32 [%rd2+52], %r5;
        ret;
        """,
    )
    group.case(
        "registers",
        grid=(2, 3, 2),
        block=(5, 4, 3),
        buffers={"out": 12 * 60 * 64},
        args=["out"],
    )


def groups():
    group = Group("warp")
    shuffles(group)
    votes(group)
    matches(group)
    reductions(group)
    masks(group)
    return [group]
