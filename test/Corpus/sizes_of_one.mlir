// RUN: %corpus %s

// All sizes that can be 1 are 1: one row, one column and one head.
!q = tensor<1x1x16xbf16>
!s = tensor<1x1x?xf32>
func.func @main(%q: !q, %k: tensor<1x?x16xbf16>, %v: tensor<1x?x1xf32>) -> (!s, tensor<1x1x1xf32>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %k, %c1 : tensor<1x?x16xbf16>
  %s0 = tensor.empty(%n) : !s
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : !s) -> !s
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
      affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : !q, tensor<1x?x16xbf16>) outs(%s1 : !s) -> !s
  %p = linalg.softmax dimension(2) ins(%s : !s) outs(%s0 : !s) -> !s
  %o0 = tensor.empty() : tensor<1x1x1xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %o = linalg.batch_matmul ins(%p, %v : !s, tensor<1x?x1xf32>) outs(%o1 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return %p, %o : !s, tensor<1x1x1xf32>
}
