// RUN: %corpus %s

// Arithmetic on floats of 8 bits themselves, without scales.
!t = tensor<6x8xf8E4M3FN>
func.func @main(%x: !t, %y: !t) -> !t {
  %z = arith.addf %x, %y : !t
  return %z : !t
}
