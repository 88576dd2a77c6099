// RUN: %corpus %s

// Nearest-neighbor upsampling by two with a map containing a division. A slice and a map reverse every third column.
!x = tensor<2x?x6xbf16>
!y = tensor<2x?x12xbf16>
func.func @main(%x: !x) -> (!y, tensor<2x?x2xbf16>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c1 : !x
  %m = arith.muli %n, %c2 : index
  %y0 = tensor.empty(%m) : !y
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%y0 : !y) {
  ^bb0(%o: bf16):
    %two = arith.constant 2 : index
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %p = arith.divui %i, %two : index
    %q = arith.divui %j, %two : index
    %v = tensor.extract %x[%b, %p, %q] : !x
    linalg.yield %v : bf16
  } -> !y
  %s = tensor.extract_slice %x[0, 0, 1] [2, %n, 2] [1, 1, 3] : !x to tensor<2x?x2xbf16>
  %r0 = tensor.empty(%n) : tensor<2x?x2xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, -j + 1)>, affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x?x2xbf16>) outs(%r0 : tensor<2x?x2xbf16>) {
  ^bb0(%v: bf16, %o: bf16):
    linalg.yield %v : bf16
  } -> tensor<2x?x2xbf16>
  return %y, %r : !y, tensor<2x?x2xbf16>
}
