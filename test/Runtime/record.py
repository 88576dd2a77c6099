"""Checks that MX_SIM_RECORD writes a launch to files, and that mx-sim repeats the launch from these files alone.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE=sim MX_SIM_SM_COUNT=4 MX_SIM_RECORD=%t/records %python %s %mx_libs/libmx_runtime%shlibext %t
RUN: mx-sim %t/records/1-gather/launch.json --seed=3
RUN: %python %s compare %t/records/1-gather/out-*.npy %t/result.npy
RUN: FileCheck %s < %t/records/1-gather/launch.json

A directory that cannot be created is an error of the launch.
RUN: touch %t/file
RUN: env MX_DEVICE=sim MX_SIM_RECORD=%t/file not %python %s %mx_libs/libmx_runtime%shlibext %t 2>&1 | FileCheck %s --check-prefix=ERROR

REQUIRES: numpy
"""

# CHECK:      "modules": ["kernel.ptx"],
# CHECK-NEXT: "kernel": "gather",
# CHECK-NEXT: "grid": [2, 1, 1],
# CHECK-NEXT: "block": [32, 1, 1],
# CHECK-NEXT: "cluster": [2, 1, 1],
# CHECK-NEXT: "dynamic_smem": 0,
# CHECK-NEXT: "sm_count": 4,
# CHECK:      "m0": {
# CHECK-NEXT: "buffer": "[[IN:0x20[0-9a-f]+]]",
# CHECK-NEXT: "offset": 256,
# CHECK-NEXT: "type": "u8",
# CHECK-NEXT: "dims": [128, 2],
# CHECK-NEXT: "strides": [256],
# CHECK-NEXT: "box": [128, 1],
# CHECK:      "swizzle": "128b",
# CHECK:      "args": [
# CHECK:      "size": 192,
# CHECK-NEXT: "align": 64,
# CHECK:      "offset": 0,
# CHECK-NEXT: "tensor_map": "m0"
# CHECK:      "offset": 128,
# CHECK-NEXT: "buffer": "[[OUT:0x20[0-9a-f]+]]",
# CHECK-NEXT: "buffer_offset": 512
# CHECK:      "offset": 136,
# CHECK-NEXT: "bytes": "07000000
# CHECK:      "u32": 9
# CHECK:      "u64": 10000000000
# CHECK:      "outputs": {
# CHECK-NEXT: "[[OUT]]": "out-[[OUT]].npy"
# CHECK-NEXT: }

# ERROR: simulator option record: '{{.*}}file/0-gather' cannot be created: Not a directory

import ctypes
import pathlib
import sys

import numpy as np

# Thread t of CTA c stores byte t of the map's row c, and the scalar arguments.
KERNEL = b"""
.version 8.8
.target sm_90a
.address_size 64
.visible .entry gather(.param .align 64 .b8 s[192], .param .u32 n, .param .u64 wide)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .shared .align 1024 .b8 tile[128];
  .shared .align 8 .b8 full[8];
  mov.b64 %rd0, s; cvta.param.u64 %rd0, %rd0;
  ld.param.u64 %rd1, [s+128]; ld.param.u32 %r1, [s+136]; ld.param.u32 %r2, [n];
  ld.param.u64 %rd2, [wide]; shr.u64 %rd2, %rd2, 10; cvt.u32.u64 %r3, %rd2;
  mov.u32 %r4, %ctaid.x; mov.u32 %r5, %tid.x; setp.ne.u32 %p0, %r5, 0;
  @%p0 bra WAIT;
  mbarrier.init.shared.b64 [full], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd0, {0, %r4}], [full];
WAIT:
  bar.warp.sync -1;
TEST:
  mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;
  @!%p1 bra TEST;
  mov.u32 %r6, tile; add.u32 %r6, %r6, %r5;
  ld.shared.u8 %r7, [%r6];
  add.u32 %r7, %r7, %r1; add.u32 %r7, %r7, %r2; add.u32 %r7, %r7, %r3;
  mad.lo.u32 %r8, %r4, 32, %r5; mul.wide.u32 %rd3, %r8, 4; add.u64 %rd1, %rd1, %rd3;
  st.global.u32 [%rd1], %r7;
  ret;
}
"""
BYTES = 1024


class Config(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("grid", ctypes.c_int64 * 3),
        ("block", ctypes.c_int64 * 3),
        ("cluster", ctypes.c_int64 * 3),
        ("dynamic_shared_memory", ctypes.c_int64),
        ("stream", ctypes.c_void_p),
        ("flags", ctypes.c_int32),
    ]


def compare(recorded, result):
    recorded, result = np.load(recorded), np.load(result)
    if not np.array_equal(recorded, result):
        sys.exit("the launch was not repeated")
    row = np.frombuffer(recorded.tobytes(), np.uint32)[128 : 128 + 64]
    # The map's rows start at bytes 256 and 512. The value of byte i is i modulo 251.
    source = np.arange(BYTES) % 251
    want = np.concatenate([source[256:288], source[512:544]]) + 7 + 9 + (10**10 >> 10)
    if not np.array_equal(row, want):
        sys.exit(f"expected {want}, found {row}")


def main(library, where):
    runtime = ctypes.CDLL(library)
    runtime.mxGetLastError.restype = ctypes.c_char_p
    runtime.mxSetErrorPolicy(1)

    def call(name, *arguments):
        if getattr(runtime, name)(*arguments):
            sys.exit(runtime.mxGetLastError().decode())

    def array(type, *values):
        return (type * len(values))(*values)

    pointer = lambda value: ctypes.cast(ctypes.byref(value), ctypes.c_void_p)
    source, out = ctypes.c_void_p(), ctypes.c_void_p()
    for memory in (source, out):
        call("mxMemAlloc", ctypes.byref(memory), ctypes.c_size_t(BYTES))
    data = (np.arange(BYTES) % 251).astype(np.uint8)
    call("mxMemcpyToDevice", source, data.ctypes.data_as(ctypes.c_void_p), BYTES, None)
    struct = ctypes.create_string_buffer(192 + 64)
    struct = (ctypes.c_char * 192).from_buffer(struct, -ctypes.addressof(struct) % 64)
    dims, box = array(ctypes.c_int64, 128, 2), array(ctypes.c_int32, 128, 1)
    call(
        "mxTensorMapEncodeTiled", struct, 0, 2, ctypes.c_void_p(source.value + 256),
        dims, array(ctypes.c_int64, 256), box, None, 0, 3, 0, 0,
    )  # fmt: skip
    struct[128:136] = (out.value + 512).to_bytes(8, "little")
    struct[136:140] = (7).to_bytes(4, "little")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("mxModuleLoad", ctypes.byref(module), KERNEL, ctypes.c_size_t(len(KERNEL)), b"gather")
    call("mxModuleGetFunction", ctypes.byref(function), module, b"gather")
    n, wide = ctypes.c_uint32(9), ctypes.c_uint64(10**10)
    parameters = array(ctypes.c_void_p, pointer(struct), pointer(n), pointer(wide))
    three = lambda x: array(ctypes.c_int64, x, 1, 1)
    config = Config(ctypes.sizeof(Config), three(2), three(32), three(2), 0, None, 0)
    # The second record contains only buffers changed between the launches.
    for byte in (1, 2):
        call("mxMemset", out, ctypes.c_uint8(byte), ctypes.c_size_t(BYTES), None)
        call("mxLaunch", function, ctypes.byref(config), parameters, ctypes.c_int64(3))
    result = np.zeros(BYTES, np.uint8)
    call("mxMemcpyToHost", result.ctypes.data_as(ctypes.c_void_p), out, BYTES, None)
    np.save(pathlib.Path(where) / "result.npy", result)


if __name__ == "__main__":
    compare(*sys.argv[2:]) if sys.argv[1] == "compare" else main(*sys.argv[1:])
