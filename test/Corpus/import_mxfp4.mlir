// RUN: %corpus %s

// A bf16 x MXFP4 matmul to import. A generic with index division expands scales to elements.
!x = tensor<?x128xbf16>
!w = tensor<40x128xf4E2M1FN>
!s = tensor<40x4xf8E8M0FNU>
!d = tensor<40x128xbf16>
!y = tensor<?x40xf32>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %d0 = tensor.empty() : !d
  %d = linalg.generic {indexing_maps = [affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n, k floordiv 32)>, affine_map<(n, k) -> (n, k)>],
      iterator_types = ["parallel", "parallel"]} ins(%w, %s : !w, !s) outs(%d0 : !d) {
  ^bb0(%e: f4E2M1FN, %t: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %e, %t : f4E2M1FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> !d
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %d : !x, !d) outs(%y1 : !y) -> !y
  return %y : !y
}
