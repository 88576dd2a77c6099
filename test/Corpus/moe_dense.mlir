// RUN: %corpus %s

// A mixture of two experts in upstream operations: router, softmax, both experts for all tokens, and a weighted sum.
!x = tensor<?x12xf32>
!r = tensor<?x2xf32>
!h = tensor<2x?x7xf32>
func.func @main(%x: !x, %router: tensor<12x2xf32>, %w: tensor<2x12x7xf32>) -> tensor<?x7xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %r0 = tensor.empty(%n) : !r
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : !r) -> !r
  %r = linalg.matmul ins(%x, %router : !x, tensor<12x2xf32>) outs(%r1 : !r) -> !r
  %p = linalg.softmax dimension(1) ins(%r : !r) outs(%r0 : !r) -> !r
  %h0 = tensor.empty(%n) : !h
  %h1 = linalg.fill ins(%zero : f32) outs(%h0 : !h) -> !h
  %h = linalg.generic {indexing_maps = [affine_map<(e, m, n, k) -> (m, k)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : !x, tensor<2x12x7xf32>) outs(%h1 : !h) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %ab = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> !h
  %y0 = tensor.empty(%n) : tensor<?x7xf32>
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : tensor<?x7xf32>) -> tensor<?x7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, e) -> (e, m, n)>, affine_map<(m, n, e) -> (m, e)>, affine_map<(m, n, e) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %p : !h, !r) outs(%y1 : tensor<?x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %ab = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<?x7xf32>
  return %y : tensor<?x7xf32>
}
