// RUN: %corpus %s

// A loop over two kinds of layers: scf.if on the layer index adds a residual in every second layer.
!x = tensor<?x12xf32>
func.func @main(%x: !x, %w: tensor<4x12x12xf32>) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %x) -> (!x) {
    %wi = tensor.extract_slice %w[%i, 0, 0] [1, 12, 12] [1, 1, 1] : tensor<4x12x12xf32> to tensor<12x12xf32>
    %o0 = tensor.empty(%n) : !x
    %o1 = linalg.fill ins(%zero : f32) outs(%o0 : !x) -> !x
    %o = linalg.matmul ins(%h, %wi : !x, tensor<12x12xf32>) outs(%o1 : !x) -> !x
    %odd = arith.remui %i, %c2 : index
    %is = arith.cmpi eq, %odd, %c1 : index
    %next = scf.if %is -> !x {
      %s = arith.addf %o, %h : !x
      scf.yield %s : !x
    } else {
      scf.yield %o : !x
    }
    scf.yield %next : !x
  }
  return %y : !x
}
