// RUN: %corpus %s

// (A B)(C D): results of two matmuls are rounded to bf16, quantized (the second along columns), and multiplied.
!a = tensor<37x64xf8E4M3FN>
!as = tensor<37x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<96x64xf8E4M3FN>
!bs = tensor<96x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!c = tensor<96x64xf8E4M3FN>
!d = tensor<48x64xf8E4M3FN>
!ds = tensor<48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!p = tensor<37x96xbf16>
!r = tensor<96x48xbf16>
!pe = tensor<37x96xf8E4M3FN>
!ps = tensor<37x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!re = tensor<48x96xf8E4M3FN>
!rs = tensor<48x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<37x48xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !c, %cs: !bs, %d: !d, %ds: !ds) -> !y {
  %p0 = tensor.empty() : !p
  %p = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%p0 : !p) -> !p
  %r0 = tensor.empty() : !r
  %r = mx.matmul ins(%c, %cs, %d, %ds : !c, !bs, !d, !ds) outs(%r0 : !r) -> !r
  %pe0 = tensor.empty() : !pe
  %ps0 = tensor.empty() : !ps
  %pq:2 = mx.quantize ins(%p : !p) outs(%pe0, %ps0 : !pe, !ps) -> !pe, !ps
  %re0 = tensor.empty() : !re
  %rs0 = tensor.empty() : !rs
  %rq:2 = mx.quantize ins(%r : !r) outs(%re0, %rs0 : !re, !rs) axes = [0] -> !re, !rs
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%pq#0, %pq#1, %rq#0, %rq#1 : !pe, !ps, !re, !rs) outs(%y0 : !y) -> !y
  return %y : !y
}
