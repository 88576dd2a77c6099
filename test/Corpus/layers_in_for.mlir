// RUN: %corpus %s

// scf.for over stacked pre-quantized layers carries an activation. An argument's dimension is the number of layers.
!x = tensor<23x64xbf16>
!e = tensor<23x64xf8E4M3FN>
!s = tensor<23x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ws = tensor<?x64x64xf8E4M3FN>
!ss = tensor<?x64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<64x64xf8E4M3FN>
!t = tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !x, %weights: !ws, %scales: !ss) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %layers = tensor.dim %weights, %c0 : !ws
  %y = scf.for %i = %c0 to %layers step %c1 iter_args(%h = %x) -> (!x) {
    %e0 = tensor.empty() : !e
    %s0 = tensor.empty() : !s
    %q:2 = mx.quantize ins(%h : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
    %w = tensor.extract_slice %weights[%i, 0, 0] [1, 64, 64] [1, 1, 1] : !ws to !w
    %t = tensor.extract_slice %scales[%i, 0, 0] [1, 64, 2] [1, 1, 1] : !ss to !t
    %o = tensor.empty() : !x
    %next = mx.matmul ins(%q#0, %q#1, %w, %t : !e, !s, !w, !t) outs(%o : !x) -> !x
    scf.yield %next : !x
  }
  return %y : !x
}
