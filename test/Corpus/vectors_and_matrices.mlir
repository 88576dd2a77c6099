// RUN: %corpus %s

// Matmuls with vectors: linalg.matvec, linalg.vecmat and linalg.dot.
!v = tensor<?xf32>
func.func @main(%a: tensor<?x14xf32>, %x: tensor<14xf32>, %z: !v) -> (!v, tensor<14xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x14xf32>
  %p0 = tensor.empty(%n) : !v
  %p1 = linalg.fill ins(%zero : f32) outs(%p0 : !v) -> !v
  %p = linalg.matvec ins(%a, %x : tensor<?x14xf32>, tensor<14xf32>) outs(%p1 : !v) -> !v
  %q0 = tensor.empty() : tensor<14xf32>
  %q1 = linalg.fill ins(%zero : f32) outs(%q0 : tensor<14xf32>) -> tensor<14xf32>
  %q = linalg.vecmat ins(%z, %a : !v, tensor<?x14xf32>) outs(%q1 : tensor<14xf32>) -> tensor<14xf32>
  %d0 = tensor.empty() : tensor<f32>
  %d1 = linalg.fill ins(%zero : f32) outs(%d0 : tensor<f32>) -> tensor<f32>
  %d = linalg.dot ins(%p, %z : !v, !v) outs(%d1 : tensor<f32>) -> tensor<f32>
  return %p, %q, %d : !v, tensor<14xf32>, tensor<f32>
}
