// The matmul of matmul.mlir with a simple schedule at the operation. The compiler fills
// in the missing field, the number of stages: as many as fit.

!matrix = tensor<?x?xbf16>
!elements = tensor<?x?xf8E4M3FN>
!scales = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @main(%x: !matrix, %w: !matrix) -> !matrix {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tensor.dim %x, %c0 : !matrix
  %n = tensor.dim %w, %c0 : !matrix
  %k = tensor.dim %x, %c1 : !matrix
  %blocks = arith.divui %k, %c32 : index

  %x_elements = tensor.empty(%m, %k) : !elements
  %x_scales = tensor.empty(%m, %blocks) : !scales
  %xq:2 = mx.quantize ins(%x : !matrix)
      outs(%x_elements, %x_scales : !elements, !scales) -> !elements, !scales

  %w_elements = tensor.empty(%n, %k) : !elements
  %w_scales = tensor.empty(%n, %blocks) : !scales
  %wq:2 = mx.quantize ins(%w : !matrix)
      outs(%w_elements, %w_scales : !elements, !scales) -> !elements, !scales

  %init = tensor.empty(%m, %n) : !matrix
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !elements, !scales, !elements, !scales)
      outs(%init : !matrix)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>} -> !matrix
  return %y : !matrix
}
