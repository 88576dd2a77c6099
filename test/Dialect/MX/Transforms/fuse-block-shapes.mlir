// RUN: mx-opt %s --mx-generalize-quantize --mx-fuse-prologues --mx-fuse-fake-quantize | FileCheck %s

// Scale type and number of columns do not identify a format.

!x = tensor<256x512xbf16>
!q = tensor<256x512xf8E4M3FN>
!t = tensor<512x256xf8E4M3FN>

// CHECK-LABEL: func.func @squares(
// CHECK:       mx.dequantize
// CHECK:       mx.fused_quantize
func.func @squares(%q: !q, %s: tensor<2x4xf32>, %t: tensor<256x4xf32>) -> (!q, tensor<256x4xf32>) {
  %e = tensor.empty() : !x
  %x = mx.dequantize ins(%q, %s : !q, tensor<2x4xf32>) outs(%e : !x) block_size = 128x128 -> !x
  %y:2 = mx.quantize ins(%x : !x) outs(%q, %t : !q, tensor<256x4xf32>) -> !q, tensor<256x4xf32>
  return %y#0, %y#1 : !q, tensor<256x4xf32>
}

// CHECK-LABEL: func.func @rows(
// CHECK-NOT:   mx.dequantize
// CHECK:       mx.fused_quantize {{.*}} input_scales
func.func @rows(%q: !q, %t: tensor<256x4xf32>) -> (!q, tensor<256x4xf32>) {
  %e = tensor.empty() : !x
  %x = mx.dequantize ins(%q, %t : !q, tensor<256x4xf32>) outs(%e : !x) block_size = 128 -> !x
  %y:2 = mx.quantize ins(%x : !x) outs(%q, %t : !q, tensor<256x4xf32>) -> !q, tensor<256x4xf32>
  return %y#0, %y#1 : !q, tensor<256x4xf32>
}

// CHECK-LABEL: func.func @fake(
// CHECK:       mx.fused_quantize
// CHECK:       mx.dequantize
func.func @fake(%x: !x, %q: !q, %s: tensor<2x4xf8E8M0FNU>) -> !x {
  %y:2 = mx.quantize ins(%x : !x) outs(%q, %s : !q, tensor<2x4xf8E8M0FNU>) block_size = 128x128
      -> !q, tensor<2x4xf8E8M0FNU>
  %z = mx.dequantize ins(%y#0, %y#1 : !q, tensor<2x4xf8E8M0FNU>) outs(%x : !x) block_size = 128x128 -> !x
  return %z : !x
}

// CHECK-LABEL: func.func @types(
// CHECK-COUNT-2: mx.fused_quantize
func.func @types(%x: !x, %q: !q, %t: !t, %f: tensor<256x4xf32>, %g: tensor<512x2xf8E8M0FNU>)
    -> (!q, tensor<256x4xf32>, !t, tensor<512x2xf8E8M0FNU>) {
  %y:2 = mx.fused_quantize ins(%x : !x) outs(%q, %f : !q, tensor<256x4xf32>) block_size = 128 scale_rounding = ceil
      -> !q, tensor<256x4xf32>
  %z:2 = mx.fused_quantize ins(%x : !x) outs(%t, %g : !t, tensor<512x2xf8E8M0FNU>) axes = [0] block_size = 128
      scale_rounding = ceil -> !t, tensor<512x2xf8E8M0FNU>
  return %y#0, %y#1, %z#0, %z#1 : !q, tensor<256x4xf32>, !t, tensor<512x2xf8E8M0FNU>
}
