// A loop that quantizes and multiplies a carried tensor.
//
// RUN: mx-opt %s --mx-to-cpu | FileCheck %s
// CHECK: llvm.func @loop

func.func @loop(%x: tensor<128x128xbf16>) -> tensor<128x128xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<128x128xf8E4M3FN>
  %f = tensor.empty() : tensor<128x4xf8E8M0FNU>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<128x128xbf16> {
    %q:2 = mx.quantize ins(%a : tensor<128x128xbf16>)
        outs(%e, %f : tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
        -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
    %o = tensor.empty() : tensor<128x128xbf16>
    %c = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>,
                       tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
        outs(%o : tensor<128x128xbf16>) -> tensor<128x128xbf16>
    scf.yield %c : tensor<128x128xbf16>
  }
  return %r : tensor<128x128xbf16>
}
