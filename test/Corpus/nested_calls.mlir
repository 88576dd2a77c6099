// RUN: %corpus %s

// Nested calls of functions with several results. One result is used twice.
!t = tensor<4x?xf32>
func.func private @halves(%x: !t, %n: index) -> (!t, !t) {
  %a = tensor.extract_slice %x[0, 0] [4, %n] [1, 1] : !t to !t
  %b = tensor.extract_slice %x[0, %n] [4, %n] [1, 1] : !t to !t
  return %a, %b : !t, !t
}
func.func private @glu(%x: !t, %n: index) -> (!t, !t) {
  %h:2 = call @halves(%x, %n) : (!t, index) -> (!t, !t)
  %p = arith.mulf %h#0, %h#1 : !t
  return %p, %h#1 : !t, !t
}
func.func @main(%x: !t) -> (!t, !t) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %x, %c1 : !t
  %n = arith.divui %m, %c2 : index
  %g:2 = call @glu(%x, %n) : (!t, index) -> (!t, !t)
  %y = arith.subf %g#0, %g#1 : !t
  return %y, %g#1 : !t, !t
}
