// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a" | FileCheck %s

// Matmuls in f16 look at scales first, and those whose scales do not fit are computed by
// a second kernel: for scales that were given, not for those of a quantizer of the same
// function, which are other ones in each call.

!dy = tensor<32768x512xbf16>
!e = tensor<512x34816xf8E4M3FN, #mx.ragged<groups = 16, align = 128>>
!s = tensor<512x1088xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 16>>
!dw = tensor<16x512x512xf32>

// CHECK-LABEL: func @given
// CHECK:       mx.grouped_matmul {{.*}}f16_scale_range = true
func.func @given(%a: !e, %as: !s, %b: !e, %bs: !s, %ends: tensor<16xi32>, %init: !dw) -> !dw {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !e, !s, !e, !s) offsets(%ends : tensor<16xi32>)
      outs(%init : !dw) -> !dw
  return %0 : !dw
}

// CHECK-LABEL: func @quantized
// CHECK-NOT:   f16_scale_range = true
func.func @quantized(%dy: !dy, %a: !e, %as: !s, %ends: tensor<16xi32>, %init: !dw) -> !dw {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.quantize ragged = rows ins(%dy : !dy) offsets(%ends : tensor<16xi32>) outs(%e, %s : !e, !s) axes = [0]
      -> !e, !s
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %q#0, %q#1 : !e, !s, !e, !s) offsets(%ends : tensor<16xi32>)
      outs(%init : !dw) -> !dw
  return %0 : !dw
}
