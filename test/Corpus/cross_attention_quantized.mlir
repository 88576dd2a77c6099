// RUN: %corpus %s

// Cross attention with dynamic rows: block-scaled projections and bf16 matmuls in one function.
!x = tensor<?x64xbf16>
!e = tensor<?x64xf8E4M3FN>
!s = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<16x64xf8E4M3FN>
!ws = tensor<16x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!h = tensor<?x16xbf16>
!p = tensor<?x?xf32>
!y = tensor<?x16xf32>
func.func @main(%x: !x, %wq: !w, %sq: !ws, %wk: !w, %sk: !ws, %wv: !w, %sv: !ws) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %e:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %h0 = tensor.empty(%n) : !h
  %q = mx.matmul ins(%e#0, %e#1, %wq, %sq : !e, !s, !w, !ws) outs(%h0 : !h) -> !h
  %k = mx.matmul ins(%e#0, %e#1, %wk, %sk : !e, !s, !w, !ws) outs(%h0 : !h) -> !h
  %v = mx.matmul ins(%e#0, %e#1, %wv, %sv : !e, !s, !w, !ws) outs(%h0 : !h) -> !h
  %p0 = tensor.empty(%n, %n) : !p
  %p1 = linalg.fill ins(%zero : f32) outs(%p0 : !p) -> !p
  %scores = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%q, %k : !h, !h) outs(%p1 : !p) -> !p
  %p = linalg.softmax dimension(1) ins(%scores : !p) outs(%p0 : !p) -> !p
  %vf = arith.extf %v : !h to !y
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul ins(%p, %vf : !p, !y) outs(%y1 : !y) -> !y
  return %y : !y
}
