// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "serializ|warning|[1-9][0-9]* bytes spill" %t.log

// ptxas compiles matmuls with packed weights without spills. A thread loads its
// elements of a tile in 16-byte units (for 4-bit elements, a single unit), and
// writes pairs of elements.

!x = tensor<?x512xbf16>
!w = tensor<512x512xf4E2M1FN, #mxgpu.fragment_64x64>
!v = tensor<512x512xf8E4M3FN, #mxgpu.fragment_64x64>
!ws = tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xbf16>

// CHECK-LABEL: .entry low_matmul(
// CHECK-COUNT-2: ld.shared.v4.b32
// CHECK-NOT:   ld.shared.v4.b32
// CHECK-COUNT-32: st.shared.b32
func.func @low(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64]>} -> !y
  return %y : !y
}

func.func @wide(%x: !x, %w: !v, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !v, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64]>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry swapped_matmul(
// CHECK-COUNT-2: ld.shared.v4.b32
// CHECK-NOT:   ld.shared.v4.b32
// CHECK-NOT:   st.shared.b32
func.func @swapped(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 128], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry pack_pack_weights(
func.func @pack(%w: tensor<?x?xf4E2M1FN>, %init: tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>)
    -> tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64> {
  %p = mx.pack_operand ins(%w : tensor<?x?xf4E2M1FN>)
      outs(%init : tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>)
      -> tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>
  return %p : tensor<?x?xf4E2M1FN, #mxgpu.fragment_64x64>
}
