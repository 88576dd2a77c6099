// RUN: %corpus %s

// Arithmetic directly on 8-bit floats, without scales.
!t = tensor<6x8xf8E4M3FN>
func.func @main(%x: !t, %y: !t) -> !t {
  %z = arith.addf %x, %y : !t
  return %z : !t
}
