"""Further tensor copies: reductions, multicast, cache hints, and tensor maps
modified on the device."""

import struct

from ..base import Group, random_bytes
from .tma import BYTES, DUMP, PARAMS, PREPARE, coordinates, declare, describe, load_kernels

REDUCED = {
    "add": "u32 i32 u64 f16 bf16 f32 f32_ftz",
    "min": "u32 i32 u64 i64 f16 bf16",
    "max": "u32 i32 u64 i64 f16 bf16",
    "inc": "u32",
    "dec": "u32",
    "and": "u32 i32 u64 i64",
    "or": "u32 i32 u64 i64",
    "xor": "u32 i32 u64 i64",
}


def numbers(type, count, seed):
    """Returns random small integers, which every type represents exactly."""
    raw = random_bytes(seed, count)
    code = {"f16": "e", "f32": "f", "f32_ftz": "f", "f64": "d"}.get(type)
    if code:
        return struct.pack(f"<{count}{code}", *(b - 128 for b in raw))
    if type == "bf16":
        return b"".join(struct.pack("<f", b - 128)[2:] for b in raw)
    return struct.pack(f"<{count}{'I' if BYTES[type] == 4 else 'Q'}", *raw)


def reductions(group):
    loads, point = coordinates(2)
    base = group.entries["store_2d"]
    for op, types in REDUCED.items():
        group.entries[f"reduce_{op}"] = base.replace(
            "store_2d", f"reduce_{op}"
        ).replace(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
            f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group",
        )
        for t in types.split():
            dims, box = (24, 12), (64 // BYTES[t], 8)
            for kind in ("small", "any"):
                tensor_map, total = describe(dims, box, t, swizzle="64b")
                count = total // BYTES[t]
                if kind == "small":
                    old, new = numbers(t, count, f"{op} {t} old"), numbers(
                        t, 256, f"{op} {t} new"
                    )
                    new = (new * 4)[:1024]
                else:
                    old, new = random_bytes(f"{op} {t} old", total), random_bytes(
                        f"{op} {t} new", 1024
                    )
                group.case(
                    f"reduce_{op}_{t}_{kind}",
                    f"reduce_{op}",
                    block=128,
                    smem=1024,
                    buffers={"tensor": old, "source": new},
                    tensor_maps={"map": tensor_map},
                    args=[{"tensor_map": "map"}, "source", 1024, 0, 0, 16, 6],
                    outputs=["tensor"],
                    item=BYTES[t],
                    # Tensor maps of type i64 do not support bitwise operations.
                    fails=t == "i64" and op in ("and", "or", "xor"),
                )


def multicast(group):
    """Sends the box of each CTA of a cluster to the CTAs selected by a mask. The barrier of
    each CTA counts the received bytes."""
    group.entry(
        "multicast",
        [*PARAMS, "u32 mask"],
        PREPARE + """
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        ld.param.u32 %r30, [p_mask];
        mov.u32 %r31, %cluster_ctarank;
        mov.u32 %r32, %cluster_nctarank;
        @%p1 bra ISSUED;
        // CTA r receives box `rank` in slot `rank` if bit (r - rank) mod n of the
        // mask is set, so popc(mask) boxes arrive in each CTA.
        popc.b32 %r33, %r30;
        mul.lo.u32 %r4, %r4, %r33;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
        shl.b32 %r34, %r30, %r31;
        sub.u32 %r35, %r32, %r31;
        shr.u32 %r36, %r30, %r35;
        or.b32 %r34, %r34, %r36;
        shl.b32 %r37, 1, %r32;
        sub.u32 %r37, %r37, 1;
        and.b32 %r34, %r34, %r37;
        cvt.u16.u32 %h1, %r34;
        shl.b32 %r20, %r31, 4;
        shl.b32 %r21, %r31, 1;
        mad.lo.u32 %r15, %r31, 1024, %r10;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r15], [%rd1, {%r20, %r21}], [%r11], %h1;
        ISSUED:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r11], 0;
        @!%p2 bra ISSUED;
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        mul.lo.u32 %r38, %r31, %r3;
        cvt.u64.u32 %rd6, %r38;
        add.s64 %rd2, %rd2, %rd6;
        """ + DUMP,
    )
    tensor_map, total = describe((272, 40), (64, 16), swizzle="64b")
    for size, masks in {2: [1, 2, 3], 4: [1, 5, 15, 8], 8: [255, 0x91, 0x80]}.items():
        for mask in masks:
            slot = 1024 * size
            group.case(
                f"multicast_{size}_{mask:x}",
                "multicast",
                grid=size,
                block=128,
                cluster=size,
                smem=slot,
                buffers={
                    "tensor": random_bytes("multicast", total),
                    "out": slot * size,
                },
                tensor_maps={"map": tensor_map},
                args=[{"tensor_map": "map"}, "out", slot, 1024, 0, mask],
                outputs=["out"],
            )


def hints(group):
    """Prefetches a box and loads it with a cache policy."""
    loads, point = coordinates(2)
    group.entry(
        "load_hint",
        [*PARAMS, "u32 c0", "u32 c1"],
        PREPARE + f"""
        @%p1 bra ISSUED;
        {loads}
        prefetch.tensormap [%rd1];
        createpolicy.fractional.L2::evict_first.b64 %rd7, 1.0;
        cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {point}];
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%r10], [%rd1, {point}], [%r11], %rd7;
        ISSUED:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
        @!%p2 bra ISSUED;
        """ + DUMP,
    )
    tensor_map, total = describe((272, 40), (64, 16), swizzle="64b")
    group.case(
        "load_hint",
        block=128,
        smem=1024,
        buffers={"tensor": random_bytes("hint", total), "out": 1024},
        tensor_maps={"map": tensor_map},
        args=[{"tensor_map": "map"}, "out", 1024, 1024, 0, 32, 30],
        outputs=["out"],
    )


def replace(group):
    """Changes one field of a copy of the tensor map, publishes the copy, and loads a box
    through the copy."""
    address = (
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r40], %rd9;"
    )
    edits = {
        "address": address,
        "dim0": "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r40], 0, 40;",
        "dim1": "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r40], 1, 9;",
        "stride": "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r40], 0, 544;",
        "box": "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r40], 1, 8;",
        "element_stride": "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r40], 1, 2;",
        "swizzle": "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r40], 3;",
        "swizzle_none": "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r40], 0;",
        "fill": "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r40], 1;",
        "type": "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r40], 0;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r40], 0, 64;",
    }
    # Changes of these fields reduce the number of loaded bytes.
    expected = {"box": 512, "element_stride": 512}
    loads, point = coordinates(2)
    for name, edit in edits.items():
        group.entry(
            f"replace_{name}",
            [*PARAMS, "u32 c0", "u32 c1", "u64 work", "u64 other"],
            PREPARE + f"""
            {loads}
            ld.param.u64 %rd8, [p_work];
            ld.param.u64 %rd9, [p_other];
            mov.u32 %r40, copy;
            setp.gt.u32 %p4, %r6, 31;
            @%p4 bra WAIT;
            shl.b32 %r41, %r6, 2;
            cvt.u64.u32 %rd10, %r41;
            add.s64 %rd11, %rd1, %rd10;
            ld.u32 %r42, [%rd11];
            add.u32 %r43, %r40, %r41;
            st.shared.u32 [%r43], %r42;
            bar.warp.sync -1;
            @%p1 bra CHANGED;
            {edit}
            CHANGED:
            bar.warp.sync -1;
            tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd8], [%r40], 128;
            @%p1 bra WAIT;
            fence.proxy.tensormap::generic.acquire.gpu [%rd8], 128;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd8, {point}], [%r11];
            WAIT:
            mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
            @!%p2 bra WAIT;
            """ + DUMP,
        )
        tensor_map, total = describe((136, 40), (32, 16), type="f16", swizzle="64b")
        group.case(
            f"replace_{name}",
            block=128,
            smem=2048,
            buffers={
                "tensor": random_bytes("replaced", 2 * total),
                "other": random_bytes("replacing", 2 * total),
                "work": {"bytes": 128, "fill": "zero"},
                "out": 2048,
            },
            tensor_maps={"map": tensor_map},
            args=[
                {"tensor_map": "map"},
                "out",
                2048,
                expected.get(name, 1024),
                0,
                24,
                5,
                "work",
                "other",
            ],
            outputs=["out"],
            # With the new type, the innermost coordinate is not a multiple of 16 bytes.
            fails=name == "type",
        )


def groups():
    made = []
    for name, version, makers in (
        ("tma-reduce", "8.0", (load_kernels, reductions)),
        ("tma-multicast", "8.0", (multicast, hints)),
        ("tma-replace", "8.3", (replace,)),
    ):
        group = Group(name, version=version)
        declare(group)
        if name == "tma-replace":
            group.declare(".shared .align 128 .b8 copy[128];")
        for make in makers:
            make(group)
        made.append(group)
    return made
