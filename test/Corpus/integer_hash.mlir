// RUN: %corpus %s

// Bit operations on tokens, as in hashed embeddings: shifts, xor, wrapping multiplication, signed division, remainder.
!t = tensor<?xi32>
#id = affine_map<(i) -> (i)>
func.func @main(%x: !t, %m: !t) -> (!t, !t, !t) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !t
  %y0 = tensor.empty(%n) : !t
  %r:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %m : !t, !t) outs(%y0, %y0, %y0 : !t, !t, !t) {
  ^bb0(%v: i32, %d: i32, %o0: i32, %o1: i32, %o2: i32):
    %k = arith.constant 0x45d9f3b : i32
    %s = arith.constant 16 : i32
    %a = arith.shrui %v, %s : i32
    %b = arith.xori %a, %v : i32
    %h = arith.muli %b, %k : i32
    %q = arith.divsi %v, %d : i32
    %r = arith.remsi %v, %d : i32
    linalg.yield %h, %q, %r : i32, i32, i32
  } -> (!t, !t, !t)
  return %r#0, %r#1, %r#2 : !t, !t, !t
}
