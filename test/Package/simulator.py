"""Kernels on the simulator, launched by mx_compiler.sim on arrays: results, findings, options and wrong arguments.

RUN: %python %s %mx_src/runtime/test/kernels.ptx
"""

import ctypes
import pathlib
import sys

import ml_dtypes
import numpy as np

from mx_compiler import Error, InvalidValueError, sim
from mx_compiler._runtime.library import library


def refuse(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)


path = sys.argv[1]
kernels = sim.Module(path)
rng = np.random.default_rng(0)
a, b, c = rng.random(200, np.float32), rng.random(200, np.float32), np.zeros(200, np.float32)

# A struct, types of all sizes, and variables. `_ZN2ns3useIfEEvPf` is void ns::use<float>(float*). `racy` stores to
# shared memory from two warps.
PTX = """.version 8.0
.target sm_90a
.address_size 64
.global .align 4 .u32 counter;
.const .align 4 .b8 table[8];
.visible .entry types(.param .align 8 .b8 s[16], .param .u8 b, .param .s16 h, .param .s64 l, .param .f32 f,
                      .param .f64 d, .param .align 2 .b8 bf[2], .param .u64 out)
{
  .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<2>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [s]; st.global.u64 [%d1], %d2;
  ld.param.u64 %d2, [s+8]; st.global.u64 [%d1+8], %d2;
  ld.param.u8 %r1, [b]; st.global.u32 [%d1+16], %r1;
  ld.param.s16 %r1, [h]; st.global.u32 [%d1+20], %r1;
  ld.param.s64 %d2, [l]; st.global.u64 [%d1+24], %d2;
  ld.param.f32 %f1, [f]; st.global.f32 [%d1+32], %f1;
  ld.param.u16 %h1, [bf]; st.global.u16 [%d1+36], %h1;
  ld.param.b64 %d2, [d]; st.global.b64 [%d1+40], %d2;
  atom.global.add.u32 %r2, [counter], 2;
  ld.const.u32 %r3, [table+4]; st.global.u32 [%d1+48], %r3;
  ret;
}
.visible .entry _ZN2ns3useIfEEvPf(.param .u64 s) { .reg .b64 %d<2>; ld.param.u64 %d1, [s]; st.global.u32 [%d1], 5; ret; }
.visible .entry _ZN2ns3useIiEEvPi(.param .u64 s) { ret; }
.visible .entry racy()
{
  .reg .b32 %r<2>; .shared .align 4 .b32 data;
  mov.u32 %r1, %tid.x; st.shared.u32 [data], %r1; ret;
}
.visible .entry through(.param .align 8 .b8 s[8])
{ .reg .b64 %d<2>; ld.param.u64 %d1, [s]; st.global.u32 [%d1], 9; ret; }
"""
Struct = type("Struct", (ctypes.Structure,), {
    "_fields_": [("x", ctypes.c_int32), ("y", ctypes.c_float), ("z", ctypes.c_double)]})

# Results, and exact bounds of a view.
report = kernels["vector_add"][(2, 1, 1), 128](a, b, c, 200)
assert np.array_equal(c, a + b) and report.is_clean and report.findings == [] and report.text == ""
assert report.statistics["warp_instructions"] > 100 and len(report.statistics["warps"]) == 4, report.statistics
out = np.zeros(64, np.uint32)
kernels["cluster_exchange"][4, 16, 2](out)
assert out.tolist() == [(1 - n // 16 % 2) * 1000 + n % 16 for n in range(64)], out

# Types of parameters and variables.
types = sim.Module(PTX)
assert types.target == "sm_90a" and types.kernels[0] == "types" and list(types.globals) == ["counter", "table"]
types.globals["table"] = np.array([3, 7], np.uint32)
result = np.zeros(52, np.uint8)
for struct in (Struct(-1, 0.5, 2.5), np.array([(-1, 0.5, 2.5)], "i4, f4, f8")[0], bytes(Struct(-1, 0.5, 2.5))):
    result[:] = 0
    types["types"][1, 1](struct, True, -3, np.int64(-5), 1, np.float64(1.5), ml_dtypes.bfloat16(3), result)
    assert result[:16].tobytes() == bytes(Struct(-1, 0.5, 2.5))
    assert result[16:24].view("i4").tolist() == [1, -3] and result[24:32].view("i8")[0] == -5
    assert result[32:36].view("f4")[0] == 1 and result[36:38].view(ml_dtypes.bfloat16)[0] == 3
    assert result[40:48].view("f8")[0] == 1.5 and result[48:52].view("u4")[0] == 7
assert types.globals["counter"].view("u4").tolist() == [6] and types.globals["table"].view("u4").tolist() == [3, 7]
word = np.zeros(1, np.uint32)
for name in "ns::use<float>", "use<float>", "_ZN2ns3useIfEEvPf":
    word[:] = 0
    types[name][1, 1](word)
    assert word[0] == 5
types["through"][1, 1](np.array([word.ctypes.data]).view("V8")[0], memory=[word])
assert word[0] == 9

# Overlapping arguments are shared once. A tensor map reads a box of every other row, with swizzled rows.
kernels["vector_add"][1, 128](c[:100], c[50:150], c[100:], 100, check=False)
image = np.arange(64 * 32, dtype=np.uint16).reshape(64, 32)[::2]
tile = np.zeros((8, 32), np.uint16)
box = sim.tensor_map(image, box=(8, 32), swizzle="64B")
kernels["tma_load"][1, 64, None, 4096](box, tile, 0, 2, 512, 512, 1)
want = np.stack([image[2 + row].reshape(4, 8)[np.arange(4) ^ row // 2 % 4].ravel() for row in range(8)])
assert np.array_equal(tile, want), tile
assert sim.tensor_map(np.zeros((4, 64), np.uint8), box=(2, 128), dtype="16u4_align8b").shape == (4, 128)

# Findings, options and collections.
race = types["racy"][1, 64](check=False).findings[0]
assert race.kind == "race" and not race.is_warning and race.ptx_line == PTX.splitlines().index(
    "  mov.u32 %r1, %tid.x; st.shared.u32 [data], %r1; ret;") + 1, race
assert race.warp == 1 and race.cta == [0, 0, 0] and race.other["line"] == race.ptx_line
assert race.text.startswith(f"module.ptx:{race.ptx_line}: race: {race.message}")
assert sim.Module(PTX, checks="none")["racy"][1, 64]().is_clean
assert sim.Module(PTX, checks=["mbarrier"])["racy"][1, 64]().json["checks"] == ["mbarrier"]
with sim.collect(seed=5, check=False, sm_count=7) as reports:
    types["racy"][1, 64]()
    with sim.collect(seed=6, check=True) as inner:
        sim.Module(PTX, seed=7)["_ZN2ns3useIiEEvPi"][1, 32](0)
        refuse(sim.FindingsError, "race: the write", types["racy"][1, 64])
assert [(r.json["seed"], r.json["sm_count"]) for r in reports] == [(5, 7), (7, 7), (6, 7)] and inner == reports[1:]
with sim.collect(sm_count=2):
    timed = sim.Module(pathlib.Path(path), time="h200", threads=1)["vector_add"][2, 128](a, b, c, 200)
assert timed.microseconds > 0.5 and timed.json["sm_count"] == 2 and report.microseconds is None
assert kernels["wait_forever"][1, 32](check=False).status == "deadlock"
assert kernels["store_ids"][1, 32](out, 32, cooperative=True, programmatic=True).is_clean

add, use = kernels["vector_add"][1, 256], types["types"][1, 1]
frozen = a.copy()
frozen.flags.writeable = False
for kind, text, function in (
        (sim.FindingsError, "kernel 'vector_add': failed\nkernels.ptx:36: out-of-bounds", lambda: add(a, b, c[:9], 10)),
        (sim.FindingsError, " 0 bytes past the end of buffer 'argument 2' of 796 bytes", lambda: add(a, b, c[:199], 200)),
        (TypeError, "expected 4 arguments, found 3", lambda: add(a, b, c)),
        (TypeError, "argument 3: expected an int for a parameter of type u32, found 1.5", lambda: add(a, b, c, 1.5)),
        (ValueError, "of type u32, found 4294967296, which does not fit", lambda: add(a, b, c, 1 << 32)),
        (TypeError, "argument 0: expected an array or an int", lambda: add([1.0], b, c, a)),
        (ValueError, "expected a contiguous array, found shape (100,)", lambda: add(a[::2], b, c, 4)),
        (ValueError, "argument 0: expected a writable array", lambda: add(frozen, b, c, 4)),
        (ValueError, "NumPy scalar of 16 bytes, found 8 bytes", lambda: use(b"8 bytes.", 0, 0, 0, 0, 0, b"--", result)),
        (ValueError, "f32, found 1e+300, which does not fit", lambda: use(bytes(16), 0, 0, 0, 1e300, 0, b"--", result)),
        (TypeError, "found a tensor map of 128 bytes", lambda: add(box, b, c, 4)),
        (ValueError, "expected a grid of at least one block", lambda: kernels["vector_add"][0, 32](a, b, c, 4)),
        (Error, "expected a block of 1 to 1024 threads", lambda: kernels["vector_add"][1, 2048](a, b, c, 4)),
        (Error, "which is the name of several", lambda: types["use"]),
        (Error, "expected one of the kernels vector_add,", lambda: kernels["nothing"]),
        (Error, "module.ptx:4:3: expected a directive", lambda: sim.Module(PTX[:45] + ";;(\n")),
        (TypeError, "sead", lambda: sim.Module(path, sead=1)),
        (ValueError, "expected 8 bytes, found 4", lambda: types.globals.__setitem__("table", np.zeros(1, "f4"))),
        (ValueError, "expected box 0 from 1 to 256", lambda: sim.tensor_map(image, box=(1, 512))),
        (ValueError, "expected swizzle to be one of", lambda: sim.tensor_map(image, box=(1, 2), swizzle="B")),
        (ValueError, "expected elements of 32 bits", lambda: sim.tensor_map(image, box=(8, 8), dtype="float32"))):
    refuse(kind, text, function)
library().mgpuMemHostRegister(ctypes.c_void_p(a.ctypes.data), ctypes.c_uint64(8))
refuse(InvalidValueError, "'argument 0': expected memory that is not shared already", lambda: add(a, b, c, 4))
types.close()
refuse(Error, "expected a kernel of a loaded module", lambda: use(bytes(16), 0, 0, 0, 0, 0, b"--", result))
