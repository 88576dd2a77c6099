// RUN: %corpus %s

// Scores of 6 query heads with 2 shared key heads: a generic with h floordiv 3 in its index map.
!q = tensor<6x?x16xbf16>
!k = tensor<2x?x16xbf16>
!s = tensor<6x?x?xf32>
func.func @main(%q: !q, %k: !k) -> !s {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %q, %c1 : !q
  %n = tensor.dim %k, %c1 : !k
  %s0 = tensor.empty(%m, %n) : !s
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : !s) -> !s
  %s = linalg.generic {indexing_maps = [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h floordiv 3, n, k)>,
      affine_map<(h, m, n, k) -> (h, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !q, !k) outs(%s1 : !s) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %r = arith.addf %acc, %xy : f32
    linalg.yield %r : f32
  } -> !s
  return %s : !s
}
