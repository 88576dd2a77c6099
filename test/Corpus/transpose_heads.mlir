// RUN: %corpus %s

// Moves heads before tokens with expand_shape and a rank-4 linalg.transpose, and moves them back.
!x = tensor<2x9x24xbf16>
!h = tensor<2x9x3x8xbf16>
!t = tensor<2x3x9x8xbf16>
func.func @main(%x: !x) -> (!t, !x) {
  %h = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 9, 3, 8] : !x into !h
  %t0 = tensor.empty() : !t
  %t = linalg.transpose ins(%h : !h) outs(%t0 : !t) permutation = [0, 2, 1, 3]
  %u0 = tensor.empty() : !h
  %u = linalg.transpose ins(%t : !t) outs(%u0 : !h) permutation = [0, 2, 1, 3]
  %y = tensor.collapse_shape %u [[0], [1], [2, 3]] : !h into !x
  %two = arith.constant dense<2.0> : !x
  %z = arith.mulf %y, %two : !x
  return %t, %z : !t, !x
}
