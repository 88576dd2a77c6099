"""Asynchronous copies: cp.async, bulk copies and bulk reductions."""

from ..base import Group, pack, random_bytes
from .tma import declare
from .tma_special import numbers

COPY_SIZES = (16, 32, 48, 128, 1008, 4096)


def bulk(group):
    """Copies from global to shared memory and back."""
    group.entry(
        "bulk",
        ["u64 in", "u64 out", "u32 size", "u32 at"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        ld.param.u32 %r1, [p_size];
        ld.param.u32 %r2, [p_at];
        mov.u32 %r3, dynsmem;
        mov.u32 %r4, barrier;
        mov.u32 %r5, %tid.x;
        shl.b32 %r6, %r5, 2;
        FILL:
        add.u32 %r7, %r3, %r6;
        st.shared.b32 [%r7], 0xeeeeeeee;
        add.u32 %r6, %r6, 128;
        setp.lt.u32 %p1, %r6, 8192;
        @%p1 bra FILL;
        setp.ne.u32 %p2, %r5, 0;
        @%p2 bra READY;
        mbarrier.init.shared::cta.b64 [%r4], 1;
        fence.proxy.async.shared::cta;
        READY:
        fence.proxy.async.shared::cta;
        bar.sync 0;
        @%p2 bra WAIT;
        cvt.u64.u32 %rd3, %r2;
        add.s64 %rd4, %rd1, %rd3;
        add.u32 %r8, %r3, %r2;
        cp.async.bulk.prefetch.L2.global [%rd4], %r1;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], %r1;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd4], %r1, [%r4];
        WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;
        @!%p3 bra WAIT;
        bar.sync 0;
        @%p2 bra DONE;
        add.s64 %rd5, %rd2, %rd3;
        cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r8], %r1;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
        cp.async.bulk.wait_group 0;
        DONE:
        ret;
        """,
    )
    for size in COPY_SIZES:
        for at in (0, 16, 1040):
            group.case(
                f"bulk_{size}_{at}",
                "bulk",
                smem=8192,
                buffers={"in": random_bytes("bulk", 8192), "out": 8192},
                args=["in", "out", size, at],
            )


def bulk_within(group):
    """Copies from a CTA's shared memory to another CTA in the cluster, or within the CTA."""
    group.entry(
        "bulk_within",
        ["u64 in", "u64 out", "u32 size", "u32 step"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        ld.param.u32 %r1, [p_size];
        ld.param.u32 %r2, [p_step];
        mov.u32 %r3, dynsmem;
        mov.u32 %r4, barrier;
        mov.u32 %r5, %tid.x;
        mov.u32 %r6, %cluster_ctarank;
        mov.u32 %r7, %cluster_nctarank;
        mov.u32 %r9, 0;
        FILL:
        shl.b32 %r12, %r9, 7;
        mad.lo.u32 %r12, %r5, 4, %r12;
        mad.lo.u32 %r13, %r6, 2048, %r12;
        cvt.u64.u32 %rd3, %r13;
        add.s64 %rd3, %rd3, %rd1;
        ld.global.b32 %r14, [%rd3];
        add.u32 %r15, %r3, %r12;
        st.shared.b32 [%r15], %r14;
        add.u32 %r9, %r9, 1;
        setp.lt.u32 %p1, %r9, 16;
        @%p1 bra FILL;
        setp.ne.u32 %p2, %r5, 0;
        @%p2 bra READY;
        mbarrier.init.shared::cta.b64 [%r4], 1;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], %r1;
        fence.mbarrier_init.release.cluster;
        READY:
        fence.proxy.async.shared::cta;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        @%p2 bra WAIT;
        add.u32 %r16, %r6, %r2;
        rem.u32 %r16, %r16, %r7;
        add.u32 %r17, %r3, 1024;
        mapa.shared::cluster.u32 %r18, %r17, %r16;
        mapa.shared::cluster.u32 %r19, %r4, %r16;
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r18], [%r3], %r1, [%r19];
        WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r4], 0;
        @!%p3 bra WAIT;
        mov.u32 %r9, 0;
        DUMP:
        shl.b32 %r12, %r9, 7;
        mad.lo.u32 %r12, %r5, 4, %r12;
        mad.lo.u32 %r13, %r6, 2048, %r12;
        cvt.u64.u32 %rd3, %r13;
        add.s64 %rd3, %rd3, %rd2;
        add.u32 %r15, %r3, %r12;
        ld.shared.b32 %r14, [%r15];
        st.global.b32 [%rd3], %r14;
        add.u32 %r9, %r9, 1;
        setp.lt.u32 %p1, %r9, 16;
        @%p1 bra DUMP;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        ret;
        """,
    )
    for cluster in (1, 2, 4):
        for step in range(min(cluster, 2)):
            for size in (16, 48, 1024):
                group.case(
                    f"bulk_within_{cluster}_{step}_{size}",
                    "bulk_within",
                    grid=cluster,
                    cluster=cluster,
                    smem=2048,
                    buffers={"in": random_bytes("within", 8192), "out": 2048 * cluster},
                    args=["in", "out", size, step],
                )


def bulk_multicast(group):
    """Sends 256 bytes from each CTA of a cluster to the CTAs selected by a mask."""
    group.entry(
        "bulk_multicast",
        ["u64 in", "u64 out", "u32 mask"],
        """
        ld.param.u64 %rd1, [p_in];
        ld.param.u64 %rd2, [p_out];
        ld.param.u32 %r1, [p_mask];
        mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, dynsmem;
        mov.u32 %r4, barrier;
        mov.u32 %r5, %tid.x;
        mad.lo.u32 %r6, %r5, 32, %r3;
        mov.u32 %r7, 0xeeeeeeee;
        st.shared.v4.b32 [%r6], {%r7, %r7, %r7, %r7};
        st.shared.v4.b32 [%r6+16], {%r7, %r7, %r7, %r7};
        setp.ne.u32 %p1, %r5, 0;
        @%p1 bra READY;
        mbarrier.init.shared::cta.b64 [%r4], 1;
        // If the mask contains the bit of this CTA, each of four CTAs sends 256 bytes.
        shr.u32 %r8, %r1, %r2;
        and.b32 %r8, %r8, 1;
        mul.lo.u32 %r8, %r8, 1024;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], %r8;
        fence.mbarrier_init.release.cluster;
        READY:
        fence.proxy.async.shared::cta;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        @%p1 bra WAIT;
        cvt.u16.u32 %h1, %r1;
        mul.wide.u32 %rd3, %r2, 256;
        add.s64 %rd3, %rd3, %rd1;
        mad.lo.u32 %r9, %r2, 256, %r3;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r9], [%rd3], 256, [%r4], %h1;
        WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0;
        @!%p2 bra WAIT;
        mad.lo.u32 %r10, %r2, 32, %r5;
        mad.wide.u32 %rd4, %r10, 32, %rd2;
        ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%r6];
        st.global.v4.b32 [%rd4], {%r11, %r12, %r13, %r14};
        ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%r6+16];
        st.global.v4.b32 [%rd4+16], {%r11, %r12, %r13, %r14};
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        ret;
        """,
    )
    for mask in (15, 9, 4):
        group.case(
            f"bulk_multicast_{mask}",
            "bulk_multicast",
            grid=4,
            cluster=4,
            smem=1024,
            buffers={"in": random_bytes("bulk multicast", 1024), "out": 4096},
            args=["in", "out", mask],
        )


REDUCE_GLOBAL = [(op, t) for op in ("min", "max") for t in "s32 u32 s64 u64".split()]
REDUCE_GLOBAL += [("add", t) for t in "s32 u32 u64 f32 f64".split()]
REDUCE_GLOBAL += [("inc", "u32"), ("dec", "u32")]
REDUCE_GLOBAL += [(op, t) for op in "and or xor".split() for t in "b32 b64".split()]
REDUCE_GLOBAL += [(op, t) for op in ("min", "max") for t in ("f16", "bf16")]
REDUCE_GLOBAL += [("add.noftz", t) for t in ("f16", "bf16")]
REDUCE_SHARED = [(op, t) for op in ("min", "max") for t in ("s32", "u32")]
REDUCE_SHARED += [
    ("add", "s32"),
    ("add", "u32"),
    ("add", "u64"),
    ("inc", "u32"),
    ("dec", "u32"),
]
REDUCE_SHARED += [(op, "b32") for op in "and or xor".split()]


def bulk_reductions(group):
    """Combines 512 bytes with the destination, in global memory or in the memory of a
    CTA of the cluster."""
    for op, t in REDUCE_GLOBAL:
        name = f"bulk_reduce_{op}_{t}".replace(".", "_")
        group.entry(
            name,
            ["u64 in", "u64 out"],
            f"""
            ld.param.u64 %rd1, [p_in];
            ld.param.u64 %rd2, [p_out];
            mov.u32 %r1, %tid.x;
            mov.u32 %r3, dynsmem;
            mad.lo.u32 %r4, %r1, 16, %r3;
            mad.wide.u32 %rd3, %r1, 16, %rd1;
            ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd3];
            st.shared.v4.b32 [%r4], {{%r5, %r6, %r7, %r8}};
            fence.proxy.async.shared::cta;
            bar.sync 0;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra DONE;
            cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [%rd2], [%r3], 512;
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 0;
            DONE:
            ret;
            """,
        )
        width = int(t.lstrip("usbf")) // 8 if t != "bf16" else 2
        for kind in "small", "any":
            form = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}.get(t)
            if kind == "small" and form:
                old, new = (numbers(form, 512 // width, f"{name} {k}") for k in "on")
            elif kind == "small":
                old, new = (
                    pack(
                        width,
                        [b - 100 for b in random_bytes(f"{name} {k}", 512 // width)],
                    )
                    for k in "on"
                )
            else:
                old, new = (random_bytes(f"{name} {k}", 512) for k in "on")
            group.case(
                f"{name}_{kind}",
                name,
                smem=512,
                buffers={"in": new, "out": old},
                args=["in", "out"],
                item=width,
            )
    for op, t in REDUCE_SHARED:
        name = f"bulk_reduce_shared_{op}_{t}"
        group.entry(
            name,
            ["u64 in", "u64 out"],
            f"""
            // Each CTA keeps its words in the first half of shared memory and sends
            // the second half to the next CTA of the cluster.
            ld.param.u64 %rd1, [p_in];
            ld.param.u64 %rd2, [p_out];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %cluster_ctarank;
            mov.u32 %r3, dynsmem;
            mov.u32 %r9, barrier;
            mad.lo.u32 %r10, %r2, 32, %r1;
            mad.wide.u32 %rd3, %r10, 32, %rd1;
            mad.lo.u32 %r4, %r1, 16, %r3;
            ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd3];
            st.shared.v4.b32 [%r4], {{%r5, %r6, %r7, %r8}};
            ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd3+16];
            st.shared.v4.b32 [%r4+512], {{%r5, %r6, %r7, %r8}};
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra READY;
            mbarrier.init.shared::cta.b64 [%r9], 1;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 512;
            fence.mbarrier_init.release.cluster;
            READY:
            fence.proxy.async.shared::cta;
            barrier.cluster.arrive.release;
            barrier.cluster.wait.acquire;
            @%p1 bra WAIT;
            add.u32 %r11, %r2, 1;
            and.b32 %r11, %r11, 1;
            mapa.shared::cluster.u32 %r12, %r3, %r11;
            mapa.shared::cluster.u32 %r13, %r9, %r11;
            add.u32 %r14, %r3, 512;
            cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} [%r12], [%r14], 512, [%r13];
            WAIT:
            mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r9], 0;
            @!%p2 bra WAIT;
            ld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r4];
            mad.wide.u32 %rd4, %r10, 16, %rd2;
            st.global.v4.b32 [%rd4], {{%r5, %r6, %r7, %r8}};
            barrier.cluster.arrive.release;
            barrier.cluster.wait.acquire;
            ret;
            """,
        )
        group.case(
            name,
            grid=2,
            cluster=2,
            smem=1024,
            buffers={"in": random_bytes(name, 2048), "out": 1024},
            args=["in", "out"],
        )


def copies(group):
    """Tests cp.async of each size, with zero-filled bytes and an ignored source, and all
    ways to wait: wait_all, groups, and mbarriers."""
    lines = []
    forms = [(f"cp.async.ca.shared.global [%r10], [%rd3], {n}", n) for n in (4, 8, 16)]
    forms += [("cp.async.cg.shared.global [%r10], [%rd3], 16", 16)]
    forms += [("cp.async.ca.shared.global.L2::128B [%r10], [%rd3], 16", 16)]
    for n in (4, 8, 16):
        forms += [
            (f"cp.async.ca.shared.global [%r10], [%rd3], {n}, {k}", n)
            for k in range(0, n + 1, 1 if n < 16 else 3)
        ]
    forms += [("cp.async.cg.shared.global [%r10], [%rd3], 16, %r20", 16)]
    forms += [("cp.async.cg.shared.global [%r10], [%rd3], 16, %p7", 16)]
    forms += [("cp.async.ca.shared::cta.global [%r10], [%rd3], 8, %p7", 8)]
    for text, _ in forms:
        lines += [f"{text};", "add.u32 %r10, %r10, 512;"]
    total = 512 * len(forms)
    for how in "wait_all", "groups", "mbarrier", "noinc":
        if how == "groups":
            body = []
            for i in range(0, len(lines), 2):
                body += [lines[i], lines[i + 1], "cp.async.commit_group;"]
            end = "cp.async.wait_group 2;\ncp.async.wait_group 0;\nbar.warp.sync -1;"
        elif how == "wait_all":
            body, end = lines, "cp.async.wait_all;\nbar.warp.sync -1;"
        else:
            # With .noinc, the expected count must include the arrival of each copy.
            # Without .noinc, the instruction increments the pending count itself.
            noinc = ".noinc" if how == "noinc" else ""
            body = lines + [f"cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [%r4];"]
            if not noinc:
                body += ["mbarrier.arrive.shared::cta.b64 %rd9, [%r4];"]
            end = "WAIT:\nmbarrier.test_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra WAIT;"
        group.entry(
            f"cp_async_{how}",
            ["u64 in", "u64 out"],
            f"""
            ld.param.u64 %rd1, [p_in];
            ld.param.u64 %rd2, [p_out];
            mov.u32 %r1, %tid.x;
            mov.u32 %r3, dynsmem;
            mov.u32 %r4, barrier;
            shl.b32 %r5, %r1, 4;
            mov.u32 %r6, %r5;
            FILL:
            add.u32 %r7, %r3, %r6;
            mov.u32 %r8, 0xeeeeeeee;
            st.shared.v4.b32 [%r7], {{%r8, %r8, %r8, %r8}};
            add.u32 %r6, %r6, 512;
            setp.lt.u32 %p1, %r6, {total};
            @%p1 bra FILL;
            setp.ne.u32 %p2, %r1, 0;
            @%p2 bra READY;
            mbarrier.init.shared::cta.b64 [%r4], 32;
            READY:
            bar.sync 0;
            add.u32 %r10, %r3, %r5;
            cvt.u64.u32 %rd3, %r5;
            add.s64 %rd3, %rd3, %rd1;
            and.b32 %r20, %r1, 15;
            and.b32 %r21, %r1, 1;
            setp.ne.u32 %p7, %r21, 0;
            {chr(10).join(body)}
            {end}
            bar.sync 0;
            mov.u32 %r6, %r5;
            DUMP:
            add.u32 %r7, %r3, %r6;
            ld.shared.v4.b32 {{%r11, %r12, %r13, %r14}}, [%r7];
            cvt.u64.u32 %rd4, %r6;
            add.s64 %rd4, %rd4, %rd2;
            st.global.v4.b32 [%rd4], {{%r11, %r12, %r13, %r14}};
            add.u32 %r6, %r6, 512;
            setp.lt.u32 %p1, %r6, {total};
            @%p1 bra DUMP;
            ret;
            """,
        )
        group.case(
            f"cp_async_{how}",
            smem=total,
            buffers={"in": random_bytes("cp.async", 512), "out": total},
            args=["in", "out"],
        )


def groups():
    copy = declare(Group("asynchronous-copy"))
    bulk(copy)
    bulk_within(copy)
    bulk_multicast(copy)
    copies(copy)
    reduce = declare(Group("asynchronous-reduce", version="8.1"))
    bulk_reductions(reduce)
    return [copy, reduce]
