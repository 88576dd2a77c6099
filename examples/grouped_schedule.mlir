// Matmuls of four expert groups with explicit schedules, on operands that are quantized
// already: groups of rows, groups along the reduction, and a matmul with two halves
// that are multiplied and quantized again.

!ends = tensor<4xi32>
!a = tensor<?x?xf8E4M3FN>
!as = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!b = tensor<4x?x?xf8E4M3FN>
!bs = tensor<4x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ka = tensor<?x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!ks = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!y = tensor<?x?xbf16>
!out = tensor<4x?x?xf32>

func.func @rows(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: !ends) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %a, %c0 : !a
  %n = tensor.dim %b, %c1 : !b
  %init = tensor.empty(%t, %n) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%ends : !ends) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>} -> !y
  return %y : !y
}

func.func @reduction(%a: !ka, %as: !ks, %b: !ka, %bs: !ks, %ends: !ends) -> !out {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : !ka
  %n = tensor.dim %b, %c0 : !ka
  %init = tensor.empty(%m, %n) : !out
  %y = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !ka, !ks, !ka, !ks)
      offsets(%ends : !ends) outs(%init : !out)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>} -> !out
  return %y : !out
}

func.func @parts(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: !ends) -> (!a, !as) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %t = tensor.dim %a, %c0 : !a
  %rows = tensor.dim %b, %c1 : !b
  %n = arith.divui %rows, %c2 : index
  %blocks = arith.divui %n, %c32 : index
  %e = tensor.empty(%t, %n) : !a
  %s = tensor.empty(%t, %blocks) : !as
  %y:2 = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%ends : !ends) outs(%e, %s : !a, !as) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128]>}
      -> !a, !as epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
    %h = arith.mulf %gate, %up : f32
    mx.yield %h : f32
  }
  return %y#0, %y#1 : !a, !as
}
