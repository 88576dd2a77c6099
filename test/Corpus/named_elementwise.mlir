// RUN: %corpus %s

// Named elementwise operations: linalg.map, linalg.exp, linalg.square, linalg.div, linalg.select, linalg.elementwise.
!t = tensor<?x6xf32>
func.func @main(%x: !t, %y: !t, %m: tensor<?x6xi1>) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !t
  %z0 = tensor.empty(%n) : !t
  %e = linalg.exp ins(%x : !t) outs(%z0 : !t) -> !t
  %s = linalg.square ins(%y : !t) outs(%z0 : !t) -> !t
  %d = linalg.div ins(%e, %s : !t, !t) outs(%z0 : !t) -> !t
  %p = linalg.select ins(%m, %d, %x : tensor<?x6xi1>, !t, !t) outs(%z0 : !t) -> !t
  %f = linalg.map { arith.maximumf } ins(%p, %y : !t, !t) outs(%z0 : !t)
  %g = linalg.elementwise kind = #linalg.elementwise_kind<abs> ins(%x : !t) outs(%z0 : !t) -> !t
  return %f, %g : !t, !t
}
