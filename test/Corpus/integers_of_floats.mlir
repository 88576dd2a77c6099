// RUN: %corpus %s

// Converts floats to integers and back: rounds to nearest, fptosi, clamps to i8, and dequantizes.
!f = tensor<?x7xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !f, %scale: f32) -> (tensor<?x7xi8>, !f) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !f
  %q0 = tensor.empty(%n) : tensor<?x7xi8>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : !f) outs(%q0 : tensor<?x7xi8>) {
  ^bb0(%v: f32, %o: i8):
    %low = arith.constant -127.0 : f32
    %high = arith.constant 127.0 : f32
    %s = arith.divf %v, %scale : f32
    %r = math.roundeven %s : f32
    %a = arith.maximumf %r, %low : f32
    %b = arith.minimumf %a, %high : f32
    %i = arith.fptosi %b : f32 to i8
    linalg.yield %i : i8
  } -> tensor<?x7xi8>
  %y0 = tensor.empty(%n) : !f
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<?x7xi8>) outs(%y0 : !f) {
  ^bb0(%v: i8, %o: f32):
    %f = arith.sitofp %v : i8 to f32
    %r = arith.mulf %f, %scale : f32
    linalg.yield %r : f32
  } -> !f
  return %q, %y : tensor<?x7xi8>, !f
}
