"""Bulk copies issued by several lanes of a warp. Loads and reductions run once per
lane. Stores with equal operands run once. The stored bytes do not show this, so
simulator/test/copies-of-warps.test counts the stores."""

from ..base import Group, random_bytes
from .tma import declare

LANES = (1, 2, 5, 16, 31, 32)
ROW, ROWS = 64, 8  # words per row of the box, and rows
BOX = 4 * ROW * ROWS

START = """
mov.b64 %rd1, p_map;
cvta.param.u64 %rd1, %rd1;
ld.param.u64 %rd2, [p_tensor];
ld.param.u64 %rd3, [p_out];
ld.param.u32 %r1, [p_lanes];
ld.param.u32 %r2, [p_step];
mov.u32 %r3, %tid.x;
mov.u32 %r4, dynsmem;
mov.u32 %r5, barrier;
mul.lo.u32 %r6, %r3, %r2;
mov.u32 %r7, 0;
mul.wide.u32 %rd4, %r6, 256;
add.s64 %rd5, %rd2, %rd4;
setp.ge.u32 %p1, %r3, %r1;
setp.ne.u32 %p2, %r3, 0;
"""

STORE = START + """
shl.b32 %r8, %r3, 2;
FILL:
add.u32 %r9, %r4, %r8;
add.u32 %r10, %r8, 7;
st.shared.b32 [%r9], %r10;
add.u32 %r8, %r8, 128;
setp.lt.u32 %p3, %r8, 2048;
@%p3 bra FILL;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra DONE;
COPY
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
DONE:
ret;
"""

# The first phase ends after the bytes of all lanes have arrived. The next phase ends
# after a single arrival, which shows that no further bytes arrive.
LOAD = START + """
@%p2 bra READY;
mbarrier.init.shared::cta.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
mul.lo.u32 %r8, %r1, 2048;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], %r8;
READY:
bar.warp.sync -1;
mad.lo.u32 %r4, %r3, 2048, %r4;
@%p1 bra WAIT;
COPY
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0;
@!%p3 bra WAIT;
bar.warp.sync -1;
@%p2 bra NEXT;
mbarrier.arrive.shared::cta.b64 _, [%r5];
NEXT:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 1;
@!%p3 bra NEXT;
@%p1 bra DONE;
mov.u32 %r8, 0;
mul.wide.u32 %rd6, %r3, 2048;
add.s64 %rd6, %rd3, %rd6;
DUMP:
add.u32 %r9, %r4, %r8;
ld.shared.u32 %r10, [%r9];
cvt.u64.u32 %rd7, %r8;
add.s64 %rd8, %rd6, %rd7;
st.global.u32 [%rd8], %r10;
add.u32 %r8, %r8, 4;
setp.lt.u32 %p3, %r8, 2048;
@%p3 bra DUMP;
DONE:
ret;
"""

POINT = "[%rd1, {%r7, %r6}]"
TO_SHARED = "shared::cluster.global"
TO_GLOBAL = "global.shared::cta"
COPIES = {
    "tensor_store": f"cp.async.bulk.tensor.2d.{TO_GLOBAL}.tile.bulk_group {POINT}, [%r4];",
    "tensor_reduce": f"cp.reduce.async.bulk.tensor.2d.{TO_GLOBAL}.add.tile.bulk_group {POINT}, [%r4];",
    "bulk_store": f"cp.async.bulk.{TO_GLOBAL}.bulk_group [%rd5], [%r4], {BOX};",
    "bulk_reduce": f"cp.reduce.async.bulk.{TO_GLOBAL}.bulk_group.add.u32 [%rd5], [%r4], {BOX};",
    "tensor_load": f"cp.async.bulk.tensor.2d.{TO_SHARED}.tile.mbarrier::complete_tx::bytes [%r4], {POINT}, [%r5];",
    "bulk_load": f"cp.async.bulk.{TO_SHARED}.mbarrier::complete_tx::bytes [%r4], [%rd5], {BOX}, [%r5];",
}


def groups():
    group = Group("tma-warp")
    declare(group)
    for name, copy in COPIES.items():
        isLoad = name.endswith("load")
        group.entry(
            name,
            [
                "align 64 .b8 map[128]",
                "u64 tensor",
                "u64 out",
                "u32 lanes",
                "u32 step",
            ],
            (LOAD if isLoad else STORE).replace("COPY", copy),
        )
        for lanes in LANES:
            for step in (0, ROWS):  # all lanes use the same box, or each lane its own
                rows = 32 * ROWS
                tensor_map = {
                    "buffer": "tensor",
                    "type": "u32",
                    "dims": [ROW, rows],
                    "box": [ROW, ROWS],
                    "strides": [4 * ROW],
                }
                group.case(
                    f"{name}_{lanes}_{step}",
                    name,
                    smem=32 * BOX,
                    buffers={
                        "tensor": random_bytes(name, 4 * ROW * rows),
                        "out": 32 * BOX,
                    },
                    tensor_maps={"map": tensor_map},
                    args=[{"tensor_map": "map"}, "tensor", "out", lanes, step],
                    outputs=["out" if isLoad else "tensor"],
                )
    return [group]
