"""Tensor copies: every rank, swizzle, element type and side of the tensor;
reductions; multicast; tensor maps changed on the device."""

import struct

from ..base import Group, pack, random_bytes

BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2}
BYTES.update({"f32": 4, "f64": 8, "bf16": 2, "f32_ftz": 4, "tf32": 4, "tf32_ftz": 4})
FLOATS = "f16 bf16 f32 f64 f32_ftz tf32 tf32_ftz".split()


def describe(dims, box, type="u8", oob="zero", swizzle="none", steps=None, **more):
    """A tensor map whose rows are as close as strides of 16 bytes allow, and
    the bytes of the tensor."""
    size = BYTES[type]
    strides, pitch = [], -(-dims[0] * size // 16) * 16
    for n in dims[1:]:
        strides.append(pitch)
        pitch *= n
    tensor_map = {"buffer": "tensor", "type": type, "dims": list(dims), "box": list(box)}
    tensor_map.update({"strides": strides} if strides else {})
    tensor_map.update({"element_strides": list(steps)} if steps else {})
    tensor_map.update({"swizzle": swizzle, "oob": oob}, **more)
    return tensor_map, pitch


def box_bytes(box, size, steps=None):
    total = box[0] * size
    for k, n in enumerate(box[1:]):
        total *= -(-n // (steps[k + 1] if steps else 1))
    return total


def slot_bytes(box, size, swizzle, steps=None):
    """What a box covers in shared memory: rows as wide as the swizzle's span."""
    span = {"32b": 32, "64b": 64, "128b": 128}.get(swizzle, 0)
    row = max(box[0] * size, span)
    return -(-box_bytes(box, size, steps) // (box[0] * size) * row // 1024) * 1024


PREPARE = """
mov.b64 %rd1, p_map;
cvta.param.u64 %rd1, %rd1;
ld.param.u64 %rd2, [p_out];
ld.param.u32 %r3, [p_slot];
ld.param.u32 %r4, [p_expect];
ld.param.u32 %r5, [p_at];
mov.u32 %r6, %tid.x;
mov.u32 %r10, dynsmem;
mov.u32 %r11, barrier;
setp.ne.u32 %p1, %r6, 0;
shl.b32 %r12, %r6, 2;
FILL:
setp.ge.u32 %p2, %r12, %r3;
@%p2 bra FILLED;
add.u32 %r14, %r10, %r12;
st.shared.u32 [%r14], 0xeeeeeeee;
add.u32 %r12, %r12, 512;
bra FILL;
FILLED:
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r11], 1;
READY:
fence.mbarrier_init.release.cluster;
fence.proxy.async.shared::cta;
bar.sync 0;
"""

DUMP = """
bar.sync 0;
shl.b32 %r12, %r6, 2;
DUMP:
setp.ge.u32 %p2, %r12, %r3;
@%p2 bra DONE;
add.u32 %r14, %r10, %r12;
ld.shared.u32 %r13, [%r14];
cvt.u64.u32 %rd3, %r12;
add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r13;
add.u32 %r12, %r12, 512;
bra DUMP;
DONE:
ret;
"""


def coordinates(rank):
    names = [f"%r{20 + k}" for k in range(rank)]
    loads = "\n".join(f"ld.param.u32 {n}, [p_c{k}];" for k, n in enumerate(names))
    return loads, "{" + ", ".join(names) + "}"


def declare(group):
    group.declare(".extern .shared .align 1024 .b8 dynsmem[];")
    group.declare(".shared .align 8 .b64 barrier;")


def load_kernels(group):
    for rank in range(1, 6):
        loads, point = coordinates(rank)
        params = [f"align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at"]
        params += [f"u32 c{k}" for k in range(rank)]
        params[0] = "align 64 .b8 map[128]"
        group.entry(
            f"load_{rank}d",
            params,
            PREPARE
            + f"""
            @%p1 bra ISSUED;
            {loads}
            add.u32 %r15, %r10, %r5;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
            cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r15], [%rd1, {point}], [%r11];
            ISSUED:
            mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
            @!%p2 bra ISSUED;
            """
            + DUMP,
        )
        fill = PREPARE.replace(
            "st.shared.u32 [%r14], 0xeeeeeeee;",
            "cvt.u64.u32 %rd5, %r12;\nadd.s64 %rd5, %rd2, %rd5;\n"
            "ld.global.u32 %r16, [%rd5];\nst.shared.u32 [%r14], %r16;",
        )
        group.entry(
            f"store_{rank}d",
            params,
            fill
            + f"""
            @%p1 bra DONE;
            {loads}
            add.u32 %r15, %r10, %r5;
            cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%rd1, {point}], [%r15];
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 0;
            DONE:
            ret;
            """,
        )


def load(group, name, dims, box, at, type="u8", swizzle="none", oob="zero", steps=None, offset=0, data=None, **more):
    size = BYTES[type]
    tensor_map, total = describe(dims, box, type, oob, swizzle, steps, **more)
    slot = slot_bytes(box, size, swizzle, steps) + (-(-offset // 1024) * 1024)
    group.case(
        name,
        f"load_{len(dims)}d",
        block=128,
        smem=slot,
        buffers={"tensor": data or random_bytes(name, total), "out": slot},
        tensor_maps={"map": tensor_map},
        args=[{"tensor_map": "map"}, "out", slot, box_bytes(box, size, steps), offset, *at],
        outputs=["out"],
    )


def store(group, name, dims, box, at, type="u8", swizzle="none", offset=0):
    size = BYTES[type]
    tensor_map, total = describe(dims, box, type, swizzle=swizzle)
    slot = slot_bytes(box, size, swizzle) + (-(-offset // 1024) * 1024)
    group.case(
        name,
        f"store_{len(dims)}d",
        block=128,
        smem=slot,
        buffers={"tensor": b"\xcc" * total, "source": random_bytes(name, slot)},
        tensor_maps={"map": tensor_map},
        args=[{"tensor_map": "map"}, "source", slot, 0, offset, *at],
        outputs=["tensor"],
    )


SPANS = {"none": [16, 64, 144, 256], "32b": [16, 32], "64b": [16, 48, 64]}
SPANS["128b"] = [16, 48, 64, 112, 128]


def tiles(group):
    for swizzle, widths in SPANS.items():
        for width in widths:
            load(group, f"load_{swizzle}_{width}", (272, 40), (width, 24), (16, 5), swizzle=swizzle)
            store(group, f"store_{swizzle}_{width}", (272, 40), (width, 24), (16, 5), swizzle=swizzle)
        # The pattern follows the address in shared memory, not the box.
        for offset in (128, 256, 384, 512, 896):
            width = widths[-1]
            if swizzle != "none":
                load(group, f"load_{swizzle}_at_{offset}", (272, 40), (width, 20), (0, 0), swizzle=swizzle, offset=offset)
                store(group, f"store_{swizzle}_at_{offset}", (272, 40), (width, 20), (0, 0), swizzle=swizzle, offset=offset)
    for l2 in "64b 128b 256b".split():
        load(group, f"load_l2_{l2}", (272, 40), (128, 24), (16, 5), swizzle="128b", l2=l2)


def sides(group):
    """Boxes that reach over each side of tensors of each rank."""
    shapes = {
        1: ((100,), (64,)),
        2: ((100, 20), (64, 16)),
        3: ((40, 9, 6), (32, 4, 4)),
        4: ((40, 5, 4, 3), (32, 3, 2, 2)),
        5: ((40, 5, 4, 3, 3), (16, 3, 2, 2, 2)),
    }
    for rank, (dims, box) in shapes.items():
        places = {"inside": [0] * rank, "outside": [-1000] * rank}
        for k in range(rank):
            inside = [(d - b) // 2 for d, b in zip(dims, box)]
            below, above, gone = list(inside), list(inside), list(inside)
            below[k] = -(box[k] // 2) - (1 if rank == 2 else 0)
            above[k] = dims[k] - box[k] // 2 + (1 if rank == 2 else 0)
            gone[k] = dims[k]
            places.update({f"below_{k}": below, f"above_{k}": above, f"gone_{k}": gone})
        places["corner"] = [d - b // 2 for d, b in zip(dims, box)]
        places["low_corner"] = [-(b // 2) for b in box]
        for place, at in places.items():
            load(group, f"load_{rank}d_{place}", dims, box, at)
            load(group, f"load_{rank}d_{place}_f16", dims, box[:1] + box[1:], at, type="f16", oob="nan")
            if min(at) >= 0:
                store(group, f"store_{rank}d_{place}", dims, box, at)


def element_types(group):
    for t, size in BYTES.items():
        dims, box = (40, 12), (64 // size, 8)
        for swizzle in ("none", "64b"):
            load(group, f"load_type_{t}_{swizzle}", dims, box, (3, 2), type=t, swizzle=swizzle)
            load(group, f"load_type_{t}_{swizzle}_outside", dims, box, (-3, 7), type=t, swizzle=swizzle)
            if t in FLOATS:
                load(group, f"load_type_{t}_{swizzle}_nan", dims, box, (33, -3), type=t, swizzle=swizzle, oob="nan")
            store(group, f"store_type_{t}_{swizzle}", dims, box, (30, 7), type=t, swizzle=swizzle)
    # Denormals, ties and NaNs through the types that convert.
    codes = []
    for exponent in (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF):
        for mantissa in (0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x2FFF, 0x3000, 0x3001, 0x400000, 0x7FEFFF, 0x7FF000, 0x7FFFFF, 0x123456, 0x0BCDEF):
            codes += [exponent << 23 | mantissa, 1 << 31 | exponent << 23 | mantissa]
    data = pack(4, codes + codes[:32])
    for t in "f32 f32_ftz tf32 tf32_ftz".split():
        load(group, f"load_values_{t}", (64, 4), (64, 4), (0, 0), type=t, data=data)


def strides(group):
    for steps in ((1, 2), (1, 3), (2, 1), (4, 2), (1, 8), (3, 5)):
        name = "_".join(map(str, steps))
        load(group, f"load_steps_{name}", (96, 64), (32, 24), (16, 4), steps=steps)
        load(group, f"load_steps_{name}_outside", (96, 64), (32, 24), (80, 50), type="f16", oob="nan", steps=steps, swizzle="64b")
        load(group, f"load_steps_{name}_below", (96, 64), (32, 24), (-5, -7), type="u8", steps=steps, swizzle="32b")
    load(group, "load_steps_3d", (32, 16, 12), (32, 7, 5), (0, 1, 2), steps=(1, 2, 3))
    load(group, "load_steps_4d", (32, 8, 6, 6), (32, 5, 5, 4), (0, -1, 3, 1), steps=(1, 2, 3, 2))
    load(group, "load_steps_5d", (16, 8, 6, 6, 6), (16, 3, 3, 4, 5), (0, -1, 3, 1, 2), steps=(1, 2, 2, 3, 4))


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
    """Small whole numbers, exact in every type, and words of all kinds."""
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
        group.entries[f"reduce_{op}"] = (
            base.replace("store_2d", f"reduce_{op}")
            .replace("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
                     f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group")
        )
        for t in types.split():
            dims, box = (24, 12), (64 // BYTES[t], 8)
            for kind in ("small", "any"):
                tensor_map, total = describe(dims, box, t, swizzle="64b")
                count = total // BYTES[t]
                if kind == "small":
                    old, new = numbers(t, count, f"{op} {t} old"), numbers(t, 256, f"{op} {t} new")
                    new = (new * 4)[: 1024]
                else:
                    old, new = random_bytes(f"{op} {t} old", total), random_bytes(f"{op} {t} new", 1024)
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
                )


def multicast(group):
    """Each CTA of a cluster sends its box to the CTAs of a mask; the barrier of
    each counts what it gets."""
    group.entry(
        "multicast",
        ["align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at", "u32 mask"],
        PREPARE
        + """
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        ld.param.u32 %r30, [p_mask];
        mov.u32 %r31, %cluster_ctarank;
        mov.u32 %r32, %cluster_nctarank;
        @%p1 bra ISSUED;
        // Box `rank` goes to slot `rank` of each CTA r whose bit (r - rank) mod n
        // of the mask is set: popc(mask) boxes arrive everywhere.
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
        """
        + DUMP,
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
                buffers={"tensor": random_bytes("multicast", total), "out": slot * size},
                tensor_maps={"map": tensor_map},
                args=[{"tensor_map": "map"}, "out", slot, 1024, 0, mask],
                outputs=["out"],
            )


def hints(group):
    """A load with a cache policy and a prefetch before it."""
    loads, point = coordinates(2)
    group.entry(
        "load_hint",
        ["align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at", "u32 c0", "u32 c1"],
        PREPARE
        + f"""
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
        """
        + DUMP,
    )
    tensor_map, total = describe((272, 40), (64, 16), swizzle="64b")
    group.case(
        "load_hint",
        block=128,
        smem=1024,
        buffers={"tensor": random_bytes("hint", total), "out": 1024},
        tensor_maps={"map": tensor_map},
        args=[{"tensor_map": "map"}, "out", 1024, 1024, 0, 20, 30],
        outputs=["out"],
    )


def replace(group):
    """Changes one field of a copy of the map, publishes it, loads with it."""
    address = "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r40], %rd9;"
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
    # Bytes that arrive after the change, where it is not all of the box.
    expected = {"box": 512, "element_stride": 512}
    loads, point = coordinates(2)
    for name, edit in edits.items():
        group.entry(
            f"replace_{name}",
            ["align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at", "u32 c0", "u32 c1", "u64 work", "u64 other"],
            PREPARE
            + f"""
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
            """
            + DUMP,
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
            args=[{"tensor_map": "map"}, "out", 2048, expected.get(name, 1024), 0, 24, 5, "work", "other"],
            outputs=["out"],
        )


def interleaved(group):
    """Layouts with slices of 16 or 32 bytes: the bytes that arrive are few, and
    the kernel only waits for a time, so that memory shows which they are."""
    loads, point = coordinates(3)
    group.entry(
        "interleaved",
        ["align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at", "u32 c0", "u32 c1", "u32 c2"],
        PREPARE
        + f"""
        @%p1 bra ISSUED;
        {loads}
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
        cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd1, {point}], [%r11];
        ISSUED:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
        @!%p2 bra ISSUED;
        """
        + DUMP,
    )
    # The innermost dimension lies in slices, and steps of it are whole slices.
    for mode, swizzles, pitch in ("16b", ("none", "32b", "64b", "128b"), 16), ("32b", ("32b",), 32):
        for swizzle in swizzles:
            dims, box = (8 * pitch // 16, 20, 6), (8 * pitch // 16, 12, 4)
            group.case(
                f"interleaved_{mode}_{swizzle}",
                "interleaved",
                block=128,
                smem=4096,
                buffers={"tensor": random_bytes("interleaved", 64 * 1024), "out": 4096},
                tensor_maps={
                    "map": {
                        "buffer": "tensor", "type": "f16", "dims": list(dims), "box": list(box),
                        "strides": [pitch, pitch * 32], "interleave": mode, "swizzle": swizzle,
                    }
                },
                args=[{"tensor_map": "map"}, "out", 4096, 12 * 4 * pitch, 0, 0, 3, 1],
                outputs=["out"],
            )


def groups():
    made = []
    for name, makers in {
        "tma-load": (tiles, sides, element_types, strides),
        "tma-reduce": (reductions,),
        "tma-multicast": (multicast, hints),
        "tma-interleave": (interleaved,),
    }.items():
        group = Group(name)
        declare(group)
        if name in ("tma-load", "tma-reduce"):
            load_kernels(group)
        for make in makers:
            make(group)
        made.append(group)
    group = Group("tma-replace", version="8.3")
    declare(group)
    group.declare(".shared .align 128 .b8 copy[128];")
    replace(group)
    return made + [group]
