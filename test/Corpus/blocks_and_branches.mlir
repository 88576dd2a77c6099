// RUN: %corpus %s

// Control flow in basic blocks, as language front ends emit it: cf.cond_br selects one of two matmuls.
!t = tensor<5x5xf32>
func.func @main(%n: i32, %x: !t, %y: !t) -> !t {
  %c3 = arith.constant 3 : i32
  %zero = arith.constant 0.0 : f32
  %p0 = tensor.empty() : !t
  %p1 = linalg.fill ins(%zero : f32) outs(%p0 : !t) -> !t
  %more = arith.cmpi sgt, %n, %c3 : i32
  cf.cond_br %more, ^yes, ^no(%x : !t)
^yes:
  %p = linalg.matmul ins(%x, %y : !t, !t) outs(%p1 : !t) -> !t
  cf.br ^no(%p : !t)
^no(%z: !t):
  %r = arith.addf %z, %y : !t
  return %r : !t
}
