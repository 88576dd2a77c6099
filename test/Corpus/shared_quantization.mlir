// RUN: %corpus %s

// A quantized tensor shared by three matmuls of different widths, for queries, keys and values.
!x = tensor<?x160xbf16>
!e = tensor<?x160xf8E4M3FN>
!s = tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!wq = tensor<96x160xf8E4M3FN>
!sq = tensor<96x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!wk = tensor<40x160xf8E4M3FN>
!sk = tensor<40x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !x, %wq: !wq, %sq: !sq, %wk: !wk, %sk: !sk, %wv: !wk, %sv: !sk)
    -> (tensor<?x96xbf16>, tensor<?x40xbf16>, tensor<?x40xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %p:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %q0 = tensor.empty(%n) : tensor<?x96xbf16>
  %k0 = tensor.empty(%n) : tensor<?x40xbf16>
  %q = mx.matmul ins(%p#0, %p#1, %wq, %sq : !e, !s, !wq, !sq) outs(%q0 : tensor<?x96xbf16>) -> tensor<?x96xbf16>
  %k = mx.matmul ins(%p#0, %p#1, %wk, %sk : !e, !s, !wk, !sk) outs(%k0 : tensor<?x40xbf16>) -> tensor<?x40xbf16>
  %v = mx.matmul ins(%p#0, %p#1, %wv, %sv : !e, !s, !wk, !sk) outs(%k0 : tensor<?x40xbf16>) -> tensor<?x40xbf16>
  return %q, %k, %v : tensor<?x96xbf16>, tensor<?x40xbf16>, tensor<?x40xbf16>
}
