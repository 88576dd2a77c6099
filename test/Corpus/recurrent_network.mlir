// RUN: %corpus %s

// A recurrent network: scf.for over time reads a slice of the input, carries a state, and stores each state.
!x = tensor<?x4x6xf32>
!h = tensor<4x5xf32>
!out = tensor<?x4x5xf32>
func.func @main(%x: !x, %wx: tensor<6x5xf32>, %wh: tensor<5x5xf32>, %h: !h) -> (!out, !h) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %out = tensor.empty(%n) : !out
  %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%all = %out, %state = %h) -> (!out, !h) {
    %xt = tensor.extract_slice %x[%t, 0, 0] [1, 4, 6] [1, 1, 1] : !x to tensor<4x6xf32>
    %p0 = tensor.empty() : !h
    %p1 = linalg.fill ins(%zero : f32) outs(%p0 : !h) -> !h
    %p = linalg.matmul ins(%xt, %wx : tensor<4x6xf32>, tensor<6x5xf32>) outs(%p1 : !h) -> !h
    %q = linalg.matmul ins(%state, %wh : !h, tensor<5x5xf32>) outs(%p : !h) -> !h
    %next = math.tanh %q : !h
    %more = tensor.insert_slice %next into %all[%t, 0, 0] [1, 4, 5] [1, 1, 1] : !h into !out
    scf.yield %more, %next : !out, !h
  }
  return %r#0, %r#1 : !out, !h
}
