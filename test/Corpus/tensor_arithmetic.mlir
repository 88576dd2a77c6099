// RUN: %corpus %s

// arith and math on whole f32 tensors, as graph converters emit them: (a - b) * a / (|b| + 1).
!t = tensor<?x11xf32>
func.func @main(%a: !t, %b: !t, %one: !t) -> !t {
  %d = arith.subf %a, %b : !t
  %p = arith.mulf %d, %a : !t
  %m = math.absf %b : !t
  %s = arith.addf %m, %one : !t
  %y = arith.divf %p, %s : !t
  return %y : !t
}
