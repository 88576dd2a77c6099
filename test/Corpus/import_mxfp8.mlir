// RUN: %corpus %s

// A bf16 x MXFP8 matmul to import, as a framework emits it: expanded scales, arith.scaling_extf and linalg.matmul.
!x = tensor<?x128xbf16>
!w = tensor<48x128xf8E4M3FN>
!s = tensor<48x4xf8E8M0FNU>
!b = tensor<48x4x32xf8E8M0FNU>
!ws = tensor<48x128xf8E8M0FNU>
!y = tensor<?x48xf32>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %b0 = tensor.empty() : !b
  %b = linalg.broadcast ins(%s : !s) outs(%b0 : !b) dimensions = [2]
  %ws = tensor.collapse_shape %b [[0], [1, 2]] : !b into !ws
  %d = arith.scaling_extf %w, %ws : !w, !ws to tensor<48x128xbf16>
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %d : !x, tensor<48x128xbf16>) outs(%y1 : !y) -> !y
  return %y : !y
}
