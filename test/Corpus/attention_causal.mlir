// RUN: %corpus %s

// Attention over a batch of heads with a causal mask: two bf16 batch_matmuls, and softmax in f32.
!q = tensor<3x13x16xbf16>
!s = tensor<3x13x13xf32>
!p = tensor<3x13x13xbf16>
!o = tensor<3x13x16xf32>
#id = affine_map<(b, i, j) -> (b, i, j)>
func.func @main(%q: !q, %k: !q, %v: !q) -> !o {
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : !s
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : !s) -> !s
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
      affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : !q, !q) outs(%s1 : !s) -> !s
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : !s) outs(%s0 : !s) {
  ^bb0(%e: f32, %old: f32):
    %low = arith.constant 0xFF800000 : f32
    %quarter = arith.constant 0.25 : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %seen = arith.cmpi ule, %j, %i : index
    %scaled = arith.mulf %e, %quarter : f32
    %r = arith.select %seen, %scaled, %low : f32
    linalg.yield %r : f32
  } -> !s
  %p = linalg.softmax dimension(2) ins(%m : !s) outs(%s0 : !s) -> !s
  %pb = arith.truncf %p : !s to !p
  %o0 = tensor.empty() : !o
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : !o) -> !o
  %o = linalg.batch_matmul ins(%pb, %v : !p, !q) outs(%o1 : !o) -> !o
  return %o : !o
}
