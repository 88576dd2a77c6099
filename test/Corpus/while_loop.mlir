// RUN: %corpus %s

// scf.while with a counter squares a matrix as often as an argument specifies.
!t = tensor<6x6xf32>
func.func @main(%x: !t, %times: i32) -> (!t, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %y:2 = scf.while (%h = %x, %i = %c0) : (!t, i32) -> (!t, i32) {
    %more = arith.cmpi slt, %i, %times : i32
    scf.condition(%more) %h, %i : !t, i32
  } do {
  ^bb0(%h: !t, %i: i32):
    %p0 = tensor.empty() : !t
    %p1 = linalg.fill ins(%zero : f32) outs(%p0 : !t) -> !t
    %p = linalg.matmul ins(%h, %h : !t, !t) outs(%p1 : !t) -> !t
    %next = arith.addi %i, %c1 : i32
    scf.yield %p, %next : !t, i32
  }
  return %y#0, %y#1 : !t, i32
}
