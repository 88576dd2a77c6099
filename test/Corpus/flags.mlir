// RUN: %corpus %s

// Flags (i1) in a kernel's body, in scf.if and among the results.
!t = tensor<?xf32>
#id = affine_map<(i) -> (i)>
func.func @main(%keep: i1, %twice: i1, %x: !t, %n: f32) -> (!t, !t, i1, i1, i32) {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %size = tensor.dim %x, %c0 : !t
  %y0 = tensor.empty(%size) : !t
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : !t) outs(%y0 : !t) {
  ^bb0(%v: f32, %o: f32):
    %m = arith.negf %v : f32
    %r = arith.select %keep, %v, %m : f32
    linalg.yield %r : f32
  } -> !t
  %z = scf.if %twice -> !t {
    %s = arith.addf %x, %x : !t
    scf.yield %s : !t
  } else {
    scf.yield %x : !t
  }
  %above = arith.cmpf ogt, %n, %half : f32
  %other = arith.xori %keep, %twice : i1
  %sign = arith.extsi %keep : i1 to i32
  return %y, %z, %above, %other, %sign : !t, !t, i1, i1, i32
}
