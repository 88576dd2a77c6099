// RUN: %corpus %s

// A loop that swaps two tensors in each iteration, like ping-pong buffers: y, x = x + y, x.
!t = tensor<?xf32>
func.func @main(%x: !t, %y: !t, %times: index) -> (!t, !t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (!t, !t) {
    %s = arith.addf %a, %b : !t
    scf.yield %s, %a : !t, !t
  }
  return %r#0, %r#1, %x : !t, !t, !t
}
