// RUN: mx-test-opt %s --mx-select-schedule=chip=sm_90a | FileCheck %s --check-prefixes=CHECK,WGMMA
// RUN: mx-test-opt %s --mx-select-schedule=chip=sm_100a | FileCheck %s --check-prefixes=CHECK,TCGEN05
// RUN: mx-test-opt %s --mx-select-schedule=chip=sm_120a | FileCheck %s --check-prefixes=CHECK,SYNC

// Threads apply scales that no matrix instruction supports. A preceding kernel tiles the scales of
// square blocks.
!d = tensor<512x512xf32>
!x = tensor<512x512xbf16>
!q = tensor<512x512xf8E4M3FN>
!s = tensor<512x8x!mx_formats.ue5m3, #mx.scale_layout<sf_128x4>>
!f = tensor<4x4xf32>

// CHECK-LABEL: func.func @b(
// WGMMA:       strategy = #mxgpu.wgmma_{{swap_ab|upcast_b}}
// TCGEN05:     strategy = #mxgpu.tcgen05_upcast_b
// SYNC:        strategy = #mxgpu.mma_sync_upcast_b
func.func @b(%x: !x, %q: !q, %s: !s, %d: !d) -> !d {
  %y = mx.matmul ins(%x, %q, %s : !x, !q, !s) outs(%d : !d) block_size = 64 -> !d
  return %y : !d
}

// CHECK-LABEL: func.func @both(
// WGMMA:       strategy = #mxgpu.wgmma_
// TCGEN05:     strategy = #mxgpu.tcgen05_upcast_b, workspace = a
// SYNC:        strategy = #mxgpu.mma_sync_upcast_b, workspace = a
func.func @both(%q: !q, %s: !s, %d: !d) -> !d {
  %y = mx.matmul ins(%q, %s, %q, %s : !q, !s, !q, !s) outs(%d : !d) block_size = 64 -> !d
  return %y : !d
}

// CHECK-LABEL: func.func @squares(
// WGMMA:       strategy = #mxgpu.wgmma_{{swap_ab|upcast_b}}
// TCGEN05:     strategy = #mxgpu.tcgen05_upcast_b
// SYNC:        strategy = #mxgpu.mma_sync_upcast_b
func.func @squares(%x: !x, %q: !q, %s: !f, %d: !d) -> !d {
  %y = mx.matmul ins(%x, %q, %s : !x, !q, !f) outs(%d : !d) block_size = 128x128 -> !d
  return %y : !d
}
