"""--check=cpu detects one wrong element in a result of any type, whichever operation computed the element. Infinities
and NaN must agree, unless the bound allows a deviation. A check without comparisons does not report success.

A preloaded library changes bytes copied from the device. This test runs every second case;
check-every-type-2.test runs the others.

RUN: %python %s mx-run %mx_obj/lib/mx_test_tamper%shlibext %t 0
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import os

import numpy as np
from harness import Harness

test = Harness("mx_run", "library", "folder", "part", seed=5)
random, library = test.rng, os.path.abspath(test.library)


def check(program, arrays, expected, says, tamper=None, *options):
    """Runs @main of the program; `tamper` is (size in bytes, offset, new bytes)."""
    test.cases += 1
    if test.cases % 2 != int(test.part):
        return
    env = {}
    if tamper:
        size, offset, new = tamper
        env = {"LD_PRELOAD": library, "MX_TEST_TAMPER": f"{size}:{offset}:{new.hex()}"}
    done, _ = test.call(program, arrays, 0, *options, check=True, env=env, status=None)
    good = done.returncode == expected and says in done.stdout
    test.require(f"{program}\n{tamper}: status {expected} and '{says}'", good,
                 f"{done.returncode}: {done.stdout}{done.stderr}")


def sees(program, arrays, results):
    """Checks that the program passes, and that the check fails if an element of a result is changed. Each result is a
    tuple of its size in bytes, the offset of the element, and the new bytes of the element."""
    check(program, arrays, 0, "check: passed")
    for size, offset, new in results:
        check(program, arrays, 1, "FAILED", (size, offset, new))


# Operations outside mx: data movement for all types, and arithmetic.
FLIP = """
func.func @main(%x: tensor<5x12xTYPE>) -> tensor<12x5xTYPE> {
  %e = tensor.empty() : tensor<12x5xTYPE>
  %y = linalg.transpose ins(%x : tensor<5x12xTYPE>) outs(%e : tensor<12x5xTYPE>) permutation = [1, 0]
  return %y : tensor<12x5xTYPE>
}
"""
MOVED = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "i1": "?", "i8": "i1", "i16": "i2",
         "i32": "i4", "i64": "i8", "index": "i8", "f8E4M3FN": "u1", "f8E5M2": "u1",
         "f8E8M0FNU": "u1"}
for name, dtype in MOVED.items():
    x = random.integers(0, 2 if dtype == "?" else 90, (5, 12)).astype(dtype)
    item = np.dtype(dtype).itemsize
    last = x.T.ravel()[-1]
    # Flip the lowest bit of the last element.
    new = bytearray(last.tobytes())
    new[0] ^= 1
    sees(FLIP.replace("TYPE", name), [x], [(x.nbytes, x.nbytes - item, bytes(new))])

ADD = """
func.func @main(%x: tensor<5x12xTYPE>) -> tensor<5x12xTYPE> {
  %y = arith.OP %x, %x : tensor<5x12xTYPE>
  return %y : tensor<5x12xTYPE>
}
"""
for name, dtype, infinity, nan in (
        ("f64", "f8", "7ff0000000000000", "7ff8000000000000"), ("f32", "f4", "7f800000", "7fc00000"),
        ("f16", "f2", "7c00", "7e00"), ("bf16", "u2", "7f80", "7fc0")):
    program = ADD.replace("TYPE", name).replace("OP", "addf")
    x = random.integers(1, 9, (5, 12)).astype(dtype)
    item = x.itemsize
    infinity, nan = bytes.fromhex(infinity)[::-1], bytes.fromhex(nan)[::-1]
    x.ravel()[:3].view(f"V{item}")[:] = [np.void(infinity), np.void(nan), np.void(infinity)]
    minus = infinity[:-1] + bytes([infinity[-1] | 0x80])
    other = nan[:-1] + bytes([nan[-1] | 0x80])
    sees(program, [x], [(x.nbytes, 0, bytes(item)), (x.nbytes, 0, minus),
                        (x.nbytes, item, infinity), (x.nbytes, 3 * item, nan)])
    # The payload of a NaN is unspecified.
    check(program, [x], 0, "check: passed", (x.nbytes, item, other))

# The program returns a scalar, and only a quantizer reads the result of the tensor operation.
check("""
func.func @main(%x: tensor<4xi32>) -> i32 {
  %c2 = arith.constant 2 : index
  %y = tensor.extract %x[%c2] : tensor<4xi32>
  return %y : i32
}
""", [np.arange(4, dtype=np.int32)], 0, "check: passed")
between = """
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  %e = tensor.empty() : tensor<8x64xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  %0 = tensor.empty() : tensor<8x64xf8E4M3FN>
  %1 = tensor.empty() : tensor<8x2xf8E8M0FNU>
  %q:2 = mx.quantize ins(%d : tensor<8x64xf32>) outs(%0, %1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
      -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
  return %q#0, %q#1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}
"""
x = random.normal(size=(8, 64)).astype(np.float32)
check(between, [x], 0, "check: passed", None, "--fuse=false")
check(between, [x], 1, "linalg.generic", (x.nbytes, 400, bytes(4)), "--fuse=false")

# Elements and scales of all formats.
for element, scale, block, packing in (
        ("f8E4M3FN", "f8E8M0FNU", 32, 1), ("f8E5M2", "f8E8M0FNU", 32, 1),
        ("f6E3M2FN", "f8E8M0FNU", 32, 1), ("f6E2M3FN", "f8E8M0FNU", 32, 1),
        ("f4E2M1FN", "f8E8M0FNU", 32, 2), ("f4E2M1FN", "f8E4M3FN", 16, 2), ("i8", "f8E8M0FNU", 32, 1)):
    blocks = 64 // block
    types = f"tensor<24x64x{element}>, tensor<24x{blocks}x{scale}>"
    encode = "global_scale(%one) " if scale == "f8E4M3FN" else ""
    size = f" block_size = {block}" if block != 32 else ""
    program = f"""
func.func @main(%x: tensor<24x64xf32>) -> ({types}, tensor<24x64xbf16>) {{
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<24x64x{element}>
  %1 = tensor.empty() : tensor<24x{blocks}x{scale}>
  %q:2 = mx.quantize ins(%x : tensor<24x64xf32>) {encode}outs(%0, %1 : {types}) -> {types}
  %2 = tensor.empty() : tensor<24x64xbf16>
  %d = mx.dequantize ins(%q#0, %q#1 : {types}) outs(%2 : tensor<24x64xbf16>){size} -> tensor<24x64xbf16>
  return %q#0, %q#1, %d : {types}, tensor<24x64xbf16>
}}
"""
    x = random.normal(size=(24, 64)).astype(np.float32)
    sees(program, [x], [(24 * 64 // packing, 700, b"\x15"), (24 * blocks, 24 * blocks - 1, b"\x30"),
                        (24 * 64 * 2, 100, b"\x12\x34")])

# The sums of the matmul are exact, so an error of one unit in the last place is detected.
MATMUL = """
!a = tensor<8x64xf8E4M3FN>
!s = tensor<8x2xf8E8M0FNU>
func.func @main(%a: !a, %as: !s, %b: !a, %bs: !s) -> tensor<8x8xTYPE> {
  %i = tensor.empty() : tensor<8x8xTYPE>
  %0 = tensor.empty() : tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %at = mx.relayout ins(%as : !s) outs(%0 : tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %bt = mx.relayout ins(%bs : !s) outs(%0 : tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %y = mx.matmul ins(%a, %at, %b, %bt : !a, tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
      !a, tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%i : tensor<8x8xTYPE>) -> tensor<8x8xTYPE>EPILOGUE
  return %y : tensor<8x8xTYPE>
}
"""
DOUBLED = """ epilogue {
  ^bb0(%sum: f32, %row: index, %col: index):
    %two = arith.constant 2.0 : f32
    %r = arith.mulf %sum, %two : f32
    mx.yield %r : f32
  }"""


def operands(a_scale, b_scale, signs=False):
    a = np.full((8, 64), 0x38, np.uint8)  # 1
    if signs:
        a[:, ::2] = 0xB8
    return [a, np.full((8, 2), a_scale, np.uint8), np.full((8, 64), 0x38, np.uint8),
            np.full((8, 2), b_scale, np.uint8)]


def f32(value):
    return np.float32(value).tobytes()


for name, item, infinity, nan, near in (
        ("f32", 4, f32(np.inf), f32(np.nan), f32(64.01)),
        ("bf16", 2, b"\x80\x7f", b"\xc0\x7f", b"\x81\x42"),
        ("f16", 2, b"\x00\x7c", b"\x00\x7e", b"\x01\x54")):
    program = MATMUL.replace("TYPE", name).replace("EPILOGUE", "")
    size = 64 * item
    sees(program, operands(127, 127),
         [(size, 5 * item, new) for new in (infinity, nan, near, bytes(item))])
for chip in ("sm_100a", "sm_90a"):
    option = f"--chip={chip}"
    for epilogue in ("", DOUBLED):
        program = MATMUL.replace("TYPE", "f32").replace("EPILOGUE", epilogue)
        # 64 * 2^124 overflows in any order of summation; 1.28e7 cannot be its result.
        huge = operands(127 + 62, 127 + 62)
        check(program, huge, 0, "check: passed", None, option)
        for new in (f32(1.28e7), f32(-np.inf), f32(np.nan)):
            check(program, huge, 1, "FAILED", (256, 20, new), option)
        # The partial sums are too small to overflow f32.
        large = operands(127 + 60, 127 + 60)
        check(program, large, 0, "check: passed", None, option)
        check(program, large, 1, "FAILED", (256, 20, f32(np.inf)), option)
        # Terms of both signs overflow, so 0, infinities and NaN are all valid results. No element of the matmul can be
        # compared.
        check(program, operands(127 + 62, 127 + 62, signs=True), 0, "64 may overflow", None, option)

# Rows are compared in the same way if the ends of expert groups are of type i64 rather than i32.
GROUPED = """
!s = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>
!bs = tensor<2x8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%a: tensor<40x64xf8E4M3FN>, %as: !s, %b: tensor<2x8x64xf8E4M3FN>, %bs: !bs,
    %ends: tensor<2xINT>) -> tensor<40x8xf32> {
  %i = tensor.empty() : tensor<40x8xf32>
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : tensor<40x64xf8E4M3FN>, !s,
      tensor<2x8x64xf8E4M3FN>, !bs) offsets(%ends : tensor<2xINT>) outs(%i : tensor<40x8xf32>) -> tensor<40x8xf32>
  return %y : tensor<40x8xf32>
}
"""
for integer in ("i32", "i64"):
    arrays = [np.full((40, 64), 0x38, np.uint8), np.full((2, 1, 32, 4, 4), 127, np.uint8),
              np.full((2, 8, 64), 0x38, np.uint8), np.full((2, 1, 1, 32, 4, 4), 127, np.uint8),
              np.array([10, 30], integer.replace("i", "int"))]
    program = GROUPED.replace("INT", integer)
    check(program, arrays, 0, "240 elements")
    check(program, arrays, 1, "FAILED", (40 * 8 * 4, 29 * 8 * 4, f32(3)))
    check(program, arrays, 0, "check: passed", (40 * 8 * 4, 30 * 8 * 4, f32(3)))

# No row is compared if the expert groups are empty, or if the order of additions is unspecified. With a fixed order,
# every bit is compared.
check(GROUPED.replace("INT", "i32"), arrays[:4] + [np.zeros(2, np.int32)], 4,
      "check: nothing was compared")
COMBINE = """
func.func @main(%x: tensor<4x128xf32>, %rows: tensor<4xi32>, %y: tensor<3x128xf32>) -> tensor<3x128xf32> {
  %z = mx.combine ins(%x : tensor<4x128xf32>) rows(%rows : tensor<4xi32>) outs(%y : tensor<3x128xf32>)ORDER -> tensor<3x128xf32>
  return %z : tensor<3x128xf32>
}
"""
arrays = [np.ones((4, 128), np.float32), np.zeros(4, np.int32), np.zeros((3, 128), np.float32)]
check(COMBINE.replace("ORDER", ""), arrays, 4, "check: nothing was compared")
check(COMBINE.replace("ORDER", " order = fixed"), arrays, 0, "384 elements, 0 bytes unequal")
check(COMBINE.replace("ORDER", " order = fixed"), arrays, 1, "FAILED", (3 * 128 * 4, 0, f32(4.0000005)))

test.finish(least=67)
