"""Tests of the phases of mbarriers, a ring of mbarriers, and named barriers."""

from ..base import Group, pack, random_words
from .tma import declare


def mbarriers(group):
    """One thread steps a barrier through its phases. After each step it records the pending
    count, and whether the phase is complete according to the state and the parity."""
    steps = [
        "init 1",
        "test 0",
        "test 1",
        "arrive",
        "test 0",
        "test 1",
        "state",
        "init 3",
        "arrive",
        "arrive",
        "state",
        "test 0",
        "arrive",
        "state",
        "test 0",
        "test 1",
        "arrive 2",
        "state",
        "test 0",
        "test 1",
        "arrive",
        "test 1",
        "test 0",
        "state",
        "init 2",
        "drop",
        "state",
        "arrive",
        "test 0",
        "arrive",
        "test 1",
        "state",
        "drop",
        "test 0",
        "init 1048575",
        "arrive 1048574",
        "test 0",
        "arrive",
        "test 0",
        "state",
        "init 4",
        "nocomplete 2",
        "state",
        "nocomplete 1",
        "test 0",
        "arrive",
        "test 0",
        "state",
        "init 1",
        "expect 64",
        "arrive",
        "test 0",
        "complete 48",
        "test 0",
        "complete 16",
        "test 0",
        "state",
        "init 1",
        "arrive_expect 32",
        "test 0",
        "complete 32",
        "test 0",
        "test 1",
        "init 2",
        "complete 32",
        "arrive_expect 32",
        "test 0",
        "arrive",
        "test 0",
        "test 1",
        "init 2",
        "drop_expect 16",
        "arrive",
        "test 0",
        "complete 16",
        "test 0",
        "arrive",
        "test 1",
        "init 3",
        "drop 2",
        "state",
        "arrive",
        "test 0",
        "arrive",
        "test 1",
        "state",
        "init 2",
        "drop_nocomplete 1",
        "state",
        "arrive",
        "test 0",
        "arrive",
        "test 1",
        "init 1",
        "arrive",
        "teststate",
        "arrive",
        "teststate",
        "trystate",
        "try 1",
        "try 0",
        "inval",
        "init 5",
        "arrive 5",
        "test 0",
    ]
    at, lines = 0, []

    def keep(register="%r20"):
        nonlocal at
        lines.append(f"st.global.b32 [%rd1+{at}], {register};")
        at += 4

    def flag(test):
        lines.append(test)
        lines.append("selp.u32 %r20, 1, 0, %p1;")
        keep()

    def pending():
        lines.append("mbarrier.pending_count.b64 %r20, %rd3;")
        keep()

    plain = "shared::cta.b64"
    for step in steps:
        verb, _, n = step.partition(" ")
        if verb == "init":
            if lines:
                lines.append("mbarrier.inval.shared.b64 [%r2];")
            lines.append(f"mbarrier.init.{plain} [%r2], {n};")
        elif verb == "arrive":
            lines.append(f"mbarrier.arrive.{plain} %rd3, [%r2]{', ' + n if n else ''};")
            lines.append("mov.b64 %rd4, %rd3;")
            pending()
        elif verb == "drop":
            lines.append(
                f"mbarrier.arrive_drop.{plain} %rd3, [%r2]{', ' + n if n else ''};"
            )
            pending()
        elif verb == "nocomplete":
            lines.append(
                f"mbarrier.arrive.noComplete.release.cta.{plain} %rd3, [%r2], {n};"
            )
            pending()
        elif verb == "drop_nocomplete":
            lines.append(
                f"mbarrier.arrive_drop.noComplete.release.cta.{plain} %rd3, [%r2], {n};"
            )
            pending()
        elif verb == "expect":
            lines.append(f"mbarrier.expect_tx.relaxed.cta.{plain} [%r2], {n};")
        elif verb == "complete":
            lines.append(f"mbarrier.complete_tx.relaxed.cta.{plain} [%r2], {n};")
        elif verb == "arrive_expect":
            lines.append(f"mbarrier.arrive.expect_tx.{plain} %rd3, [%r2], {n};")
            pending()
        elif verb == "drop_expect":
            lines.append(f"mbarrier.arrive_drop.expect_tx.{plain} %rd3, [%r2], {n};")
            pending()
        elif verb == "test":
            flag(f"mbarrier.test_wait.parity.{plain} %p1, [%r2], {n};")
        elif verb == "try":
            flag(f"mbarrier.try_wait.parity.{plain} %p1, [%r2], {n}, 100;")
        elif verb == "teststate":
            flag(f"mbarrier.test_wait.{plain} %p1, [%r2], %rd4;")
        elif verb == "trystate":
            flag(f"mbarrier.try_wait.acquire.cta.{plain} %p1, [%r2], %rd4;")
        elif verb == "inval":
            lines.append("mbarrier.inval.shared.b64 [%r2];")
            lines.append(f"mbarrier.init.{plain} [%r2], 1;")
        elif verb == "state":  # tests the phase of the last arrival
            (
                flag(f"mbarrier.test_wait.acquire.cta.{plain} %p1, [%r2], %rd4;")
                if any("%rd4" in line for line in lines)
                else None
            )
    group.entry(
        "mbarrier_walk",
        ["u64 out"],
        "ld.param.u64 %rd1, [p_out];\nmov.u32 %r2, barrier;\n"
        + "\n".join(lines)
        + "\nret;",
    )
    group.case("mbarrier_walk", block=1, buffers={"out": at}, args=["out"])
    # One producer warp passes data to three consumer warps in a ring of four slots.
    group.entry(
        "mbarrier_ring",
        ["u64 out"],
        """
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, dynsmem;
        shr.u32 %r3, %r1, 5;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mov.u32 %r4, 0;
        INIT:
        mad.lo.u32 %r5, %r4, 16, %r2;
        mbarrier.init.shared::cta.b64 [%r5], 32;
        mbarrier.init.shared::cta.b64 [%r5+8], 96;
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p2, %r4, 4;
        @%p2 bra INIT;
        READY:
        bar.sync 0;
        mov.u32 %r6, 0;
        mov.u32 %r7, 0;
        and.b32 %r8, %r1, 31;
        setp.eq.u32 %p3, %r3, 0;
        ROUND:
        and.b32 %r9, %r6, 3;
        mad.lo.u32 %r10, %r9, 16, %r2;
        shr.u32 %r11, %r6, 2;
        and.b32 %r11, %r11, 1;
        mad.lo.u32 %r12, %r9, 128, %r2;
        mad.lo.u32 %r12, %r8, 4, %r12;
        @!%p3 bra CONSUME;
        xor.b32 %r13, %r11, 1;
        EMPTY:
        mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10+8], %r13;
        @!%p4 bra EMPTY;
        mad.lo.u32 %r14, %r6, 1000, %r8;
        st.shared.b32 [%r12+64], %r14;
        mbarrier.arrive.shared::cta.b64 _, [%r10];
        bra NEXT;
        CONSUME:
        mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], %r11;
        @!%p4 bra CONSUME;
        ld.shared.b32 %r14, [%r12+64];
        mad.lo.u32 %r7, %r7, 31, %r14;
        mbarrier.arrive.shared::cta.b64 _, [%r10+8];
        NEXT:
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p5, %r6, 50;
        @%p5 bra ROUND;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        st.global.b32 [%rd2], %r7;
        ret;
        """,
    )
    group.case(
        "mbarrier_ring", block=128, smem=1024, buffers={"out": 512}, args=["out"]
    )


def barriers(group):
    """Tests named barriers with thread counts, barrier reductions, and arrivals without a wait."""
    group.entry(
        "bar_red",
        ["u64 in", "u64 out"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd3, %r1, 4, %rd1;
        mad.wide.u32 %rd4, %r1, 32, %rd2;
        ld.global.b32 %r2, [%rd3];
        setp.ne.u32 %p1, %r2, 0;
        bar.red.popc.u32 %r3, 1, %p1;
        bar.red.and.pred %p2, 2, %p1;
        bar.red.or.pred %p3, 3, %p1;
        bar.red.or.pred %p4, 3, !%p1;
        selp.u32 %r4, 1, 0, %p2;
        selp.u32 %r5, 1, 0, %p3;
        selp.u32 %r6, 1, 0, %p4;
        st.global.v4.b32 [%rd4], {%r3, %r4, %r5, %r6};
        // Each pair of warps uses a separate barrier.
        shr.u32 %r7, %r1, 6;
        add.u32 %r7, %r7, 4;
        barrier.cta.red.popc.aligned.u32 %r8, %r7, 64, %p1;
        barrier.red.popc.u32 %r9, 15, 128, !%p1;
        mov.u32 %r10, 0;
        barrier.sync %r7, 64;
        st.global.v4.b32 [%rd4+16], {%r7, %r8, %r9, %r10};
        ret;
        """,
    )
    for name, words in (
        ("mixed", [w & 1 for w in random_words("bar.red", 4, 128)]),
        ("all", [3] * 128),
        ("none", [0] * 128),
    ):
        group.case(
            f"bar_red_{name}",
            "bar_red",
            block=128,
            buffers={"in": pack(4, words), "out": 4096},
            args=["in", "out"],
        )
    group.entry(
        "bar_arrive",
        ["u64 out"],
        """
        // In each of three rounds, a producer arrives and two consumers wait.
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, dynsmem;
        shr.u32 %r3, %r1, 5;
        and.b32 %r4, %r1, 31;
        mad.lo.u32 %r5, %r4, 4, %r2;
        mov.u32 %r6, 0;
        mov.u32 %r7, 0;
        setp.ne.u32 %p1, %r3, 0;
        ROUND:
        @%p1 bra CONSUME;
        bar.sync 2, 96;
        mad.lo.u32 %r8, %r6, 77, %r4;
        st.shared.b32 [%r5], %r8;
        bar.arrive 1, 96;
        bra NEXT;
        CONSUME:
        bar.arrive 2, 96;
        bar.sync 1, 96;
        ld.shared.b32 %r8, [%r5];
        mad.lo.u32 %r7, %r7, 13, %r8;
        NEXT:
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p2, %r6, 3;
        @%p2 bra ROUND;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        st.global.b32 [%rd2], %r7;
        ret;
        """,
    )
    group.case("bar_arrive", block=96, smem=128, buffers={"out": 384}, args=["out"])


def groups():
    group = declare(Group("asynchronous-barrier"))
    mbarriers(group)
    barriers(group)
    return [group]
