// RUN: %corpus %s

// A cache grows by concatenation in a loop: the size of the carried tensor changes in each iteration.
!t = tensor<?x3xbf16>
func.func @main(%x: !t, %new: !t, %times: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %times step %c1 iter_args(%a = %x) -> (!t) {
    %k = tensor.concat dim(0) %a, %new : (!t, !t) -> !t
    scf.yield %k : !t
  }
  return %r : !t
}
