// RUN: %corpus %s

// Rows scattered with an index tensor: a loop with insert_slice at offsets from the tensor.
!x = tensor<?x5xf32>
!y = tensor<9x5xf32>
func.func @main(%x: !x, %places: tensor<?xi32>, %y: !y) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : !x
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %y) -> (!y) {
    %place = tensor.extract %places[%i] : tensor<?xi32>
    %p = arith.index_cast %place : i32 to index
    %row = tensor.extract_slice %x[%i, 0] [1, 5] [1, 1] : !x to tensor<1x5xf32>
    %old = tensor.extract_slice %acc[%p, 0] [1, 5] [1, 1] : !y to tensor<1x5xf32>
    %sum = arith.addf %row, %old : tensor<1x5xf32>
    %next = tensor.insert_slice %sum into %acc[%p, 0] [1, 5] [1, 1] : tensor<1x5xf32> into !y
    scf.yield %next : !y
  }
  return %r : !y
}
