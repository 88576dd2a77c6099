// A linear layer of a mixture of experts in MXFP8, with its gradients. Rows of X
// are sorted by expert; `ends` are the cumulative ends of the 8 groups, on the
// device. Forward: Y[t] = X[t] W[g]^T for the group g of row t. Backward:
// dX[t] = dY[t] W[g], and dW[g] = dY^T X over the rows of g.
//
// What a product multiplies is quantized along what it sums over. X is needed
// twice, along K here and along its rows for dW; one read makes both.

!ends = tensor<8xi32>
!x = tensor<?x256xbf16>
!y = tensor<?x384xbf16>
!dw = tensor<8x384x256xf32>

// Along columns, and transposed along the rows of each group.
!xe = tensor<?x256xf8E4M3FN>
!xs = tensor<?x8xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 8>>
!xte = tensor<256x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!xts = tensor<256x?xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = reduction, groups = 8>>
!ye = tensor<?x384xf8E4M3FN>
!ys = tensor<?x12xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 8>>
!yte = tensor<384x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!yts = tensor<384x?xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = reduction, groups = 8>>

// One expert's weights, and all experts'.
!w1 = tensor<384x256xbf16>
!w1e = tensor<384x256xf8E4M3FN>
!w1s = tensor<384x8xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!w1te = tensor<256x384xf8E4M3FN>
!w1ts = tensor<256x12xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!we = tensor<8x384x256xf8E4M3FN>
!ws = tensor<8x384x8xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!wte = tensor<8x256x384xf8E4M3FN>
!wts = tensor<8x256x12xf8E8M0FNU, #mx.scale_layout<tcgen05>>

// Along both axes: for Y and for dX.
func.func @quantize_weights(%w: !w1) -> (!w1e, !w1s, !w1te, !w1ts) {
  %e = tensor.empty() : !w1e
  %s = tensor.empty() : !w1s
  %te = tensor.empty() : !w1te
  %ts = tensor.empty() : !w1ts
  %q:4 = mx.quantize ins(%w : !w1) outs(%e, %s, %te, %ts : !w1e, !w1s, !w1te, !w1ts)
      axes = [1, 0] -> !w1e, !w1s, !w1te, !w1ts
  return %q#0, %q#1, %q#2, %q#3 : !w1e, !w1s, !w1te, !w1ts
}

func.func @forward(%x: !x, %w: !we, %w_scales: !ws, %ends: !ends) -> (!y, !xte, !xts) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %slack = arith.constant 1016 : index  // 127 * 8
  %t = tensor.dim %x, %c0 : !x
  %most = arith.addi %t, %slack : index
  %tiles = arith.ceildivui %most, %c128 : index
  %capacity = arith.muli %tiles, %c128 : index
  %blocks = arith.divui %capacity, %c32 : index

  %e = tensor.empty(%t) : !xe
  %s = tensor.empty(%t) : !xs
  %te = tensor.empty(%capacity) : !xte
  %ts = tensor.empty(%blocks) : !xts
  %q:4 = mx.quantize ragged = rows ins(%x : !x) offsets(%ends : !ends)
      outs(%e, %s, %te, %ts : !xe, !xs, !xte, !xts) axes = [1, 0] -> !xe, !xs, !xte, !xts

  %init = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %w, %w_scales : !xe, !xs, !we, !ws)
      offsets(%ends : !ends) outs(%init : !y) -> !y
  return %y, %q#2, %q#3 : !y, !xte, !xts
}

func.func @backward(%dy: !y, %xt: !xte, %xt_scales: !xts, %wt: !wte, %wt_scales: !wts,
                    %ends: !ends) -> (!x, !dw) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = tensor.dim %dy, %c0 : !y
  %capacity = tensor.dim %xt, %c1 : !xte
  %blocks = arith.divui %capacity, %c32 : index

  %e = tensor.empty(%t) : !ye
  %s = tensor.empty(%t) : !ys
  %te = tensor.empty(%capacity) : !yte
  %ts = tensor.empty(%blocks) : !yts
  %q:4 = mx.quantize ragged = rows ins(%dy : !y) offsets(%ends : !ends)
      outs(%e, %s, %te, %ts : !ye, !ys, !yte, !yts) axes = [1, 0] -> !ye, !ys, !yte, !yts

  %dx_init = tensor.empty(%t) : !x
  %dx = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %wt, %wt_scales : !ye, !ys, !wte, !wts)
      offsets(%ends : !ends) outs(%dx_init : !x) -> !x
  %dw_init = tensor.empty() : !dw
  %dw = mx.grouped_matmul ragged = reduction
      ins(%q#2, %q#3, %xt, %xt_scales : !yte, !yts, !xte, !xts)
      offsets(%ends : !ends) outs(%dw_init : !dw) -> !dw
  return %dx, %dw : !x, !dw
}
