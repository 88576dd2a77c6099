// REQUIRES: compiler, numpy
// UNSUPPORTED: sanitizers
// RUN: split-file %s %t
// RUN: mx-test-opt %t/cpu.mlir --mx-to-cpu | mlir-runner -e main -entry-point-result=void \
// RUN:   -shared-libs=%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext | FileCheck %t/cpu.mlir
// RUN: mx-test-opt %t/gpu.mlir --mx-to-mxgpu=chip=sm_90a --convert-mxgpu-host-to-plan --canonicalize --cse -o %t/plan.mlir
// RUN: mkdir %t/out
// RUN: mx-translate --mx-to-manifest %t/plan.mlir -o %t/out/manifest.json
// RUN: mx-test-opt %t/gpu.mlir --mx-to-nvvm=chip=sm_90a | mx-translate --mx-to-ptx -o %t/out/kernels.ptx
// RUN: %python %t/check.py %t mx-launch
// RUN: mx-test-opt %t/multiply.mlir --mx-to-mxgpu=chip=sm_test | FileCheck %t/multiply.mlir
// RUN: not mx-test-opt %t/multiply.mlir --mx-to-mxgpu=chip=sm_90a 2>&1 | FileCheck %t/multiply.mlir --check-prefix=OTHER

// Packs operands in an order defined by a strategy outside of mx (test/lib/TensorCore).

//--- cpu.mlir
func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}

!x = tensor<9x64xf32>
!e = tensor<9x64xf8E4M3FN>
!s = tensor<9x2xf8E8M0FNU>
!c = tensor<9x9xf32>
func.func @main() {
  %x = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c64 = arith.constant 64 : index
    %row = arith.muli %i, %c64 : index
    %place = arith.addi %row, %j : index
    %word = arith.index_cast %place : index to i32
    %y = arith.sitofp %word : i32 to f32
    tensor.yield %y : f32
  } : !x

  // Thread t of a row stores columns 4 t to 4 t + 3 and 16 + 4 t to 19 + 4 t.
  %r0 = tensor.empty() : !x
  %r = mx.pack_operand order = #mx_test.order<rows> ins(%x : !x) outs(%r0 : !x) -> !x
  %first = tensor.extract_slice %r[0, 0] [1, 16] [1, 1] : !x to tensor<1x16xf32>
  %first_unranked = tensor.cast %first : tensor<1x16xf32> to tensor<*xf32>
  // CHECK: {{\[\[}}0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23]]
  call @printMemrefF32(%first_unranked) : (tensor<*xf32>) -> ()

  // Row 8 begins a second tile, padded with zeros.
  %t0 = tensor.empty() : tensor<2x2x32x8xf32>
  %t = mx.pack_operand order = #mx_test.order<tiles> ins(%x : !x) outs(%t0 : tensor<2x2x32x8xf32>) -> tensor<2x2x32x8xf32>
  %last = tensor.extract_slice %t[1, 1, 3, 0] [1, 1, 2, 8] [1, 1, 1, 1] : tensor<2x2x32x8xf32> to tensor<2x8xf32>
  %last_unranked = tensor.cast %last : tensor<2x8xf32> to tensor<*xf32>
  // CHECK: {{\[\[}}556, 557, 558, 559, 572, 573, 574, 575],
  // CHECK: [0, 0, 0, 0, 0, 0, 0, 0]]
  call @printMemrefF32(%last_unranked) : (tensor<*xf32>) -> ()

  // The matmul result does not depend on the operand order.
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %a0 = tensor.empty() : tensor<9x64xf8E4M3FN, #mx_test.order<rows>>
  %a = mx.pack_operand ins(%q#0 : !e) outs(%a0 : tensor<9x64xf8E4M3FN, #mx_test.order<rows>>) -> tensor<9x64xf8E4M3FN, #mx_test.order<rows>>
  %b0 = tensor.empty() : tensor<9x64xf8E4M3FN, #mx_test.order<tiles>>
  %b = mx.pack_operand ins(%q#0 : !e) outs(%b0 : tensor<9x64xf8E4M3FN, #mx_test.order<tiles>>) -> tensor<9x64xf8E4M3FN, #mx_test.order<tiles>>
  %c0 = tensor.empty() : !c
  %plain = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : !e, !s, !e, !s) outs(%c0 : !c) -> !c
  %packed = mx.matmul ins(%a, %q#1, %b, %q#1 : tensor<9x64xf8E4M3FN, #mx_test.order<rows>>, !s, tensor<9x64xf8E4M3FN, #mx_test.order<tiles>>, !s)
      outs(%c0 : !c) -> !c
  %both = tensor.concat dim(0) %plain, %packed : (!c, !c) -> tensor<18x9xf32>
  %corners = tensor.extract_slice %both[8, 0] [2, 3] [9, 1] : tensor<18x9xf32> to tensor<2x3xf32>
  %corners_unranked = tensor.cast %corners : tensor<2x3xf32> to tensor<*xf32>
  // CHECK: {{\[\[}}[[ROW:[0-9.e+, ]+]]],
  // CHECK-NEXT: {{\[}}[[ROW]]{{\]\]}}
  call @printMemrefF32(%corners_unranked) : (tensor<*xf32>) -> ()
  return
}

//--- gpu.mlir
!f4 = tensor<3x9x64xf4E2M1FN>
func.func @main(%e: tensor<9x64xf8E4M3FN>, %f: !f4, %h: tensor<2x32xbf16>)
    -> (tensor<2x2x32x8xf8E4M3FN>, tensor<3x2x2x32x8xf4E2M1FN>, tensor<2x32xbf16>) {
  %e0 = tensor.empty() : tensor<2x2x32x8xf8E4M3FN>
  %0 = mx.pack_operand order = #mx_test.order<tiles> ins(%e : tensor<9x64xf8E4M3FN>) outs(%e0 : tensor<2x2x32x8xf8E4M3FN>)
      -> tensor<2x2x32x8xf8E4M3FN>
  %f0 = tensor.empty() : tensor<3x2x2x32x8xf4E2M1FN>
  %1 = mx.pack_operand order = #mx_test.order<tiles> ins(%f : !f4) outs(%f0 : tensor<3x2x2x32x8xf4E2M1FN>) -> tensor<3x2x2x32x8xf4E2M1FN>
  %h0 = tensor.empty() : tensor<2x32xbf16>
  %2 = mx.pack_operand order = #mx_test.order<rows> ins(%h : tensor<2x32xbf16>) outs(%h0 : tensor<2x32xbf16>) -> tensor<2x32xbf16>
  return %0, %1, %2 : tensor<2x2x32x8xf8E4M3FN>, tensor<3x2x2x32x8xf4E2M1FN>, tensor<2x32xbf16>
}

//--- check.py
import subprocess
import sys

import numpy as np

folder, launch = sys.argv[1:]
rng = np.random.default_rng(5)


def words(x):
    """Orders each 32-column block by thread. Thread t stores columns 4 t to 4 t + 3 and 16 + 4 t to 19 + 4 t."""
    *batch, columns = x.shape
    return x.reshape(*batch, columns // 32, 2, 4, 4).swapaxes(-3, -2).reshape(x.shape)


def tiles(x):
    *batch, rows, columns = x.shape
    whole = np.zeros((*batch, -(-rows // 8) * 8, columns), x.dtype)
    whole[..., :rows, :] = words(x)
    split = whole.reshape(*batch, -1, 8, columns // 32, 32).swapaxes(-3, -2)
    return split.reshape(*split.shape[:-2], 32, 8)


def pairs(codes):
    return codes[..., ::2] | codes[..., 1::2] << 4


e = rng.integers(0, 256, (9, 64)).astype(np.uint8)
f = rng.integers(0, 16, (3, 9, 64)).astype(np.uint8)
h = rng.integers(0, 2**16, (2, 32)).astype(np.uint16)
options = []
for i, x in enumerate((e, pairs(f), h)):
    np.save(f"{folder}/x{i}.npy", x)
    options += ["--arg", f"{folder}/x{i}.npy", "--result", f"{folder}/y{i}.npy"]
subprocess.run([launch, f"{folder}/out", "--device=sim", *options], check=True)
for i, expected in enumerate((tiles(e), pairs(tiles(f)), words(h))):
    found = np.load(f"{folder}/y{i}.npy")
    assert found.dtype == expected.dtype and np.array_equal(found, expected), i

//--- multiply.mlir
!a = tensor<256x1024xf8E4M3FN>
!b = tensor<256x1024xf8E4M3FN, #mx_test.order<rows>>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>
// CHECK-DAG:   #[[$STORED:.*]] = #mxgpu.fragment_layout<threads = [4: 8 columns, 8: 1 row], values = [8: 1 column, 4: 32 columns, 4: 8 rows]>
// CHECK-LABEL: mxgpu.kernel @packed_matmul(
// CHECK:         %[[B:.*]] = mxgpu.load_fragment %b at
// CHECK:         mxgpu.relabel_fragment %[[B]] :
// CHECK:         mxgpu.mma #mx_test.mma<registers, n = 32>
// OTHER: 'mx.matmul' op expected operand orders that kernels for sm_90a support, found #mx_test.order<rows>: remove mx.pack_operand
func.func @packed(%a: !a, %as: !s, %b: !b, %bs: !s, %out: !y) -> !y {
  %d = mx.matmul ins(%a, %as, %b, %bs : !a, !s, !b, !s) outs(%out : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 32, 128], stages = 2, strategy = #mx_test.strategy<>>} -> !y
  return %d : !y
}
