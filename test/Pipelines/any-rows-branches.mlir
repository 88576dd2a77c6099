// RUN: mx-opt %s --mx-to-plan=chip=sm_90a | mx-translate --mx-to-manifest | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule=chip=sm_90a --mx-expand-schedules | FileCheck %s --check-prefix=EXPAND

// The matmuls have a dynamic number of rows. Matmuls in alternative branches share one result buffer, which a
// later matmul reads without a copy. Consecutive matmuls have separate buffers.

// CHECK-NOT: "copy"
// CHECK:     "switch":
// CHECK-NOT: "copy"

// EXPAND-LABEL: func.func @main
// EXPAND:       tensor.empty
// EXPAND-NEXT:  %[[X:.*]] = tensor.empty(%{{.*}}) : tensor<?x128xbf16>
// EXPAND:       scf.if
// EXPAND-COUNT-2: outs(%[[X]] : tensor<?x128xbf16>) {mxgpu.schedule = 
// EXPAND-NOT:   tensor.empty
// EXPAND:       } else {
// EXPAND-COUNT-2: outs(%[[X]] : tensor<?x128xbf16>) {mxgpu.schedule = 
// EXPAND:       %[[Y:.*]] = tensor.empty(%{{.*}}) : tensor<?x128xbf16>
// EXPAND-COUNT-2: outs(%[[Y]] : tensor<?x128xbf16>) {mxgpu.schedule = 
!a = tensor<?x128xbf16>
!b = tensor<128x128xf4E2M1FN>
!bs = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x0: !a, %b: !b, %bs: !bs, %s: i1) -> !a {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x0, %c0 : !a
  %e0 = tensor.empty(%m) : !a
  %x1 = scf.if %s -> !a {
    %z = mx.matmul ins(%x0, %b, %bs : !a, !b, !bs) outs(%e0 : !a) -> !a
    scf.yield %z : !a
  } else {
    %z = mx.matmul ins(%x0, %b, %bs : !a, !b, !bs) outs(%e0 : !a) -> !a
    scf.yield %z : !a
  }
  %x2 = mx.matmul ins(%x1, %b, %bs : !a, !b, !bs) outs(%e0 : !a) -> !a
  return %x2 : !a
}
