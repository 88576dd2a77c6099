// RUN: %corpus %s

// A gradient, read once and quantized along both axes, for the two matmuls of a backward pass.
!x = tensor<96x64xbf16>
!r = tensor<96x64xf8E5M2>
!rs = tensor<96x2xf8E8M0FNU>
!c = tensor<64x96xf8E5M2>
!cs = tensor<64x3xf8E8M0FNU>
func.func @main(%x: !x) -> (!r, !rs, !c, !cs) {
  %r0 = tensor.empty() : !r
  %rs0 = tensor.empty() : !rs
  %c0 = tensor.empty() : !c
  %cs0 = tensor.empty() : !cs
  %q:4 = mx.quantize ins(%x : !x) outs(%r0, %rs0, %c0, %cs0 : !r, !rs, !c, !cs) axes = [1, 0] -> !r, !rs, !c, !cs
  return %q#0, %q#1, %q#2, %q#3 : !r, !rs, !c, !cs
}
