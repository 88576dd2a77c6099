// RUN: %corpus %s

// Two public functions with a shared private function. The second public function is the entry.
!t = tensor<?x4xf32>
func.func private @scale(%x: !t, %by: f32) -> !t {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !t
  %y0 = tensor.empty(%n) : !t
  %b = linalg.fill ins(%by : f32) outs(%y0 : !t) -> !t
  %y = arith.mulf %x, %b : !t
  return %y : !t
}
func.func @forward(%x: !t) -> !t {
  %two = arith.constant 2.0 : f32
  %y = call @scale(%x, %two) : (!t, f32) -> !t
  return %y : !t
}
func.func @backward(%dy: !t, %factor: f32) -> !t {
  %half = arith.constant 0.5 : f32
  %a = call @scale(%dy, %half) : (!t, f32) -> !t
  %b = call @scale(%a, %factor) : (!t, f32) -> !t
  return %b : !t
}
