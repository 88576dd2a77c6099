"""Tensor copies: every rank, swizzle, element type and side of the tensor."""

from ..base import Group, pack, random_bytes

BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2}
BYTES.update({"f32": 4, "f64": 8, "bf16": 2, "f32_ftz": 4, "tf32": 4, "tf32_ftz": 4})
FLOATS = "f16 bf16 f32 f64 f32_ftz tf32 tf32_ftz".split()


def describe(dims, box, type="u8", oob="zero", swizzle="none", steps=None, **more):
    """Returns a tensor map and the size of the tensor in bytes. Rows are padded to the next
    multiple of 16 bytes."""
    size = BYTES[type]
    strides, pitch = [], -(-dims[0] * size // 16) * 16
    for n in dims[1:]:
        strides.append(pitch)
        pitch *= n
    tensor_map = {
        "buffer": "tensor",
        "type": type,
        "dims": list(dims),
        "box": list(box),
    }
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
    """Returns the bytes that a box needs in shared memory. A row is at least as wide as the
    swizzle span."""
    span = {"32b": 32, "64b": 64, "128b": 128}.get(swizzle, 0)
    row = max(box[0] * size, span)
    return -(-box_bytes(box, size, steps) // (box[0] * size) * row // 1024) * 1024


PARAMS = ["align 64 .b8 map[128]", "u64 out", "u32 slot", "u32 expect", "u32 at"]
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


def whole(at, size):
    """Rounds the innermost coordinate down to a multiple of 16 bytes, because other
    coordinates cause illegal instructions."""
    return [at[0] - at[0] % (16 // size), *at[1:]]


def coordinates(rank):
    names = [f"%r{20 + k}" for k in range(rank)]
    loads = "\n".join(f"ld.param.u32 {n}, [p_c{k}];" for k, n in enumerate(names))
    return loads, "{" + ", ".join(names) + "}"


def declare(group):
    group.declare(".extern .shared .align 1024 .b8 dynsmem[];")
    group.declare(".shared .align 8 .b64 barrier;")
    return group


def load_kernels(group):
    for rank in range(1, 6):
        loads, point = coordinates(rank)
        params = PARAMS + [f"u32 c{k}" for k in range(rank)]
        group.entry(
            f"load_{rank}d",
            params,
            PREPARE + f"""
            @%p1 bra ISSUED;
            {loads}
            add.u32 %r15, %r10, %r5;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r4;
            cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r15], [%rd1, {point}], [%r11];
            ISSUED:
            mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
            @!%p2 bra ISSUED;
            """ + DUMP,
        )
        fill = PREPARE.replace(
            "st.shared.u32 [%r14], 0xeeeeeeee;",
            "cvt.u64.u32 %rd5, %r12;\nadd.s64 %rd5, %rd2, %rd5;\n"
            "ld.global.u32 %r16, [%rd5];\nst.shared.u32 [%r14], %r16;",
        )
        group.entry(
            f"store_{rank}d",
            params,
            fill + f"""
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


def load(
    group,
    name,
    dims,
    box,
    at,
    type="u8",
    swizzle="none",
    oob="zero",
    steps=None,
    offset=0,
    data=None,
    fails=False,
    **more,
):
    size = BYTES[type]
    at = at if fails else whole(at, size)
    tensor_map, total = describe(dims, box, type, oob, swizzle, steps, **more)
    slot = slot_bytes(box, size, swizzle, steps) + (-(-offset // 1024) * 1024)
    group.case(
        name,
        f"load_{len(dims)}d",
        block=128,
        smem=slot,
        buffers={"tensor": data or random_bytes(name, total), "out": slot},
        tensor_maps={"map": tensor_map},
        args=[
            {"tensor_map": "map"},
            "out",
            slot,
            box_bytes(box, size, steps),
            offset,
            *at,
        ],
        outputs=["out"],
        fails=fails,
    )


def store(group, name, dims, box, at, type="u8", swizzle="none", offset=0, fails=False):
    size = BYTES[type]
    at = at if fails else whole(at, size)
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
        fails=fails,
    )


SPANS = {"none": [16, 64, 144, 256], "32b": [16, 32], "64b": [16, 48, 64]}
SPANS["128b"] = [16, 48, 64, 112, 128]


def tiles(group):
    for swizzle, widths in SPANS.items():
        for width in widths:
            load(
                group,
                f"load_{swizzle}_{width}",
                (272, 40),
                (width, 24),
                (16, 5),
                swizzle=swizzle,
            )
            store(
                group,
                f"store_{swizzle}_{width}",
                (272, 40),
                (width, 24),
                (16, 5),
                swizzle=swizzle,
            )
        # The swizzle pattern depends on the address in shared memory, not on the box.
        for offset in (128, 256, 384, 512, 896):
            width = widths[-1]
            if swizzle != "none":
                load(
                    group,
                    f"load_{swizzle}_at_{offset}",
                    (272, 40),
                    (width, 20),
                    (0, 0),
                    swizzle=swizzle,
                    offset=offset,
                )
                store(
                    group,
                    f"store_{swizzle}_at_{offset}",
                    (272, 40),
                    (width, 20),
                    (0, 0),
                    swizzle=swizzle,
                    offset=offset,
                )
    for l2 in "64b 128b 256b".split():
        load(
            group, f"load_l2_{l2}", (272, 40), (128, 24), (16, 5), swizzle="128b", l2=l2
        )


SHAPES = {
    1: ((100,), (64,)),
    2: ((100, 20), (64, 16)),
    3: ((40, 9, 6), (32, 4, 4)),
    4: ((40, 5, 4, 3), (32, 3, 2, 2)),
    5: ((40, 5, 4, 3, 3), (16, 3, 2, 2, 2)),
}


def sides(group):
    """Tests boxes that extend over sides and corners, for each tensor rank. An innermost
    coordinate that is not a multiple of 16 bytes causes a fault, which is tested only with
    rank 2."""
    for rank, (dims, box) in SHAPES.items():
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
            name = f"{rank}d_{place}"
            for suffix, more in ("", {}), ("_f16", {"type": "f16", "oob": "nan"}):
                fails = at != whole(at, 2 if suffix else 1)
                if rank == 2 or not fails:
                    load(
                        group,
                        f"load_{name}{suffix}",
                        dims,
                        box,
                        at,
                        fails=fails,
                        **more,
                    )
            fails = at != whole(at, 1)
            if min(at) >= 0 and (rank == 2 or not fails):
                store(group, f"store_{name}", dims, box, at, fails=fails)


def walls(group):
    """Tests each side separately, for each tensor rank."""
    for rank, (dims, box) in SHAPES.items():
        for k in range(rank):
            inside = [0] + [(d - b) // 2 for d, b in zip(dims[1:], box[1:])]
            for side, x in (
                ("below", -(box[k] // 2)),
                ("above", dims[k] - box[k] // 2),
                ("gone", dims[k] if k else dims[k] + 15),
            ):
                at = inside[:k] + [x] + inside[k + 1 :]
                name = f"{rank}d_wall_{k}_{side}"
                load(group, f"load_{name}", dims, box, at)
                load(group, f"load_{name}_f16", dims, box, at, type="f16", oob="nan")
                # A store must not begin before its tensor.
                fails = min(at) < 0
                at = whole(at, 1)
                if rank < 4 or not fails:
                    store(group, f"store_{name}", dims, box, at, fails=fails)


def unaligned(group):
    """Tests innermost coordinates that are not a multiple of 16 bytes."""
    for type in "u8 f16 f32 f64".split():
        dims, box = (40, 12), (64 // BYTES[type], 8)
        load(group, f"unaligned_load_{type}", dims, box, (3, 2), type=type, fails=True)
        if type != "f64":
            store(
                group,
                f"unaligned_store_{type}",
                dims,
                box,
                (30, 7),
                type=type,
                fails=True,
            )
    load(group, "unaligned_load_low", (40, 12), (64, 8), (-3, 7), fails=True)


def element_types(group):
    for t, size in BYTES.items():
        dims, box = (40, 12), (64 // size, 8)
        for swizzle in ("none", "64b"):
            load(
                group,
                f"load_kind_{t}_{swizzle}",
                dims,
                box,
                (19, 2),
                type=t,
                swizzle=swizzle,
            )
            load(
                group,
                f"load_kind_{t}_{swizzle}_outside",
                dims,
                box,
                (-3, 7),
                type=t,
                swizzle=swizzle,
            )
            if t in FLOATS:
                load(
                    group,
                    f"load_kind_{t}_{swizzle}_nan",
                    dims,
                    box,
                    (33, -3),
                    type=t,
                    swizzle=swizzle,
                    oob="nan",
                )
            store(
                group,
                f"store_kind_{t}_{swizzle}",
                dims,
                box,
                (30, 7),
                type=t,
                swizzle=swizzle,
            )
    # These operands are denormals, ties and NaNs of the types that TMA converts.
    codes = []
    for exponent in (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF):
        for mantissa in (
            0,
            1,
            0xFFF,
            0x1000,
            0x1001,
            0x1FFF,
            0x2000,
            0x2FFF,
            0x3000,
            0x3001,
            0x400000,
            0x7FEFFF,
            0x7FF000,
            0x7FFFFF,
            0x123456,
            0x0BCDEF,
        ):
            codes += [exponent << 23 | mantissa, 1 << 31 | exponent << 23 | mantissa]
    data = pack(4, codes + codes[:32])
    for t in "f32 f32_ftz tf32 tf32_ftz".split():
        load(group, f"load_values_{t}", (64, 4), (64, 4), (0, 0), type=t, data=data)


def strides(group):
    for steps in ((1, 2), (1, 3), (2, 1), (4, 2), (1, 8), (3, 5)):
        name = "_".join(map(str, steps))
        load(group, f"load_steps_{name}", (96, 64), (32, 24), (16, 4), steps=steps)
        load(
            group,
            f"load_steps_{name}_outside",
            (96, 64),
            (32, 24),
            (80, 50),
            type="f16",
            oob="nan",
            steps=steps,
            swizzle="64b",
        )
        load(
            group,
            f"load_steps_{name}_low",
            (96, 64),
            (32, 24),
            (-16, -7),
            type="u8",
            steps=steps,
            swizzle="32b",
        )
    load(group, "load_steps_3d", (32, 16, 12), (32, 7, 5), (0, 1, 2), steps=(1, 2, 3))
    load(
        group,
        "load_steps_4d",
        (32, 8, 6, 6),
        (32, 5, 5, 4),
        (0, -1, 3, 1),
        steps=(1, 2, 3, 2),
    )
    load(
        group,
        "load_steps_5d",
        (16, 8, 6, 6, 6),
        (16, 3, 3, 4, 5),
        (0, -1, 3, 1, 2),
        steps=(1, 2, 2, 3, 4),
    )


def groups():
    group = declare(Group("tma-load"))
    for make in load_kernels, tiles, sides, walls, unaligned, element_types, strides:
        make(group)
    # These copies spell the destination in the CTA's own shared memory explicitly.
    own = declare(Group("tma-own", version="8.6"))
    load_kernels(own)
    for name, text in own.entries.items():
        own.entries[name] = text.replace(
            "d.shared::cluster.global", "d.shared::cta.global"
        )
    sides(own)
    return [group, own]
