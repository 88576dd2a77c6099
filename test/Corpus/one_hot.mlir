// RUN: %corpus %s

// One-hot encoding of labels in bf16, computed with linalg.index. The row of an invalid label is zero.
func.func @main(%labels: tensor<2x?xi32>) -> tensor<2x?x7xbf16> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %labels, %c1 : tensor<2x?xi32>
  %y0 = tensor.empty(%n) : tensor<2x?x7xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, c) -> (b, i)>, affine_map<(b, i, c) -> (b, i, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%labels : tensor<2x?xi32>) outs(%y0 : tensor<2x?x7xbf16>) {
  ^bb0(%label: i32, %o: bf16):
    %c = linalg.index 2 : index
    %ci = arith.index_cast %c : index to i32
    %same = arith.cmpi eq, %label, %ci : i32
    %r = arith.uitofp %same : i1 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x?x7xbf16>
  return %y : tensor<2x?x7xbf16>
}
