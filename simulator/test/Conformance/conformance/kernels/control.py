"""Control flow: calls, divergent loops and branches, indexed branches and traps, and
instructions that change the state of the machine but not the result."""

from ..base import Group, pack, random_words


def calls(group):
    group.declare(
        """.func (.param .b32 result) square_plus(.param .b32 x, .param .b32 y)
{
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [x];
  ld.param.b32 %r2, [y];
  mad.lo.u32 %r3, %r1, %r1, %r2;
  st.param.b32 [result], %r3;
  ret;
}
.func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 pair[16])
{
  .reg .b64 %rd<4>;
  ld.param.b64 %rd1, [pair];
  ld.param.b64 %rd2, [pair+8];
  st.param.b64 [result], %rd2;
  st.param.b64 [result+8], %rd1;
  ret;
}
.func (.param .b32 result) early(.param .b32 x)
{
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.b32 %r1, [x];
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r2, 0;
  mov.u32 %r3, 5;
  st.param.b32 [result], %r3;
  @%p1 ret;
  add.u32 %r1, %r1, 100;
  st.param.b32 [result], %r1;
  ret;
}
.func (.reg .b32 %out) by_register(.reg .b32 %in)
{
  add.u32 %out, %in, 7;
  ret;
}
.func (.param .b32 result) sum_of(.param .b64 list, .param .b32 count)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<3>;
  .reg .pred %p<2>;
  ld.param.b64 %rd1, [list];
  ld.param.b32 %r1, [count];
  mov.u32 %r2, 0;
LOOP:
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  ld.b32 %r3, [%rd1];
  add.u32 %r2, %r2, %r3;
  add.s64 %rd1, %rd1, 4;
  sub.u32 %r1, %r1, 1;
  bra LOOP;
DONE:
  st.param.b32 [result], %r2;
  ret;
}"""
    )
    group.entry(
        "calls",
        ["u64 out"],
        """
        .local .align 8 .b8 list[64];
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd2, %r1, 64, %rd1;
        {
        .param .b32 a;
        .param .b32 b;
        .param .b32 r;
        st.param.b32 [a], %r1;
        st.param.b32 [b], 3;
        call.uni (r), square_plus, (a, b);
        ld.param.b32 %r2, [r];
        }
        st.global.b32 [%rd2], %r2;
        {
        .param .align 8 .b8 a[16];
        .param .align 8 .b8 r[16];
        cvt.u64.u32 %rd3, %r1;
        st.param.b64 [a], %rd3;
        st.param.b64 [a+8], %rd2;
        call (r), swap, (a);
        ld.param.b64 %rd4, [r];
        ld.param.b64 %rd5, [r+8];
        }
        sub.u64 %rd4, %rd4, %rd1;
        st.global.v2.b64 [%rd2+16], {%rd4, %rd5};
        {
        .param .b32 a;
        .param .b32 r;
        st.param.b32 [a], %r1;
        call (r), early, (a);
        ld.param.b32 %r3, [r];
        }
        st.global.b32 [%rd2+4], %r3;
        st.global.b32 [%rd2+8], %r3;
        // Only some lanes call; the other lanes wait after the call.
        and.b32 %r5, %r1, 3;
        setp.eq.u32 %p1, %r5, 2;
        mov.u32 %r6, 0xabcd;
        @!%p1 bra SKIP;
        {
        .param .b32 a;
        .param .b32 r;
        st.param.b32 [a], %r1;
        call (r), early, (a);
        ld.param.b32 %r6, [r];
        }
        SKIP:
        st.global.b32 [%rd2+12], %r6;
        mov.u64 %rd6, list;
        mov.u32 %r7, 0;
        MAKE:
        mad.wide.u32 %rd7, %r7, 4, %rd6;
        mad.lo.u32 %r8, %r7, %r1, 11;
        st.local.b32 [%rd7], %r8;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p2, %r7, 16;
        @%p2 bra MAKE;
        cvta.local.u64 %rd8, %rd6;
        and.b32 %r9, %r1, 15;
        {
        .param .b64 a;
        .param .b32 b;
        .param .b32 r;
        st.param.b64 [a], %rd8;
        st.param.b32 [b], %r9;
        call (r), sum_of, (a, b);
        ld.param.b32 %r10, [r];
        }
        st.global.b32 [%rd2+32], %r10;
        ret;
        """,
    )
    group.case("calls", block=64, buffers={"out": 4096}, args=["out"])
    group.entry(
        "call_by_register",
        ["u64 out"],
        """
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        call (%r4), by_register, (%r1);
        st.global.b32 [%rd2], %r4;
        ret;
        """,
    )
    group.case("call_by_register", buffers={"out": 128}, args=["out"])
    group.entry(
        "indirect",
        ["u64 out"],
        """
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        mov.u64 %rd3, early;
        mov.u64 %rd4, twice;
        selp.b64 %rd5, %rd3, %rd4, %p1;
        {
        .param .b32 a;
        .param .b32 r;
        st.param.b32 [a], %r1;
        KIND: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (r), %rd5, (a), KIND;
        ld.param.b32 %r3, [r];
        }
        st.global.b32 [%rd2], %r3;
        ret;
        """,
    )
    group.declare(""".func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [x];
  shl.b32 %r1, %r1, 1;
  st.param.b32 [result], %r1;
  ret;
}""")
    group.case("indirect", buffers={"out": 128}, args=["out"])


def branches(group):
    group.entry(
        "diverge",
        ["u64 in", "u64 out"],
        """
        // Nested loops of different lengths with breaks, and a vote at the point
        // where all lanes reconverge.
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd3, %r1, 4, %rd1;
        mad.wide.u32 %rd4, %r1, 16, %rd2;
        ld.global.b32 %r2, [%rd3];
        mov.u32 %r3, 0;
        mov.u32 %r5, 0;
        and.b32 %r4, %r2, 31;
        setp.ne.u32 %p3, %r3, 0;
        OUTER:
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra END;
        shr.u32 %r5, %r2, 8;
        and.b32 %r5, %r5, 7;
        INNER:
        setp.eq.u32 %p2, %r5, 0;
        @%p2 bra NEXT;
        mad.lo.u32 %r3, %r3, 5, %r5;
        and.b32 %r6, %r3, 63;
        setp.eq.u32 %p3, %r6, 17;
        @%p3 bra END;
        sub.u32 %r5, %r5, 1;
        bra INNER;
        NEXT:
        sub.u32 %r4, %r4, 1;
        bra OUTER;
        END:
        bar.warp.sync -1;
        vote.sync.ballot.b32 %r7, %p3, -1;
        setp.gt.s32 %p4, %r2, 0;
        @%p4 bra ELSE;
        xor.b32 %r3, %r3, %r7;
        bra JOIN;
        ELSE:
        add.u32 %r3, %r3, %r7;
        JOIN:
        bar.sync 0;
        st.global.v2.b32 [%rd4], {%r3, %r4};
        st.global.v2.b32 [%rd4+8], {%r5, %r2};
        ret;
        """,
    )
    group.case(
        "diverge",
        block=256,
        buffers={"in": pack(4, random_words("diverge", 4, 256)), "out": 4096},
        args=["in", "out"],
    )
    group.entry(
        "switch",
        ["u64 out"],
        """
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        rem.u32 %r2, %r1, 5;
        mov.u32 %r3, 1;
        TARGETS: .branchtargets A, B, C, D, E;
        brx.idx %r2, TARGETS;
        A: add.u32 %r3, %r3, 10;
        B: mul.lo.u32 %r3, %r3, 3;
        bra F;
        C: mov.u32 %r3, 99;
        bra F;
        D: sub.u32 %r3, %r3, %r1;
        E: shl.b32 %r3, %r3, 4;
        F: st.global.b32 [%rd2], %r3;
        ret;
        """,
    )
    group.case("switch", block=64, buffers={"out": 256}, args=["out"])


def effects(group):
    group.entry(
        "quiet",
        ["u64 out"],
        """
        // Instructions without an effect on the results of a program.
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        griddepcontrol.wait;
        griddepcontrol.launch_dependents;
        setmaxnreg.dec.sync.aligned.u32 40;
        setmaxnreg.inc.sync.aligned.u32 64;
        nanosleep.u32 20;
        membar.gl;
        membar.sys;
        fence.sc.gpu;
        fence.acq_rel.cluster;
        fence.proxy.alias;
        fence.proxy.async;
        fence.proxy.async.global;
        pmevent 3;
        mov.u32 %r2, %clock;
        mov.u32 %r3, %clock;
        sub.u32 %r2, %r3, %r2;
        setp.lt.u32 %p1, %r2, 1000000;
        selp.u32 %r2, 1, 0, %p1;
        st.global.b32 [%rd2], %r2;
        ret;
        """,
        ".maxntid 128, 1, 1\n.maxnreg 64\n",
    )
    group.case("quiet", block=128, buffers={"out": 512}, args=["out"])
    group.entry(
        "selections",
        ["u64 in", "u64 out"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd3, %r1, 8, %rd1;
        mad.wide.u32 %rd4, %r1, 64, %rd2;
        ld.global.v2.b32 {%r2, %r3}, [%rd3];
        setp.lt.and.s32 %p1|%p2, %r2, %r3, %p0;
        setp.lt.u32 %p0, %r2, %r3;
        setp.lt.and.s32 %p1|%p2, %r2, %r3, %p0;
        setp.ge.or.u32 %p3|%p4, %r2, 77, !%p0;
        setp.ne.xor.b32 %p5|%p6, %r2, %r3, %p1;
        setp.lo.u32 %p7, %r2, %r3;
        setp.hs.u32 %p8, %r2, %r3;
        and.pred %p9, %p1, %p3;
        xor.pred %p10, %p9, %p5;
        not.pred %p11, %p10;
        selp.s32 %r4, %r2, %r3, %p1;
        selp.b64 %rd5, %rd3, %rd4, %p9;
        sub.u64 %rd5, %rd5, %rd3;
        set.lt.u32.s32 %r5, %r2, %r3;
        set.ge.xor.s32.u32 %r6, %r2, %r3, %p9;
        set.gt.f32.s32 %r7, %r2, %r3;
        slct.u32.s32 %r8, %r2, %r3, %r2;
        mov.b64 %rd6, {%r2, %r3};
        mov.b64 {%r9, %r10}, %rd6;
        mov.b32 {%h1, %h2}, %r2;
        mov.b32 %r11, {%h2, %h1};
        mov.b64 {%h3, %h4, %h5, %h6}, %rd6;
        mov.b64 %rd7, {%h6, %h5, %h4, %h3};
        mov.u32 %r12, 0;
        @%p2 or.b32 %r12, %r12, 1;
        @%p4 or.b32 %r12, %r12, 2;
        @%p6 or.b32 %r12, %r12, 4;
        @%p7 or.b32 %r12, %r12, 8;
        @%p8 or.b32 %r12, %r12, 16;
        @%p11 or.b32 %r12, %r12, 32;
        st.global.v4.b32 [%rd4], {%r4, %r5, %r6, %r7};
        st.global.v4.b32 [%rd4+16], {%r8, %r9, %r10, %r11};
        st.global.v2.b64 [%rd4+32], {%rd7, %rd6};
        st.global.b32 [%rd4+48], %r12;
        ret;
        """.replace("setp.lt.and.s32 %p1|%p2, %r2, %r3, %p0;\n", "", 1),
    )
    words = random_words("selections", 4, 116) + [
        5,
        5,
        0,
        0,
        0x80000000,
        0x7FFFFFFF,
        77,
        76,
        76,
        77,
        0xFFFFFFFF,
        0,
    ]
    group.case(
        "selections",
        block=64,
        buffers={"in": pack(4, words), "out": 4096},
        args=["in", "out"],
    )


def faults(group):
    """Kernels that must fail, each in a separate launch."""
    group.entry(
        "trap",
        ["u64 out"],
        "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 13;\n@%p1 bra DONE;\ntrap;\nDONE:\nret;",
    )
    group.entry(
        "wild", ["u64 out"], "mov.u64 %rd1, 64;\nst.global.b32 [%rd1], 1;\nret;"
    )
    group.entry(
        "misaligned",
        ["u64 out"],
        "ld.param.u64 %rd1, [p_out];\nld.global.b32 %r1, [%rd1+2];\nst.global.b32 [%rd1], %r1;\nret;",
    )
    group.entry(
        "wild_shared",
        ["u64 out"],
        "mov.u32 %r1, 0x80000;\nst.shared.b32 [%r1], 1;\nret;",
    )
    group.entry(
        "misaligned_shared",
        ["u64 out"],
        "mov.u32 %r1, words;\nst.shared.b64 [%r1+4], 1;\nret;",
    )
    for name in "trap wild misaligned wild_shared misaligned_shared".split():
        group.case(name, buffers={"out": 128}, args=["out"], fails=True)


def prints(group):
    """Calls printf with every kind of argument from one thread."""
    group.declare(
        ".extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);"
    )
    text = "a %d %u %x|%5d|%-5d|%05d|%c %s %%\\n%lld %llx %f %.3f %e %g %p\\n"
    codes = text.replace("\\n", "\n").encode() + b"\0"
    group.declare(
        f".global .align 1 .b8 format[{len(codes)}] = {{{', '.join(map(str, codes))}}};"
    )
    word = b"word\0"
    group.declare(
        f".global .align 1 .b8 word[{len(word)}] = {{{', '.join(map(str, word))}}};"
    )
    group.entry(
        "prints",
        ["u64 out"],
        """
        .local .align 8 .b8 pack[112];
        ld.param.u64 %rd1, [p_out];
        mov.u64 %rd2, pack;
        cvta.local.u64 %rd3, %rd2;
        mov.u32 %r1, 0;
        AGAIN:
        st.local.b32 [%rd2], -42;
        st.local.b32 [%rd2+4], 4000000000;
        st.local.b32 [%rd2+8], 0xbeef;
        st.local.b32 [%rd2+12], %r1;
        st.local.b32 [%rd2+16], %r1;
        st.local.b32 [%rd2+20], -7;
        st.local.b32 [%rd2+24], 65;
        mov.u64 %rd4, word;
        cvta.global.u64 %rd4, %rd4;
        st.local.b64 [%rd2+32], %rd4;
        st.local.b64 [%rd2+40], -1234567890123;
        mov.b64 %rd5, 0xfedcba9876543210;
        st.local.b64 [%rd2+48], %rd5;
        mov.b64 %rd6, 0d3FF8000000000000;
        st.local.b64 [%rd2+56], %rd6;
        st.local.b64 [%rd2+64], 0d400921FB54442D18;
        st.local.b64 [%rd2+72], 0d400921FB54442D18;
        st.local.b64 [%rd2+80], 0d3F50624DD2F1A9FC;
        mov.b64 %rd7, 0x1234;
        st.local.b64 [%rd2+88], %rd7;
        mov.u64 %rd8, format;
        cvta.global.u64 %rd8, %rd8;
        {
        .param .b64 f;
        .param .b64 a;
        .param .b32 r;
        st.param.b64 [f], %rd8;
        st.param.b64 [a], %rd3;
        call.uni (r), vprintf, (f, a);
        ld.param.b32 %r2, [r];
        }
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 3;
        @%p1 bra AGAIN;
        st.global.b32 [%rd1], %r2;
        ret;
        """,
    )
    group.case(
        "prints",
        block=1,
        buffers={"out": 4},
        args=["out"],
        outputs=["out", "stdout"],
        item=1,
    )


def groups():
    group = Group("control")
    for make in calls, branches, effects:
        make(group)
    fault = Group("control-fault")
    fault.declare(".shared .align 16 .b8 words[64];")
    faults(fault)
    printing = Group("control-print")
    prints(printing)
    return [group, fault, printing]
