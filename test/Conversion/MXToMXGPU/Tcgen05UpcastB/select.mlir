// RUN: mx-opt %s --mx-select-schedule="chip=sm_100a explain" -o /dev/null 2>&1 | FileCheck %s

// Large matmuls run on CTA pairs with two accumulators. Matmuls with small M split the reduction.

!w = tensor<4096x7168xf8E4M3FN>
!ws = tensor<4096x224xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// CHECK-LABEL: mx.matmul in @large: 4096 x 4096 x 7168, bf16 x e4m3 in blocks of 32 (kind::f16) to bf16
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [256, 256, 64], stages = 7, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2, accumulators = 2>, raster = linear, epilogue = direct, registers = [168, 128, 88]>
// CHECK:       shared memory of a CTA
// CHECK:       | in_b.sfb: 512
// CHECK:       | operands.b: 16384
// CHECK:       | acc.d: 2 x 256
// CHECK:       threads of a CTA: 448, with 168 registers in the epilogue, 128 in dequantizing warps, and 88 in other warps
func.func @large(%x: tensor<4096x7168xbf16>, %w: !w, %ws: !ws, %y: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = mx.matmul ins(%x, %w, %ws : tensor<4096x7168xbf16>, !w, !ws) outs(%y : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// CHECK-LABEL: mx.matmul in @few:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [128, 256, 64], stages = {{[0-9]+}}, strategy = #mxgpu.tcgen05_upcast_b, split_k = 8,
func.func @few(%x: tensor<16x7168xbf16>, %w: !w, %ws: !ws, %y: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = mx.matmul ins(%x, %w, %ws : tensor<16x7168xbf16>, !w, !ws) outs(%y : tensor<16x4096xbf16>) -> tensor<16x4096xbf16>
  return %0 : tensor<16x4096xbf16>
}
