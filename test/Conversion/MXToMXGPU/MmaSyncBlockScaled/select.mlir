// RUN: mx-opt %s --mx-select-schedule="chip=sm_120a explain" 2>%t.txt | FileCheck %s
// RUN: FileCheck %s --check-prefix=MODEL <%t.txt

// Two warps take turns on each tensor core. A schedule with a single staging buffer has room for a
// second stage and is also a candidate.
// MODEL-LABEL: mx.matmul in @staged:
// MODEL:       1 128x128x128 s2 c2 {{.*}} MMAs
// MODEL:       128x128x128 s2 tma1 {{.*}} MMAs

!a = tensor<8192x2048xf8E4M3FN>
!as = tensor<8192x64xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<8192x8192xbf16>
// CHECK-LABEL: func.func @staged(
// CHECK:       tile = [128, 128, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 2>,
func.func @staged(%a: !a, %as: !as, %y: !y) -> !y {
  %r = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y : !y) -> !y
  return %r : !y
}
