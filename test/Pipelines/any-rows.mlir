// RUN: mx-opt %s --mx-to-plan=chip=sm_90a | mx-translate --mx-to-manifest | FileCheck %s
// RUN: not mx-opt %s --mx-to-plan="chip=sm_90a max-schedules=0" 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: expected max-schedules of 1 or more, found 0

// Matmuls with a dynamic number of rows use several kernels, each for a range of
// rows. All requirements of the branches are checked before the first launch, and
// results are written to the caller's memory without a copy.

// CHECK:     "requires": [
// CHECK:       expected dimension 0 of a_scales to be
// CHECK:     "steps": [
// CHECK-NOT: "require"
// CHECK-NOT: "copy"
// CHECK:     "switch":
// CHECK-NOT: "require"
// CHECK-NOT: "copy"

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x512xf8E4M3FN>
!bs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xbf16>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !b, %cs: !bs) -> (!y, !y) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : !a
  %init = tensor.empty(%m) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%init : !y) -> !y
  %z = mx.matmul ins(%a, %as, %c, %cs : !a, !as, !b, !bs) outs(%init : !y) -> !y
  return %y, %z : !y, !y
}
