// REQUIRES: compiler, numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; r = np.random.default_rng(3); [np.save(f'%t/{n}.npy', (r.standard_normal(s).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)) for n, s in (('x', (70, 224)), ('w', (152, 224)))]"
// DEFINE: %{arrays} = --arg %t/x.npy --arg %t/w.npy --device=sim
// RUN: mx-run %s --chip=sm_90a %{arrays} --result %t/y.npy --check=cpu --mx-explain 2>&1 | FileCheck %s
// RUN: mx-compile %s --chip=sm_90a -o %t/out --ptxas=none
// RUN: mx-launch %t/out %{arrays} --result %t/launched.npy
// RUN: cmp %t/y.npy %t/launched.npy
// RUN: mx-run %s --chip=sm_90a --entry=plain %{arrays} --result %t/plain.npy
// RUN: cmp %t/y.npy %t/plain.npy

// A program quantizes and packs weights, and multiplies by the packed weights. The
// bits are the same if the program is compiled ahead of time or does not pack.
// Other operands determine the sizes that the tiles do not determine.

// 152 rows of 224 weights need 3 x 4 tiles of 2048 bytes.
// CHECK:     main_pack_weights reads 17024 B, writes 24576 B
// CHECK:     main_matmul reads 57984 B, writes 42560 B
// CHECK-DAG: check: mx.pack_operand at {{.*}}, result 0: 24576 elements, 0 bytes unequal
// CHECK-DAG: check: mx.matmul at {{.*}}, result 0: 10640 elements, largest deviation
// CHECK:     check: passed

!m = tensor<?x?xbf16>
!e = tensor<?x?xf4E2M1FN>
!p = tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x?xf32>

func.func private @quantize(%w: !m) -> (!e, !s) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n = tensor.dim %w, %c0 : !m
  %k = tensor.dim %w, %c1 : !m
  %blocks = arith.divui %k, %c32 : index
  %0 = tensor.empty(%n, %k) : !e
  %1 = tensor.empty(%n, %blocks) : !s
  %q:2 = mx.quantize ins(%w : !m) outs(%0, %1 : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

func.func @main(%x: !m, %w: !m) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q:2 = call @quantize(%w) : (!m) -> (!e, !s)
  %n = tensor.dim %w, %c0 : !m
  %k = tensor.dim %w, %c1 : !m
  %0 = tensor.empty(%n, %k) : !p
  %p = mx.pack_operand ins(%q#0 : !e) outs(%0 : !p) -> !p
  %m = tensor.dim %x, %c0 : !m
  %rows = tensor.dim %p, %c0 : !p
  %1 = tensor.empty(%m, %rows) : !y
  %y = mx.matmul ins(%x, %p, %q#1 : !m, !p, !s) outs(%1 : !y) -> !y
  return %y : !y
}

func.func @plain(%x: !m, %w: !m) -> !y {
  %c0 = arith.constant 0 : index
  %q:2 = call @quantize(%w) : (!m) -> (!e, !s)
  %m = tensor.dim %x, %c0 : !m
  %n = tensor.dim %w, %c0 : !m
  %0 = tensor.empty(%m, %n) : !y
  %y = mx.matmul ins(%x, %q#0, %q#1 : !m, !e, !s) outs(%0 : !y) -> !y
  return %y : !y
}
