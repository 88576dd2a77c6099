// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu=chip=sm_90a
// RUN: not mx-opt %s --mx-select-schedule=chip=sm_100a 2>&1 | FileCheck %s

// Rejects workspaces that remain when kernels are built, and workspaces on chips whose tensor
// cores apply scales.

!b = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%b: !b, %s: !s, %y: !y) {
  // CHECK: error: {{.*}}expected no workspace = a on sm_100a, whose tensor core multiplies by the scales: leave out the workspace
  // expected-error @below {{expected operands of workspace = a to be dequantized by other operations: run mx-dequantize-operands first, before bufferization}}
  mx.matmul ins(%b, %s, %b, %s : !b, !s, !b, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, workspace = a>}
  return
}
