// RUN: mx-test-opt %s -split-input-file --mx-select-schedule=chip=sm_90a | FileCheck %s
// RUN: not mx-test-opt %s -split-input-file --mx-to-mxgpu=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=QUANTIZE
// RUN: not mx-test-opt %s -split-input-file --mx-to-mxgpu=chip=sm_100a 2>&1 | FileCheck %s --check-prefix=TCGEN05

// A kernel dequantizes the operand with one scale per row, and wgmma multiplies bf16 operands.
!q = tensor<512x512xf8E4M3FN>
!s = tensor<512x1x!mx_formats.row_scale>
!d = tensor<512x512xf32>

// CHECK-LABEL: func.func @both(
// CHECK:       strategy = #mxgpu.wgmma_bf16, workspace = ab
// TCGEN05:     error: {{.*}}expected blocks of a known size on sm_100a, found a scale for a whole row: quantize in blocks of a known size, or compile for sm_90a
func.func @both(%q: !q, %s: !s, %d: !d) -> !d {
  %y = mx.matmul ins(%q, %s, %q, %s : !q, !s, !q, !s) outs(%d : !d) block_size = row -> !d
  return %y : !d
}

// CHECK-LABEL: func.func @b(
// CHECK:       strategy = #mxgpu.wgmma_bf16, workspace = b
func.func @b(%x: tensor<512x512xbf16>, %q: !q, %s: !s, %d: !d) -> !d {
  %y = mx.matmul ins(%x, %q, %s : tensor<512x512xbf16>, !q, !s) outs(%d : !d) block_size = row -> !d
  return %y : !d
}

// -----

// QUANTIZE: error: {{.*}}expected blocks of a known size or rows on the GPU, found a scale for a whole matrix: quantize on the host
!x = tensor<512x512xbf16>
!q = tensor<512x512xf8E4M3FN>
!s = tensor<1x1x!mx_formats.matrix_scale>
func.func @quantize(%x: !x, %q: !q, %s: !s) -> (!q, !s) {
  %0:2 = mx.quantize ins(%x : !x) outs(%q, %s : !q, !s) -> !q, !s
  return %0#0, %0#1 : !q, !s
}
