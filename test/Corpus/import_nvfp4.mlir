// RUN: %corpus %s

// A bf16 x NVFP4 matmul to import. Its body multiplies codes by f8E4M3FN scales of 16 elements.
!x = tensor<23x8x16xbf16>
!w = tensor<40x8x16xf4E2M1FN>
!s = tensor<40x8xf8E4M3FN>
!y = tensor<23x40xf32>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %zero = arith.constant 0.0 : f32
  %y0 = tensor.empty() : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, ko, kb) -> (m, ko, kb)>, affine_map<(m, n, ko, kb) -> (n, ko, kb)>,
      affine_map<(m, n, ko, kb) -> (n, ko)>, affine_map<(m, n, ko, kb) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w, %s : !x, !w, !s) outs(%y1 : !y) {
  ^bb0(%p: bf16, %e: f4E2M1FN, %t: f8E4M3FN, %acc: f32):
    %a = arith.extf %p : bf16 to f32
    %c = arith.extf %e : f4E2M1FN to f32
    %d = arith.extf %t : f8E4M3FN to f32
    %b = arith.mulf %c, %d : f32
    %ab = arith.mulf %a, %b : f32
    %r = arith.addf %acc, %ab : f32
    linalg.yield %r : f32
  } -> !y
  return %y : !y
}
