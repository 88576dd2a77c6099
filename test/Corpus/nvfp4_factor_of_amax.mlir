// RUN: %corpus %s

// NVFP4 with a global factor from mx.amax: a kernel computes the number, and the host reads it.
!x = tensor<?x64xbf16>
!e = tensor<?x64xf4E2M1FN>
!s = tensor<?x4xf8E4M3FN>
func.func @main(%x: !x) -> (!e, !s, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %a0 = tensor.empty() : tensor<f32>
  %a = mx.amax ins(%x : !x) outs(%a0 : tensor<f32>) -> tensor<f32>
  %amax = tensor.extract %a[] : tensor<f32>
  %c = arith.constant 2688.0 : f32
  %g = arith.divf %c, %amax : f32
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%x : !x) global_scale(%g) outs(%e0, %s0 : !e, !s) -> !e, !s
  return %q#0, %q#1, %a : !e, !s, tensor<f32>
}
