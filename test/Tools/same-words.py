"""Checks the errors for invalid sizes and steps at run time. The reference path, plans of mx-run and plans that
mx-launch reads must print the same message at the same location, with status 2.

RUN: %python %s %mx_obj/bin %examples %t
REQUIRES: compiler, numpy
"""

import os
import re
import subprocess
import sys

import numpy as np
from work_folder import enter, write

tools, examples, work = sys.argv[1:]
enter(work)


def call(*arguments):
    done = subprocess.run([os.path.join(tools, arguments[0]), *arguments[1:]], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.strip()


def refuses(name, says, *arguments):
    """Checks that every tool ends with status 2 and prints the message `says`."""
    files = []
    for i, argument in enumerate(arguments):
        np.save(f"arg{i}.npy", argument)
        files += ["--arg", f"arg{i}.npy"]
    runs = {
        "cpu": call("mx-run", f"{name}.mlir", "--device=cpu", *files),
        "sim": call("mx-run", f"{name}.mlir", "--device=sim", *files),
        "launch": call("mx-launch", name, "--device=sim", *files),
    }
    for run, (status, text) in runs.items():
        # Skip remarks of the compiler.
        lines = [line for line in text.split("\n") if not line.startswith(" ") and ": remark: " not in line]
        text = re.sub(r"^mx-\w+: entry 'main': ", "", lines[0])
        text = re.sub(r"^(\S+:\d+:\d+: )(error: )?('mx\.\w+' op )?", r"\1", text)
        assert status == 2 and text == says, f"{name}, {run}: expected 2: {says}\nfound {status}: {text}"


def program(name, text):
    write(f"{name}.mlir", text)
    status, text = call("mx-compile", f"{name}.mlir", "-o", name, "--ptxas=none")
    assert status == 0, text


# Endless loops.
program("loop", """func.func @main(%step: index) -> index {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %sum = scf.for %i = %c0 to %c4 step %step iter_args(%a = %c0) -> index {
    %b = arith.addi %a, %i : index
    scf.yield %b : index
  }
  return %sum : index
}
""")
for step in 0, -1:
    refuses("loop", f"loop.mlir:4:10: expected a loop with a step of at least 1, found {step}", np.int64(step))
program("narrow", """func.func @main(%steps: tensor<?xi32>, %n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c0_index = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %step = tensor.extract %steps[%c0_index] : tensor<?xi32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> i32 : i32 {
    %inner = scf.for %j = %c0 to %n step %step iter_args(%b = %a) -> i32 : i32 {
      %c = arith.addi %b, %j : i32
      scf.yield %c : i32
    }
    scf.yield %inner : i32
  }
  return %sum : i32
}
""")
refuses("narrow", "narrow.mlir:7:14: expected a loop with a step of at least 1, found -7",
        np.array([-7], np.int32), np.int32(3))

# An argument or data specifies a negative dimension.
program("below", """func.func @main(%n: index) -> tensor<2x?xf32> {
  %c1 = arith.constant 1 : index
  %columns = arith.subi %c1, %n : index
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty(%columns) : tensor<2x?xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x?xf32>) -> tensor<2x?xf32>
  return %1 : tensor<2x?xf32>
}
""")
refuses("below", "below.mlir:5:8: expected dimension 1 of an array to be at least 0, found -4", np.int64(5))
program("read", """func.func @main(%sizes: tensor<?xi32>, %at: index) -> tensor<?xf32> {
  %size = tensor.extract %sizes[%at] : tensor<?xi32>
  %n = arith.index_cast %size : i32 to index
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
""")
refuses("read", "read.mlir:5:8: expected dimension 0 of an array to be at least 0, found -1",
        np.array([4, -1], np.int32), np.int64(1))
refuses("read", "read.mlir:2:11: 'memref.load' op expected an access inside of its array: out-of-bounds access",
        np.array([4, -1], np.int32), np.int64(2))

program("reshape", """func.func @main(%x: tensor<?xf32>, %rows: index, %columns: index) -> tensor<f32> {
  %y = tensor.expand_shape %x [[0, 1]] output_shape [%rows, %columns] : tensor<?xf32> into tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%y : tensor<?x?xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  return %sum : tensor<f32>
}
""")
for rows, columns, says in [
    (-3, -4, "0 of an array to be at least 0, found -3"),
    (3, -4, "1 of an array to be at least 0, found -4"),
    (3, 5, "0 of the reshaped array to be 15, found 12"),
]:
    refuses("reshape", f"reshape.mlir:2:8: expected dimension {says}", np.zeros(12, np.float32), np.int64(rows), np.int64(columns))

# Mismatched shapes permitted by the types.
program("quantize", """!x = tensor<?x?xbf16>
!e = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU>
func.func @main(%x: !x, %rows: index, %columns: index, %blocks: index) -> (!e, !s) {
  %0 = tensor.empty(%rows, %columns) : !e
  %1 = tensor.empty(%rows, %blocks) : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%0, %1 : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}
""")
x = np.zeros((128, 128), np.uint16)
refuses("quantize", "quantize.mlir:7:10: expected dimension 0 of elements to be 128, found 64", x, np.int64(64),
        np.int64(128), np.int64(4))
refuses("quantize", "quantize.mlir:7:10: expected dimension 1 of scales to be 4, found 5", x, np.int64(128),
        np.int64(128), np.int64(5))
refuses("quantize", "quantize.mlir:7:10: expected dimension 1 of input to be a multiple of 32, found 100; the nearest "
        "are 96 and 128", x[:, :100].copy(), np.int64(128), np.int64(100), np.int64(3))

# mx-quantize-matmuls merges batch dimensions, so 2 x 3 matrices would pass as 3 x 2 matrices without a check.
write("batches.mlir", """!x = tensor<?x?x8x64xf32>
!w = tensor<?x?x16x64xf32>
!y = tensor<?x?x8x16xf32>
#x = affine_map<(i, j, m, n, k) -> (i, j, m, k)>
#w = affine_map<(i, j, m, n, k) -> (i, j, n, k)>
#y = affine_map<(i, j, m, n, k) -> (i, j, m, n)>
func.func @main(%x: !x, %w: !w, %y0: !y) -> !y {
  %y = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : !x, !w) outs(%y0 : !y) -> !y
  return %y : !y
}
""")
status, text = call("mx-opt", "batches.mlir", "--mx-quantize-matmuls", "--mlir-print-debuginfo", "-o", "quantized.mlir")
assert status == 0, text
with open("quantized.mlir") as f:
    program("quantized", f.read())
for w, y, says in [
    ((3, 2), (2, 3), "0 of the right operand to be 2, found 3"),
    ((2, 3), (3, 2), "0 of the result to be 2, found 3"),
    ((2, 3), (1, 6), "0 of the result to be 2, found 1"),
]:
    refuses("quantized", f"batches.mlir:8:8: expected dimension {says}", np.zeros((2, 3, 8, 64), np.float32),
            np.zeros((*w, 16, 64), np.float32), np.zeros((*y, 8, 16), np.float32))

# Each block of each row needs one scale. GPU scale tiles do not record the number of scales.
program("scales", """!e = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU>
func.func @main(%a: !e, %a_scales: !s, %b: !e, %b_scales: !s, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = mx.matmul ins(%a, %a_scales, %b, %b_scales : !e, !s, !e, !s) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
""")


def ones(*shape):
    """Operands with f8E4M3FN elements and f8E8M0FNU scales of 0.5 and 2 ** -71."""
    return np.full(shape, 0x38, np.uint8)


out = np.zeros((8, 64), np.float32)
for a_scales, b_scales, says in [
    ((5, 4), (64, 4), "dimension 0 of a_scales to be 8, found 5"),
    ((9, 4), (64, 4), "dimension 0 of a_scales to be 8, found 9"),
    ((8, 3), (64, 4), "dimension 1 of a_scales to be 4, found 3"),
    ((8, 4), (63, 4), "dimension 0 of b_scales to be 64, found 63"),
    ((8, 4), (64, 2), "dimension 1 of b_scales to be 4, found 2"),
]:
    refuses("scales", f"scales.mlir:4:8: expected {says}", ones(8, 128), ones(*a_scales), ones(64, 128), ones(*b_scales),
            out)
program("groups", """!a = tensor<?x?xbf16>
!b = tensor<?x?x?xf8E4M3FN>
!s = tensor<?x?x?xf8E8M0FNU>
func.func @main(%a: !a, %b: !b, %b_scales: !s, %ends: tensor<?xi32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = mx.grouped_matmul ragged = rows ins(%a, %b, %b_scales : !a, !b, !s) offsets(%ends : tensor<?xi32>)
      outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
""")
ends = np.array([3, 8], np.int32)
for b_scales, says in [
    ((1, 64, 4), "dimension 0 of b_scales to be 2, found 1"),
    ((2, 60, 4), "dimension 1 of b_scales to be 64, found 60"),
    ((2, 64, 5), "dimension 2 of b_scales to be 4, found 5"),
]:
    refuses("groups", f"groups.mlir:5:8: expected {says}", np.zeros((8, 128), np.uint16), ones(2, 64, 128),
            ones(*b_scales), ends, out)
# Without expert groups there is no last offset that could limit the rows.
NO_GROUPS = np.zeros(0, np.int32)
refuses("groups", "groups.mlir:5:8: expected at least 1 expert group, found 0", np.zeros((8, 128), np.uint16),
        np.zeros((0, 64, 128), np.uint8), np.zeros((0, 64, 4), np.uint8), NO_GROUPS, out)
program("combine", """!x = tensor<?x64xf32>
func.func @main(%x: !x, %rows: tensor<?xi32>, %ends: tensor<?xi32>, %out: !x) -> !x {
  %y = mx.combine ins(%x : !x) rows(%rows : tensor<?xi32>) offsets(%ends : tensor<?xi32>) outs(%out : !x) -> !x
  return %y : !x
}
""")
refuses("combine", "combine.mlir:3:8: expected at least 1 expert group, found 0", np.zeros((6, 64), np.float32),
        np.zeros(6, np.int32), NO_GROUPS, np.zeros((3, 64), np.float32))
program("ragged", """!x = tensor<?x64xbf16>
!e = tensor<?x64xf8E4M3FN>
!s = tensor<?x?x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %ends: tensor<?xi32>, %e: !e, %s: !s) -> (!e, !s) {
  %q:2 = mx.quantize ragged = rows ins(%x : !x) offsets(%ends : tensor<?xi32>) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}
""")
refuses("ragged", "ragged.mlir:5:10: expected at least 1 expert group, found 0", np.zeros((8, 64), np.uint16), NO_GROUPS,
        np.zeros((8, 64), np.uint8), np.zeros((0, 1, 32, 4, 4), np.uint8))
program("packed", """!a = tensor<?x?xbf16>
!b = tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>
!s = tensor<?x?xf8E8M0FNU>
func.func @main(%a: !a, %b: !b, %b_scales: !s, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = mx.matmul ins(%a, %b, %b_scales : !a, !b, !s) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
""")
refuses("packed", "packed.mlir:5:8: expected dimension 0 of b_scales to be 64, found 40", np.zeros((8, 128), np.uint16),
        np.zeros((1, 2, 128, 16), np.uint8), ones(40, 4), out)

# The offset of a slice comes from an argument, a loop or data and may be out of bounds. A slice may end at the bound.
program("rows", """func.func @main(%x: tensor<?x64xf32>, %first: index, %rows: index) -> tensor<?x64xf32> {
  %p = tensor.extract_slice %x[%first, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
  %0 = tensor.empty(%rows) : tensor<?x64xf32>
  %y = linalg.negf ins(%p : tensor<?x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
""")
program("layers", """func.func @main(%x: tensor<?x64xf32>, %layers: index) -> tensor<2x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y0 = tensor.extract_slice %x[0, 0] [2, 64] [1, 1] : tensor<?x64xf32> to tensor<2x64xf32>
  %y = scf.for %i = %c0 to %layers step %c1 iter_args(%sum = %y0) -> (tensor<2x64xf32>) {
    %row = arith.muli %i, %c2 : index
    %p = tensor.extract_slice %x[%row, 0] [2, 64] [1, 1] : tensor<?x64xf32> to tensor<2x64xf32>
    %next = arith.addf %sum, %p : tensor<2x64xf32>
    scf.yield %next : tensor<2x64xf32>
  }
  return %y : tensor<2x64xf32>
}
""")
x = np.arange(6 * 64, dtype=np.float32).reshape(6, 64)
BEYOND = "'memref.subview' op expected an access inside of its array: "
for first, rows in (2, 5), (5, 2), (0, 7):
    refuses("rows", f"rows.mlir:2:8: {BEYOND}subview runs out-of-bounds along dimension 0", x, np.int64(first), np.int64(rows))
for first, rows in (-1, 2), (7, 1):
    refuses("rows", f"rows.mlir:2:8: {BEYOND}offset 0 is out-of-bounds", x, np.int64(first), np.int64(rows))
refuses("layers", f"layers.mlir:8:10: {BEYOND}offset 0 is out-of-bounds", x, np.int64(4))
for name, *numbers in ("rows", 2, 4), ("rows", 6, 0), ("rows", 0, 6), ("layers", 3):
    np.save("x.npy", x)
    files = ["--arg", "x.npy"]
    for i, number in enumerate(numbers):
        np.save(f"n{i}.npy", np.int64(number))
        files += ["--arg", f"n{i}.npy"]
    want = -x[numbers[0] : numbers[0] + numbers[1]] if name == "rows" else x[0:2] + x.reshape(3, 2, 64).sum(0)
    for run in ["mx-run", f"{name}.mlir", "--device=cpu"], ["mx-run", f"{name}.mlir", "--device=sim"], ["mx-launch", name, "--device=sim"]:
        status, text = call(*run, *files, "--result", "y.npy")
        assert status == 0 and np.array_equal(np.load("y.npy"), want), f"{run} {numbers}: {text}"

# First, an element read only by a kernel. Second, copies between arrays of different sizes.
program("sunk", """func.func @main(%a: tensor<3x4xf32>, %j: index) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.extract %a[%c0, %j] : tensor<3x4xf32>
  %e = tensor.empty() : tensor<2xf32>
  %r = linalg.fill ins(%s : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
""")
a = np.arange(12, dtype=np.float32).reshape(3, 4)
for index in 4, 5, -1:
    refuses("sunk", "sunk.mlir:3:8: 'memref.load' op expected an access inside of its array: out-of-bounds access", a, np.int64(index))
program("copy", """func.func @main(%a: memref<?xf32>, %b: memref<?xf32>) {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
""")
for sizes in (4, 5), (4, 3):
    refuses("copy", "copy.mlir:2:3: 'memref.copy' op expected an access inside of its array: size of 0-th source/target dim "
            "does not match", *(np.zeros(size, np.float32) for size in sizes))

# A program without arguments reads a scalar.
program("alone", """func.func @main() -> f32 {
  %z = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b = arith.addf %a, %a : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %s = tensor.extract %b[%c0] : tensor<4xf32>
  return %s : f32
}
""")
for run in ["mx-run", "alone.mlir", "--device=sim"], ["mx-launch", "alone", "--device=sim"]:
    status, text = call(*run, "--result", "y.npy")
    assert status == 0 and np.load("y.npy") == 4, f"{run}: {text}"

# If several checks have equal conditions, only the first check in the program is reported.
with open(os.path.join(examples, "matmul.mlir"), encoding="utf-8") as file:
    program("matmul", file.read())
for x_columns, w_columns, says in [
    (48, 48, "20:11: expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64"),
    (48, 64, "20:11: expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64"),
    (64, 48, "25:11: expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64"),
    (64, 96, "25:11: expected dimension 1 of elements to be 96, found 64"),
    (256, 64, "25:11: expected dimension 1 of elements to be 64, found 256"),
]:
    refuses("matmul", f"matmul.mlir:{says}", np.zeros((8, x_columns), np.uint16), np.zeros((8, w_columns), np.uint16))
