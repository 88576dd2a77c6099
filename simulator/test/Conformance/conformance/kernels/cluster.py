"""Thread block clusters: special registers, addresses, memory of other CTAs, remote
barriers, st.async and red.async."""

from ..base import Group, linear_index, random_bytes

WHERE = """
mov.u32 %r1, %tid.x;
mov.u32 %r2, %cluster_ctarank;
mov.u32 %r3, %cluster_nctarank;
mov.u32 %r4, words;
"""

SYNC = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"


def registers(group):
    names = [
        f"{n}.{d}"
        for n in "clusterid nclusterid cluster_ctaid cluster_nctaid ctaid nctaid".split()
        for d in "xyz"
    ]
    names += ["cluster_ctarank", "cluster_nctarank"]
    body = f"""
        ld.param.u64 %rd1, [p_out];
        {linear_index("ctaid.z", "ctaid.y", "ctaid.x")}
        mad.wide.u32 %rd2, %r1, 128, %rd1;
    """
    for i, n in enumerate(names):
        body += f"mov.u32 %r4, %{n};\nst.global.b32 [%rd2+{4 * i}], %r4;\n"
    body += """
        mov.pred %p1, %is_explicit_cluster;
        selp.u32 %r4, 1, 0, %p1;
        st.global.b32 [%rd2+80], %r4;
        ret;
    """
    group.entry("cluster_registers", ["u64 out"], body)
    for grid, cluster in (
        ((8, 1, 1), (4, 1, 1)),
        ((4, 4, 2), (2, 2, 1)),
        ((2, 2, 4), (1, 2, 2)),
        ((4, 2, 2), (4, 2, 1)),
        ((3, 2, 1), None),
        ((2, 4, 2), (2, 2, 2)),
    ):
        name = "x".join(map(str, cluster or (0,)))
        group.case(
            f"cluster_registers_{name}",
            "cluster_registers",
            grid=grid,
            block=1,
            cluster=cluster,
            buffers={"out": 128 * grid[0] * grid[1] * grid[2]},
            args=["out"],
        )
    group.entry("cluster_required", ["u64 out"], body, ".reqnctapercluster 2, 1, 2\n")
    group.case(
        "cluster_required", grid=(4, 1, 2), block=1, buffers={"out": 1024}, args=["out"]
    )


def addresses(group):
    """Tests mapa and getctarank with shared and generic addresses, and the position of the
    CTA rank in an address."""
    group.entry(
        "cluster_addresses",
        ["u64 out"],
        WHERE + """
        ld.param.u64 %rd1, [p_out];
        mad.lo.u32 %r5, %r2, %r3, %r1;
        mad.wide.u32 %rd2, %r5, 64, %rd1;
        mapa.shared::cluster.u32 %r6, %r4, %r1;
        getctarank.shared::cluster.u32 %r7, %r6;
        getctarank.shared::cluster.u32 %r8, %r4;
        sub.u32 %r9, %r6, %r4;
        st.global.v4.b32 [%rd2], {%r6, %r7, %r8, %r9};
        cvt.u64.u32 %rd3, %r4;
        cvta.shared.u64 %rd4, %rd3;
        mapa.u64 %rd5, %rd4, %r1;
        getctarank.u64 %r10, %rd5;
        getctarank.u64 %r11, %rd4;
        cvt.u64.u32 %rd6, %r6;
        cvta.shared::cluster.u64 %rd7, %rd6;
        sub.u64 %rd8, %rd7, %rd5;
        cvta.to.shared::cluster.u64 %rd9, %rd5;
        sub.u64 %rd9, %rd9, %rd6;
        sub.u64 %rd10, %rd5, %rd4;
        mov.u32 %r12, 0;
        isspacep.shared::cta %p1, %rd5;
        isspacep.shared::cluster %p2, %rd5;
        isspacep.shared %p3, %rd5;
        @%p1 or.b32 %r12, %r12, 1;
        @%p2 or.b32 %r12, %r12, 2;
        @%p3 or.b32 %r12, %r12, 4;
        mapa.shared::cluster.u64 %rd11, %rd3, %r1;
        st.global.v4.b32 [%rd2+16], {%r10, %r11, %r12, %r2};
        st.global.v2.b64 [%rd2+32], {%rd8, %rd9};
        st.global.v2.b64 [%rd2+48], {%rd10, %rd11};
        """ + SYNC + "ret;",
    )
    for size in (1, 2, 4, 8):
        group.case(
            f"cluster_addresses_{size}",
            "cluster_addresses",
            grid=size,
            block=size,
            cluster=size,
            buffers={"out": 64 * size * size},
            args=["out"],
        )


def access(group):
    """Accesses the memory of the next CTA by loads, stores and atomics."""
    group.entry(
        "cluster_access",
        ["u64 in", "u64 out"],
        WHERE
        + """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r5, %ctaid.x;
        mad.lo.u32 %r5, %r5, 32, %r1;
        mad.wide.u32 %rd3, %r5, 32, %rd1;
        mad.wide.u32 %rd4, %r5, 64, %rd2;
        mad.lo.u32 %r6, %r1, 32, %r4;
        ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd3];
        ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%rd3+16];
        st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
        """
        + SYNC
        + """
        add.u32 %r7, %r2, 1;
        rem.u32 %r7, %r7, %r3;
        mapa.shared::cluster.u32 %r8, %r6, %r7;
        cvt.u64.u32 %rd5, %r6;
        cvta.shared.u64 %rd5, %rd5;
        mapa.u64 %rd6, %rd5, %r7;
        ld.shared::cluster.v2.b32 {%r20, %r21}, [%r8];
        ld.b32 %r22, [%rd6+8];
        ld.shared::cluster.u8 %r23, [%r8+13];
        st.global.v4.b32 [%rd4], {%r20, %r21, %r22, %r23};
        atom.shared::cluster.add.u32 %r24, [%r8], %r14;
        atom.add.u32 %r25, [%rd6+4], %r15;
        atom.shared::cluster.cas.b32 %r26, [%r8+8], %r22, %r16;
        atom.acq_rel.cluster.shared::cluster.exch.b32 %r27, [%r8+12], %r17;
        red.shared::cluster.xor.b32 [%r8+4], %r16;
        red.max.s32 [%rd6+8], %r10;
        st.global.v4.b32 [%rd4+16], {%r24, %r25, %r26, %r27};
        st.shared::cluster.v4.b32 [%r8+16], {%r14, %r15, %r16, %r17};
        st.u8 [%rd6+17], %r10;
        st.shared::cluster.u16 [%r8+18], %r11;
        """
        + SYNC
        + """
        ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r6];
        st.global.v4.b32 [%rd4+32], {%r10, %r11, %r12, %r13};
        ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r6+16];
        st.global.v4.b32 [%rd4+48], {%r10, %r11, %r12, %r13};
        ret;
        """,
    )
    for size in (2, 3, 8):
        group.case(
            f"cluster_access_{size}",
            "cluster_access",
            grid=size,
            cluster=size,
            buffers={
                "in": random_bytes("cluster", 32 * 32 * 8),
                "out": 64 * 32 * (2 * size if size < 8 else size),
            },
            args=["in", "out"],
        )


def remote_barriers(group):
    """Threads store to the next CTA and arrive at its barrier."""
    group.entry(
        "remote_arrive",
        ["u64 out"],
        WHERE
        + """
        ld.param.u64 %rd1, [p_out];
        mov.u32 %r5, barrier;
        mad.lo.u32 %r6, %r1, 4, %r4;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r5], 32;
        fence.mbarrier_init.release.cluster;
        READY:
        """
        + SYNC
        + """
        add.u32 %r7, %r2, 1;
        rem.u32 %r7, %r7, %r3;
        mapa.shared::cluster.u32 %r8, %r6, %r7;
        mapa.shared::cluster.u32 %r9, %r5, %r7;
        mad.lo.u32 %r10, %r2, 1000, %r1;
        st.shared::cluster.b32 [%r8], %r10;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
        WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r5], 0;
        @!%p2 bra WAIT;
        ld.shared.b32 %r11, [%r6];
        // Once more with generic addresses.
        mul.lo.u32 %r10, %r10, 3;
        cvt.u64.u32 %rd3, %r6;
        cvta.shared.u64 %rd3, %rd3;
        mapa.u64 %rd3, %rd3, %r7;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        st.b32 [%rd3], %r10;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9], 1;
        WAIT2:
        mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r5], 1;
        @!%p2 bra WAIT2;
        ld.shared.b32 %r12, [%r6];
        mad.lo.u32 %r13, %r2, 32, %r1;
        mad.wide.u32 %rd4, %r13, 8, %rd1;
        st.global.v2.b32 [%rd4], {%r11, %r12};
        """
        + SYNC
        + "ret;",
    )
    for size in (2, 4):
        group.case(
            f"remote_arrive_{size}",
            "remote_arrive",
            grid=size,
            cluster=size,
            buffers={"out": 256 * size},
            args=["out"],
        )
    forms = [
        "b32 4 1",
        "b64 8 1",
        "u32 4 2",
        "b64 8 2",
        "b32 4 4",
        "f32 4 4",
        "s64 8 1",
    ]
    for form in forms:
        t, size, n = form.split()
        size, n = int(size), int(n)
        total = size * n
        regs = [f"%v{i}" for i in range(n)]
        vector = f".v{n}" if n > 1 else ""
        value = "{" + ", ".join(regs) + "}" if n > 1 else regs[0]
        name = f"st_async_{t}_{n}"
        send(
            group,
            name,
            f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.{t} [%r8], {value}, [%r9];",
            size,
            n,
        )
    for (
        op
    ) in "inc.u32 dec.u32 min.u32 max.u32 min.s32 max.s32 add.u32 add.s32 add.u64 and.b32 or.b32 xor.b32".split():
        size = int(op[-2:]) // 8
        name = "red_async_" + op.replace(".", "_")
        send(
            group,
            name,
            f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op} [%r8], %v0, [%r9];",
            size,
            1,
        )


def send(group, name, instruction, size, n):
    total = size * n
    loads = "\n".join(
        f"ld.global.b{8 * size} %v{i}, [%rd3+{size * i}];" for i in range(n)
    )
    group.entry(
        name,
        ["u64 in", "u64 out"],
        f"""
        .reg .b{8 * size} {', '.join(f'%v{i}' for i in range(n))};
        """
        + WHERE
        + f"""
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        mov.u32 %r5, barrier;
        mad.lo.u32 %r6, %r1, {total}, %r4;
        mad.lo.u32 %r13, %r2, 32, %r1;
        mad.wide.u32 %rd3, %r13, {total}, %rd1;
        mad.wide.u32 %rd4, %r13, {total}, %rd2;
        {loads}
        {chr(10).join(f'st.shared.b{8 * size} [%r6+{size * i}], %v{i};' for i in range(n))}
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r5], 1;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], {32 * total};
        fence.mbarrier_init.release.cluster;
        READY:
        fence.proxy.async;
        {SYNC}
        add.u32 %r7, %r2, 1;
        rem.u32 %r7, %r7, %r3;
        mapa.shared::cluster.u32 %r8, %r6, %r7;
        mapa.shared::cluster.u32 %r9, %r5, %r7;
        {instruction}
        WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r5], 0;
        @!%p2 bra WAIT;
        {chr(10).join(f'ld.shared.b{8 * size} %v{i}, [%r6+{size * i}];' for i in range(n))}
        {chr(10).join(f'st.global.b{8 * size} [%rd4+{size * i}], %v{i};' for i in range(n))}
        {SYNC}
        ret;
        """,
    )
    group.case(
        name,
        grid=2,
        cluster=2,
        buffers={"in": random_bytes(name, 64 * total), "out": 64 * total},
        args=["in", "out"],
        item=size,
    )


def groups():
    group = Group("cluster", version="8.1")
    group.declare(".shared .align 16 .b8 words[2048];")
    group.declare(".shared .align 8 .b64 barrier;")
    for make in registers, addresses, access, remote_barriers:
        make(group)
    return [group]
