// RUN: mx-compile %s --chip=sm_90a --ptxas=none --quiet -o %t
// RUN: FileCheck %s --input-file=%t/kernels.ptx

// Both joined kernels have their own barriers: 4 for each of two roles, and one for all warps. Kernels hung with barriers
// that both shared after a branch, because ptxas 13.0 did not reconverge the warp there.

!w = tensor<2x128x128xbf16>
!e = tensor<2x128x128xf8E4M3FN>
!s = tensor<2x1x1xf8E8M0FNU>

// CHECK:          .entry weights_quantize_and_weights_quantize(
// CHECK-COUNT-18: bar.sync
// CHECK-NOT:      bar.sync
func.func @weights(%a: !w, %b: !w) -> (!e, !s, !e, !s, !e, !s, !e, !s) {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %qa:4 = mx.quantize ins(%a : !w) outs(%e, %s, %e, %s : !e, !s, !e, !s) axes = [1, 0] block_size = 128x128 -> !e, !s, !e, !s
  %qb:4 = mx.quantize ins(%b : !w) outs(%e, %s, %e, %s : !e, !s, !e, !s) axes = [1, 0] block_size = 128x128 -> !e, !s, !e, !s
  return %qa#0, %qa#1, %qa#2, %qa#3, %qb#0, %qb#1, %qb#2, %qb#3 : !e, !s, !e, !s, !e, !s, !e, !s
}
