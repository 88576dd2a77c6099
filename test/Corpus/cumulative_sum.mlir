// RUN: %corpus %s

// Cumulative sums: a loop over columns carries the row sums and writes them with insert_slice.
!x = tensor<?x9xf32>
func.func @main(%x: !x) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %s0 = tensor.empty(%n) : tensor<?x1xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %y0 = tensor.empty(%n) : !x
  %r:2 = scf.for %j = %c0 to %c9 step %c1 iter_args(%y = %y0, %s = %s1) -> (!x, tensor<?x1xf32>) {
    %c = tensor.extract_slice %x[0, %j] [%n, 1] [1, 1] : !x to tensor<?x1xf32>
    %t = arith.addf %s, %c : tensor<?x1xf32>
    %next = tensor.insert_slice %t into %y[0, %j] [%n, 1] [1, 1] : tensor<?x1xf32> into !x
    scf.yield %next, %t : !x, tensor<?x1xf32>
  }
  return %r#0 : !x
}
