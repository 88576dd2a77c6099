// RUN: %corpus %s

// A dynamic dimension of size 0 in a quantization, a matmul, a norm and a sum.
!x = tensor<?x64xbf16>
!e = tensor<?x64xf8E4M3FN>
!s = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<24x64xf8E4M3FN>
!ws = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x24xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %start: tensor<24xf32>) -> (!y, tensor<24xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  %p = linalg.softmax dimension(1) ins(%y : !y) outs(%y0 : !y) -> !y
  %sum = linalg.reduce { arith.addf } ins(%p : !y) outs(%start : tensor<24xf32>) dimensions = [0]
  return %p, %sum : !y, tensor<24xf32>
}
