// One layer of a mixture of experts: row t of X goes to the expert whose range
// of rows holds t. `offsets` are the cumulative ends of the groups; W has one
// matrix per expert. For the reference path (--device=cpu).

!x = tensor<?x?xbf16>
!w = tensor<?x?x?xbf16>
!xe = tensor<?x?xf8E4M3FN>
!we = tensor<?x?x?xf8E4M3FN>
!xs = tensor<?x?xf8E8M0FNU>
!ws = tensor<?x?x?xf8E8M0FNU>

func.func @main(%x: !x, %w: !w, %offsets: tensor<?xi32>) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = tensor.dim %x, %c0 : !x
  %k = tensor.dim %x, %c1 : !x
  %g = tensor.dim %w, %c0 : !w
  %n = tensor.dim %w, %c1 : !w
  %blocks = arith.divui %k, %c32 : index

  %x_elements = tensor.empty(%t, %k) : !xe
  %x_scales = tensor.empty(%t, %blocks) : !xs
  %xq:2 = mx.quantize ins(%x : !x) outs(%x_elements, %x_scales : !xe, !xs) -> !xe, !xs

  %w_elements = tensor.empty(%g, %n, %k) : !we
  %w_scales = tensor.empty(%g, %n, %blocks) : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%w_elements, %w_scales : !we, !ws) -> !we, !ws

  %init = tensor.empty(%t, %n) : !x
  %y = mx.grouped_matmul ragged = rows
      ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws)
      offsets(%offsets : tensor<?xi32>)
      outs(%init : !x) -> !x
  return %y : !x
}
