#!/usr/bin/env python3
"""Tests each field of launch files. A wrong field must be rejected with its location and
exit status 2, before anything is written.

RUN: %python %s %t
REQUIRES: numpy
"""

import copy
import json
import os
import re
import struct
import subprocess
import sys

import numpy as np

PTX = """.version 8.8
.target sm_100a
.address_size 64
.visible .global .align 8 .b8 cell[16];
.visible .entry params(.param .u64 out, .param .align 64 .b8 s[192])
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p;
  ld.param.u64 %rd1, [out];
  mov.u64 %rd2, s; cvta.param.u64 %rd2, %rd2;
  mov.u32 %r1, 0;
L:
  cvt.u64.u32 %rd3, %r1; add.u64 %rd4, %rd2, %rd3; add.u64 %rd5, %rd1, %rd3;
  ld.u8 %r2, [%rd4]; st.global.u8 [%rd5], %r2;
  add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 192; @%p bra L;
  ret;
}
.visible .entry shape(.param .u64 out, .param .u32 n)
{
  .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p;
  mov.u32 %r7, %tid.y; mov.u32 %r8, %ctaid.x; or.b32 %r7, %r7, %r8;
  setp.ne.u32 %p, %r7, 0; @%p ret;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ntid.y; mov.u32 %r4, %cluster_nctaid.x;
  mov.u32 %r5, %dynamic_smem_size; mov.u32 %r6, %nsmid;
  st.global.v2.u32 [%rd1], {%r1, %r2}; st.global.v4.u32 [%rd1+16], {%r3, %r4, %r5, %r6};
  ld.global.u64 %rd2, [cell]; st.global.u64 [%rd1+32], %rd2;
  ret;
}
"""

GOOD = {
    "format": 1, "sm_count": 4,
    "globals": {"cell": {"u64": 77}},
    "attributes": {"max_dynamic_smem": 100000, "non_portable_cluster": False},
    "limits": {"instructions": 1e6},
    "buffers": {
        "A": {"file": "a.npy"},
        "P": {"bytes": 256, "fill": "zero", "align": 1024,
              "patch": [{"offset": 8, "buffer": "A", "buffer_offset": 4},
                        {"offset": 128, "tensor_map": "m"},
                        {"offset": 0, "u16": 65535}]},
        "F": {"bytes": 8, "fill": "ff"},
        "D": {"bytes": 8},
        "O": {"bytes": 192}, "S": {"bytes": 48, "fill": "poison"}},
    "tensor_maps": {
        "m": {"buffer": "A", "offset": 0, "type": "f32", "dims": [16, 4],
              "strides": [64], "box": [8, 2], "element_strides": [1, 1],
              "interleave": "none", "swizzle": "32b", "l2": "128b",
              "oob": "nan"}},
    "launches": [
        {"kernel": "params", "grid": [1], "block": [1],
         "args": [{"buffer": "O"},
                  {"struct": {"size": 192, "align": 64, "fields": [
                      {"offset": 0, "tensor_map": "m"},
                      {"offset": 128, "buffer": "A", "buffer_offset": 12},
                      {"offset": 136, "i8": -2}, {"offset": 137, "u8": 254},
                      {"offset": 138, "i16": -3}, {"offset": 140, "u32": "0x10"},
                      {"offset": 144, "i64": -5}, {"offset": 152, "f16": 1.5},
                      {"offset": 154, "bf16": -2.0}, {"offset": 156, "f32": "inf"},
                      {"offset": 160, "f64": 0.1}, {"offset": 168, "bytes": "00ff10"},
                      {"offset": 176, "u64": 18446744073709551615},
                      {"offset": 184, "i32": -1}]}}]},
        {"memset": {"buffer": "D", "byte": 7, "offset": 2, "bytes": 3}},
        {"copy": {"from": "A", "from_offset": 8, "to": "F", "to_offset": 4, "bytes": 4}},
        {"kernel": "shape", "grid": [2], "block": [1, 3, 1], "cluster": [2, 1, 1],
         "dynamic_smem": 1024, "programmatic": True, "args": [{"buffer": "S"}, {"i32": 256}]}],
    "outputs": {"O": "o.npy", "P": "p.npy", "F": "f.npy", "D": "d.npy",
                "A": "a2.npy", "S": {"file": "s.npy", "dtype": "u32", "shape": [2, 6]}},
}

# Each entry contains the path of the changed field, its new value (or a function of
# the whole document), and the message.
DELETE = object()
BAD = [
    (["format"], 2, "format: expected 1"),
    (["nonsense"], 1, "unknown key 'nonsense'"),
    (["sm_count"], -1, "sm_count: expected an integer that is not negative"),
    (["globals", "cell", "u64"], "x", "globals.cell.u64: expected an integer"),
    (["globals", "nowhere"], {"u32": 1}, "no module has a variable 'nowhere'"),
    (["globals", "cell"], {"bytes": "00" * 17}, "the variable has 16 bytes, found 17"),
    (["attributes", "max_dynamic_smem"], "many", "attributes.max_dynamic_smem"),
    (["attributes", "non_portable_cluster"], 1, "expected true or false"),
    (["limits", "instructions"], -5, "limits.instructions: expected an integer"),
    (["limits", "seconds"], 1, "unknown key 'seconds'"),
    (["buffers", "A", "file"], "absent.npy", "absent.npy"),
    (["buffers", "A", "bytes"], 3, "expected at least the 256 bytes of the file"),
    (["buffers", "P", "bytes"], "lots", "buffers.P.bytes: expected an integer"),
    (["buffers", "P", "bytes"], 4, "do not fit the buffer's 4"),
    (["buffers", "P", "fill"], "random", "expected zero, poison or ff, found 'random'"),
    (["buffers", "P", "align"], 3, "buffers.P.align: expected a power of two"),
    (["buffers", "P", "patch", 0, "buffer"], "Z", "no buffer 'Z'"),
    (["buffers", "P", "patch", 1, "tensor_map"], "z", "no tensor map 'z'"),
    (["buffers", "P", "patch", 1, "offset"], 200, "128 bytes at offset 200 do not fit"),
    (["buffers", "P", "patch", 2, "u16"], 65536, "65536 does not fit 16 bits"),
    (["buffers", "P", "patch", 2, "f32"], 1, "has both"),
    (["tensor_maps", "m", "buffer"], "Z", "no buffer 'Z'"),
    (["tensor_maps", "m", "type"], "f33", "tensor_maps.m.type: unknown name 'f33', expected one of u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32_ftz, tf32"),
    (["tensor_maps", "m", "dims"], [16, 4, 2], "tensor_maps.m.strides: expected 2 numbers, found 1"),
    (["tensor_maps", "m", "dims"], [], "expected 1 to 5 numbers, found 0"),
    (["tensor_maps", "m", "strides"], [63], "tensor_maps.m: "),
    (["tensor_maps", "m", "box"], [300, 2], "tensor_maps.m: "),
    (["tensor_maps", "m", "box"], [8], "tensor_maps.m.box: expected 2 numbers"),
    (["tensor_maps", "m", "element_strides"], [0, 1], "tensor_maps.m: "),
    (["tensor_maps", "m", "interleave"], "8b", "unknown name '8b', expected one of none, 16b, 32b"),
    (["tensor_maps", "m", "swizzle"], "256b", "unknown name '256b', expected one of none, 32b, 64b, 128b, 128b_atom32, 128b_atom32_flip8, 128b_atom64"),
    (["tensor_maps", "m", "l2"], "1b", "unknown name '1b', expected one of none, 64b, 128b, 256b"),
    (["tensor_maps", "m", "oob"], "one", "unknown name 'one', expected one of zero, nan"),
    (["tensor_maps", "m", "offset"], 1, "tensor_maps.m: "),
    (["launches", 0, "kernel"], "q", "launches[0].kernel: no kernel 'q', found params, shape"),
    (["launches", 0, "kernel"], DELETE, "launches[0]: missing key 'kernel'; `mx-sim --template KERNEL.ptx` writes a launch file to fill in"),
    (["launches", 0, "grid"], [1, 1, 1, 1], "launches[0].grid: expected 1 to 3 numbers, found 4"),
    (["launches", 0, "grid"], [0], "the grid 0x1x1 is empty"),
    (["launches", 0, "block"], [2048], "expects a block of 1 to 1024 threads, found 2048x1x1"),
    (["launches", 0, "block"], "32", "launches[0].block: expected an array"),
    (["launches", 3, "cluster"], [3, 1, 1], "cluster"),
    (["launches", 3, "cluster"], [16, 1, 1], "cluster"),
    (["launches", 3, "dynamic_smem"], 200000, "dynamic"),
    (["launches", 3, "programmatic"], 1, "launches[3].programmatic: expected true or false"),
    (["launches", 3, "dynamic_smem"], 1e99, "launches[3].dynamic_smem"),
    (["launches", 3, "args"], [{"buffer": "S"}], "kernel 'shape' expects 2 arguments, found 1"),
    (["launches", 3, "args", 1], {"i64": 256}, "args[1]: parameter 'n' has 4 bytes, but the argument has 8"),
    (["launches", 3, "args", 1], {"i33": 256}, "args[1]: unknown key 'i33', expected one of tensor_map, buffer, bytes, struct, i8 to u64"),
    (["launches", 3, "args", 1], {}, "expected one of tensor_map, buffer"),
    (["launches", 3, "args", 1, "i32"], 1.5, "args[1].i32: expected an integer"),
    (["launches", 0, "args", 1, "struct", "size"], 8, "do not fit the struct's 8"),
    (["launches", 0, "args", 1, "struct", "align"], 48, "struct.align: expected a power of two"),
    (["launches", 0, "args", 1, "struct", "fields", 11, "bytes"], "0", "even number of hexadecimal digits"),
    (["launches", 0, "args", 1, "struct", "fields", 9, "f32"], "much", "expected a number"),
    (["launches", 0, "args", 1, "struct", "fields", 2, "i8"], -129, "-129 does not fit 8 bits"),
    (["launches", 1, "memset", "byte"], 256, "launches[1].memset.byte: expected at most 255"),
    (["launches", 1, "memset", "bytes"], 7, "7 bytes at offset 2 do not fit the buffer's 8"),
    (["launches", 2, "copy", "bytes"], 9, "9 bytes do not fit buffers of 256 and 8 bytes"),
    (["launches", 2, "copy", "to"], "Z", "no buffer 'Z'"),
    (["launches", 2, "memset"], {}, "launches[2]: "),
    (["outputs", "Z"], "z.npy", "outputs.Z: no buffer 'Z'"),
    (["outputs", "S", "dtype"], "f8", "outputs.S.dtype: unknown type 'f8', expected one of f32, f64, f16, bf16, i8"),
    (["outputs", "S", "shape"], [100], "the shape needs more than the buffer's 48 bytes"),
    (["outputs", "S", "file"], 3, "outputs.S.file: expected a string"),
    (["modules"], ["absent.ptx"], "absent.ptx"),
    (["modules"], "k.ptx", "modules: expected an array"),
]


def run(directory, launch):
    path = os.path.join(directory, "launch.json")
    with open(path, "w") as f:
        json.dump(launch, f, indent=1)
    return subprocess.run(["mx-sim", os.path.join(directory, "k.ptx"), path],
                          capture_output=True, text=True)


def check_good(directory):
    done = run(directory, GOOD)
    assert done.returncode == 0, done.stderr
    load = lambda name: np.load(os.path.join(directory, name))
    base = struct.unpack("<Q", load("o.npy")[128:136].tobytes())[0] - 12
    o = load("o.npy").tobytes()
    want = struct.pack("<QbBhIqHHfd3s5xQi", base + 12, -2, 254, -3, 16, -5,
                       0x3E00, 0xC000, float("inf"), 0.1, b"\0\xff\x10",
                       2**64 - 1, -1)
    assert o[128:128 + len(want)] == want, o[128:].hex()
    p = load("p.npy").tobytes()
    assert p[:2] == b"\xff\xff" and p[2:8] == bytes(6)
    assert p[8:16] == struct.pack("<Q", base + 4), "pointer in a buffer"
    assert p[128:256] == o[:128] and any(p[128:256]), "tensor map in a buffer"
    a = load("a.npy")
    f = load("f.npy").tobytes()
    assert f == b"\xff" * 4 + a.tobytes()[8:12]
    d = load("d.npy").tobytes()
    assert d == b"\xa1\x7f" + b"\x07" * 3 + b"\x7f\xa1\x7f", d.hex()
    a2 = load("a2.npy")
    assert a2.dtype == a.dtype and a2.shape == a.shape and (a2 == a).all()
    s = load("s.npy")
    assert s.shape == (2, 6) and s.dtype == np.uint32
    s = s.ravel().tolist()
    assert s[:2] == [256, 2] and s[4:8] == [3, 2, 1024, 4] and s[8] == 77, s


def check_bad(directory, path, value, message):
    launch = copy.deepcopy(GOOD)
    at = launch
    for step in path[:-1]:
        at = at[step]
    if value is DELETE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    for name in launch["outputs"].values():
        name = name if isinstance(name, str) else name["file"]
        if isinstance(name, str) and os.path.exists(os.path.join(directory, name)):
            os.remove(os.path.join(directory, name))
    done = run(directory, launch)
    where = f"{path} = {value!r}: "
    assert done.returncode == 2, where + f"status {done.returncode}\n{done.stderr}"
    assert message in done.stderr, where + done.stderr
    assert re.search(r"k\.ptx:\d+: bad-launch|absent\.ptx|launch\.json:\d+:\d+: ",
                     done.stderr), where + done.stderr
    assert not os.path.exists(os.path.join(directory, "o.npy")), where + "wrote"


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "k.ptx"), "w") as f:
        f.write(PTX)
    np.save(os.path.join(directory, "a.npy"),
            np.arange(64, dtype=np.float32).reshape(4, 16))
    check_good(directory)
    wrong = []
    for path, value, message in BAD:
        try:
            check_bad(directory, path, value, message)
        except AssertionError as e:
            wrong.append(str(e))
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
