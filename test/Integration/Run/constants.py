"""A program's constants are copied to the device. The simulator, the CPU path and the compiled program return the bytes
that the program contains.

RUN: %python %s mx-run %t sm_90a mx-compile mx-launch
RUN: %python %s mx-run %t sm_100a mx-compile mx-launch
REQUIRES: compiler, numpy

The results of a program are constants of all element types, inline and as resources. Further constants are weights,
scales, a bias and a gather table, initial values of loop-carried tensors, and tensors that are updated in place twice
(without changing the constant). All results are exact, because the numbers are small integers, and are compared byte by
byte with numpy.
"""

import ml_dtypes
import numpy as np
from harness import BF16, Harness

test = Harness("mx_run", "folder", "chip", "mx_compile", "mx_launch", seed=23)
rng = test.rng


def run(name, text, arguments, expected):
    """Compares the bytes of the results on every path."""
    count = len(expected)
    for way, found in [("sim", test.run(text, arguments, count, chip=test.chip)),
                       ("cpu", test.run(text, arguments, count, device="cpu")),
                       ("plan", test.launch(text, arguments, count, test.chip, "--ptxas=none"))]:
        for i, (array, want) in enumerate(zip(found, expected)):
            test.expect(f"{name} by {way}, result {i}", array, want)


def resource(data):
    """Returns the bytes in MLIR's form, in which the alignment (16) precedes the data."""
    return '"0x10000000' + data.tobytes().hex().upper() + '"'


def resources(**arrays):
    lines = ",\n".join(f"      {name}: {resource(array)}" for name, array in arrays.items())
    return f"\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{lines}\n    }}\n  }}\n#-}}\n"


def pack(nibbles):
    return (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).astype(np.uint8)


# All element types, in the textual form `dense`.
TYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": BF16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_, "index": np.int64,
}
body, types, expected, arrays = "", [], [], {}
for element, dtype in TYPES.items():
    shape = (3, 4)
    numbers = 2.0 ** rng.integers(-1, 3, shape) if element.startswith("f") or element == "bf16" else rng.integers(0, 2 if element == "i1" else 99, shape)
    array = numbers.astype(dtype)
    codes = array.view(np.uint8).reshape(shape) if array.itemsize == 1 and element != "i1" else None
    stored = pack(codes) if element == "f4E2M1FN" else array
    literal = str(numbers.tolist()) if element != "i1" else str([[bool(v) for v in row] for row in numbers.tolist()]).lower()
    tensor = f"tensor<3x4x{element}>"
    body += f"  %d_{element} = arith.constant dense<{literal}> : {tensor}\n"
    body += f"  %r_{element} = arith.constant dense_resource<r_{element}> : {tensor}\n"
    types += [(f"%d_{element}", tensor), (f"%r_{element}", tensor)]
    arrays[f"r_{element}"] = stored
    # In files, narrow floats are bytes.
    want = stored.view(np.uint8) if codes is not None and dtype is not np.int8 else stored
    want = want.view(np.uint16) if element == "bf16" else want
    expected += [want, want]
# An odd number of f4 elements, no elements, rank 0, and more than a page of elements.
arrays["loose"] = rng.integers(0, 16, 6).astype(np.uint8)
arrays["large"] = rng.integers(0, 1 << 30, 70001).astype(np.int32)
body += """  %loose = arith.constant dense_resource<loose> : tensor<6xf4E2M1FN>
  %large = arith.constant dense_resource<large> : tensor<70001xi32>
  %none = arith.constant dense<> : tensor<0x4xf32>
  %one = arith.constant dense<7.5> : tensor<f32>
"""
# Splats of narrow floats, i1 bytes other than 0 and 1, and an empty resource.
arrays["any_bits"] = np.array([0, 1, 2, 255], np.uint8)
arrays["nothing"] = np.zeros(0, np.float32)
body += """  %same = arith.constant dense<1.5> : tensor<2x4xf4E2M1FN>
  %same6 = arith.constant dense<1.5> : tensor<5xf6E2M3FN>
  %any_bits = arith.constant dense_resource<any_bits> : tensor<4xi1>
  %nothing = arith.constant dense_resource<nothing> : tensor<0x4xf32>
"""
types += [("%same", "tensor<2x4xf4E2M1FN>"), ("%same6", "tensor<5xf6E2M3FN>"), ("%any_bits", "tensor<4xi1>"), ("%nothing", "tensor<0x4xf32>")]
expected += [np.full((2, 2), 0x33, np.uint8), np.full(5, ml_dtypes.float6_e2m3fn(1.5).view(np.uint8)), np.array([False, True, True, True]),
             np.zeros((0, 4), np.float32)]
types += [("%loose", "tensor<6xf4E2M1FN>"), ("%large", "tensor<70001xi32>"), ("%none", "tensor<0x4xf32>"), ("%one", "tensor<f32>")]
expected += [pack(arrays["loose"]), arrays["large"], np.zeros((0, 4), np.float32), np.array(7.5, np.float32)]
# Between passes, the program is also printed and parsed, which must not change the bytes.
text = f"""func.func @main() -> ({", ".join(t for _, t in types)}) {{
{body}  return {", ".join(v for v, _ in types)} : {", ".join(t for _, t in types)}
}}
"""
run("types", text + resources(**arrays), [], expected)

# Weights, scales and bias of a matmul.
weights = rng.integers(-3, 4, (40, 256)).astype(ml_dtypes.float8_e4m3fn)
scales = rng.integers(126, 129, (40, 8)).astype(np.uint8)
bias = rng.integers(-9, 10, 40).astype(np.float32)
x = rng.integers(-2, 3, (70, 256)).astype(BF16)
decoded = weights.astype(np.float64) * np.repeat(2.0 ** (scales.astype(int) - 127), 32, 1)
layer = """!m = tensor<?x256xbf16>
!e = tensor<?x256xf8E4M3FN>
!s = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!we = tensor<40x256xf8E4M3FN>
!ws = tensor<40x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x40xf32>
func.func @main(%x: !m) -> !y {
  %w = arith.constant dense_resource<weights> : !we
  %rows = arith.constant dense_resource<scales> : tensor<40x8xf8E8M0FNU>
  %ws0 = tensor.empty() : !ws
  %ws = mx.relayout ins(%rows : tensor<40x8xf8E8M0FNU>) outs(%ws0 : !ws) -> !ws
  %bias = arith.constant dense_resource<bias> : tensor<40xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !m
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !we, !ws) outs(%y0 : !y) -> !y
  %z0 = tensor.empty(%n) : !y
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %bias : !y, tensor<40xf32>) outs(%z0 : !y) {
  ^bb0(%p: f32, %b: f32, %old: f32):
    %r = arith.addf %p, %b : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}
"""
run("layer", layer + resources(weights=weights, scales=scales, bias=bias), [x],
    [(x.astype(np.float64) @ decoded.T + bias).astype(np.float32)])

# The constants are a gather table, the initial value of a loop, both values of a select, and a tensor that is
# written. The program must copy a constant before it writes to the tensor or returns it.
table = rng.integers(-99, 99, (10, 3)).astype(np.float32)
flow = """!t = tensor<10x3xf32>
func.func private @update(%v: f32) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense_resource<table> : !t
  %old = tensor.extract %t[%c1, %c1] : !t
  %new = arith.addf %old, %v : f32
  %r = tensor.insert %new into %t[%c1, %c1] : !t
  return %r : !t
}
func.func @main(%rows: tensor<?xi32>, %v: f32, %n: index) -> (tensor<?x3xf32>, !t, !t, !t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense_resource<table> : !t
  %u = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0], [13.0, 14.0, 15.0],
    [1.5, 2.5, 3.5], [4.5, 5.5, 6.5], [7.5, 8.5, 9.5], [10.5, 11.5, 12.5], [13.5, 14.5, 15.5]]> : !t
  %m = tensor.dim %rows, %c0 : tensor<?xi32>
  %g0 = tensor.empty(%m) : tensor<?x3xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<?xi32>) outs(%g0 : tensor<?x3xf32>) {
  ^bb0(%row: i32, %old: f32):
    %i = arith.index_cast %row : i32 to index
    %j = linalg.index 1 : index
    %e = tensor.extract %t[%i, %j] : !t
    linalg.yield %e : f32
  } -> tensor<?x3xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %t) -> (!t) {
    %b = arith.addf %a, %u : !t
    scf.yield %b : !t
  }
  %c3 = arith.constant 3 : index
  %many = arith.cmpi ugt, %n, %c3 : index
  %one = scf.if %many -> (!t) {
    scf.yield %t : !t
  } else {
    scf.yield %u : !t
  }
  %first = func.call @update(%v) : (f32) -> !t
  %second = func.call @update(%v) : (f32) -> !t
  return %g, %sum, %one, %first, %second : tensor<?x3xf32>, !t, !t, !t, !t
}
"""
other = np.concatenate([np.arange(1, 16), np.arange(1, 16) + 0.5]).reshape(10, 3).astype(np.float32)
updated = table.copy()
updated[1, 1] += 5
rows = rng.integers(0, 10, 7).astype(np.int32)
for n in (0, 1, 5):
    run(f"flow{n}", flow + resources(table=table), [rows, np.float32(5), np.int64(n)],
        [table[rows], table + n * other, table if n > 3 else other, updated, updated])

test.finish(least=200000)
