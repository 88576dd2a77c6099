// Layer of a mixture of experts. Each expert owns a range of the rows of X, and these
// rows are multiplied by the expert's matrix in W. `offsets`, in device memory, holds
// the end of each range. Scales are stored in the tiles that tensor cores read. The
// scales of X start a new tile for each expert, so the tensor is large enough for any
// offsets. The scales of W start a new tile for each matrix.

!x = tensor<?x?xbf16>
!w = tensor<?x?x?xbf16>
!xe = tensor<?x?xf8E4M3FN>
!we = tensor<?x?x?xf8E4M3FN>
!xs = tensor<?x?x32x4x4xf8E8M0FNU>
!ws = tensor<?x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!offsets = tensor<?xi32>

func.func @main(%x: !x, %w: !w, %offsets: !offsets) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %t = tensor.dim %x, %c0 : !x
  %k = tensor.dim %x, %c1 : !x
  %g = tensor.dim %w, %c0 : !w
  %n = tensor.dim %w, %c1 : !w
  %blocks = arith.divui %k, %c32 : index
  %whole_tiles = arith.divui %t, %c128 : index
  %row_tiles = arith.addi %whole_tiles, %g : index
  %block_tiles = arith.ceildivui %k, %c128 : index

  %x_elements = tensor.empty(%t, %k) : !xe
  %x_scales = tensor.empty(%row_tiles, %block_tiles) : !xs
  %xq:2 = mx.quantize ragged = rows ins(%x : !x) offsets(%offsets : !offsets)
      outs(%x_elements, %x_scales : !xe, !xs) -> !xe, !xs

  %w_elements = tensor.empty(%g, %n, %k) : !we
  %w_scales = tensor.empty(%g, %n, %blocks) : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%w_elements, %w_scales : !we, !ws) -> !we, !ws

  %init = tensor.empty(%t, %n) : !x
  %y = mx.grouped_matmul ragged = rows
      ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws)
      offsets(%offsets : !offsets)
      outs(%init : !x) -> !x
  return %y : !x
}
