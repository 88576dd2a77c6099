// RUN: %corpus %s

// Consecutive weight-only layers: bf16 x MXFP8, relu, bf16 x MXFP4, relu.
!x = tensor<?x64xbf16>
!h = tensor<?x128xbf16>
!w1 = tensor<128x64xf8E4M3FN>
!s1 = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2 = tensor<40x128xf4E2M1FN>
!s2 = tensor<40x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x40xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %w1: !w1, %s1: !s1, %w2: !w2, %s2: !s2) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %h0 = tensor.empty(%n) : !h
  %h = mx.matmul ins(%x, %w1, %s1 : !x, !w1, !s1) outs(%h0 : !h) -> !h
  %r0 = tensor.empty(%n) : !h
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : !h) outs(%r0 : !h) {
  ^bb0(%v: bf16, %o: bf16):
    %zero = arith.constant 0.0 : bf16
    %m = arith.maximumf %v, %zero : bf16
    linalg.yield %m : bf16
  } -> !h
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%r, %w2, %s2 : !h, !w2, !s2) outs(%y0 : !y) -> !y
  return %y : !y
}
