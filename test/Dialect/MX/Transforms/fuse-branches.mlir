// RUN: mx-opt %s --mx-expand-math --mx-fuse-prologues | FileCheck %s

// The sine of a large angle is computed in a branch, and the operation is still
// fused as a prologue.

// CHECK-LABEL: func.func @sine(
// CHECK-NOT:     linalg.generic
// CHECK:         mx.fused_quantize
// CHECK:           scf.if
// CHECK:           mx.yield
#id = affine_map<(m, k) -> (m, k)>
func.func @sine(%x: tensor<128x64xbf16>) -> (tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>) {
  %e = tensor.empty() : tensor<128x64xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xbf16>) outs(%e : tensor<128x64xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    %s = math.sin %a : bf16
    linalg.yield %s : bf16
  } -> tensor<128x64xbf16>
  %q0 = tensor.empty() : tensor<128x64xf8E4M3FN>
  %s0 = tensor.empty() : tensor<128x2xf8E8M0FNU>
  %q:2 = mx.quantize ins(%y : tensor<128x64xbf16>)
      outs(%q0, %s0 : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>)
      -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %q#0, %q#1 : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
}
