// RUN: mx-opt %s --mx-to-nvvm=chip=sm_100a | FileCheck %s

// Partial sums of a split reduction are staged as f32, whatever the result type. The
// staging buffer is wider than a narrow tile, so the default number of stages must
// leave room for the buffer.

!a = tensor<128x4096xf8E4M3FN>
!b = tensor<32x4096xf8E4M3FN>
!as = tensor<128x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<32x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// CHECK: llvm.func @main_matmul(
// CHECK: llvm.func @main_matmul_sum(
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: tensor<128x32xbf16>) -> tensor<128x32xbf16> {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : tensor<128x32xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 32, 128], split_k = 4, epilogue = tma_store, staging = 3>} -> tensor<128x32xbf16>
  return %0 : tensor<128x32xbf16>
}
