// RUN: %corpus %s

// i1 arguments and results: a token mask is combined with a comparison and used in a select.
!t = tensor<?x12xf32>
!m = tensor<?x12xi1>
func.func @main(%x: !t, %mask: !m, %other: !t) -> (!m, !t) {
  %above = arith.cmpf ogt, %x, %other : !t
  %both = arith.andi %above, %mask : !m
  %y = arith.select %both, %x, %other : !m, !t
  return %both, %y : !m, !t
}
