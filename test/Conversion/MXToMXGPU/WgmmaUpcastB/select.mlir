// RUN: mx-opt %s -split-input-file --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// A small matmul splits its reduction, and one warpgroup dequantizes B.

!a = tensor<512x4096xf8E4M3FN>
!s = tensor<512x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<512x512xbf16>

// CHECK-LABEL: mx.matmul in @small: 512 x 512 x 4096, e4m3 x e4m3 in blocks of 32 (wgmma.mma_async) to bf16
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [128, 128, 64], stages = 10, strategy = #mxgpu.wgmma_upcast_b, split_k = 8, raster = linear, epilogue = direct, registers = [200, 72, 40]>
// CHECK:       | operands.b: 16384
// CHECK:       threads of a CTA: 416, with 200 registers in MMA warps, 72 in dequantizing warps, and 40 in other warps
func.func @small(%a: !a, %s: !s, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// For the weight gradient, it costs less to check whether the scales of a tile fit the f16 range
// than to dequantize both operands.

!a = tensor<4096x132096xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!as = tensor<4096x4128xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!b = tensor<1536x132096xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!bs = tensor<1536x4128xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!y = tensor<8x4096x1536xbf16>

// CHECK-LABEL: mx.grouped_matmul in @gradient: 4096 x 1536 x 132096, e4m3 x e4m3
// CHECK-NEXT:  schedule: {{.*}}f16_scale_range
// CHECK:       1536 work tiles in 12 waves
// CHECK:       before {{ *}}total
func.func @gradient(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<8xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<8xi32>)
      outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// f16_scale_range is selected for scales passed as arguments, not for scales computed in
// each call by a quantizer of the same function.

!dy = tensor<32768x512xbf16>
!e = tensor<512x34816xf8E4M3FN, #mx.ragged<groups = 16, align = 128>>
!s = tensor<512x1088xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 16>>
!dw = tensor<16x512x512xf32>

// CHECK-LABEL: mx.grouped_matmul in @given:
// CHECK-NEXT:  schedule: {{.*}}f16_scale_range = true
func.func @given(%a: !e, %as: !s, %b: !e, %bs: !s, %ends: tensor<16xi32>, %init: !dw) -> !dw {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !e, !s, !e, !s) offsets(%ends : tensor<16xi32>)
      outs(%init : !dw) -> !dw
  return %0 : !dw
}

// CHECK-LABEL: mx.grouped_matmul in @quantized:
// CHECK-NOT:   schedule: {{.*}}f16_scale_range = true
func.func @quantized(%dy: !dy, %a: !e, %as: !s, %ends: tensor<16xi32>, %init: !dw) -> !dw {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.fused_quantize ragged = rows ins(%dy : !dy) offsets(%ends : tensor<16xi32>) outs(%e, %s : !e, !s) axes = [0]
      -> !e, !s
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %q#0, %q#1 : !e, !s, !e, !s) offsets(%ends : tensor<16xi32>)
      outs(%init : !dw) -> !dw
  return %0 : !dw
}
