// RUN: mx-opt %s --loop-invariant-code-motion | FileCheck %s

// The quantization of static weights is hoisted out of the loop.
// CHECK-LABEL: func @static
// CHECK:         mx.quantize
// CHECK:         scf.for
func.func @static(%w: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>,
                  %n: index, %use: tensor<64x64xf8E4M3FN>) -> tensor<64x64xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %use) -> tensor<64x64xf8E4M3FN> {
    %q, %s = mx.quantize ins(%w : tensor<64x64xbf16>)
        outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
        -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    scf.yield %q : tensor<64x64xf8E4M3FN>
  }
  return %r : tensor<64x64xf8E4M3FN>
}

// A quantization with dynamic sizes is not hoisted, because its size checks may fail.
// CHECK-LABEL: func @dynamic
// CHECK:         scf.for
// CHECK:           mx.quantize
func.func @dynamic(%w: tensor<?x64xbf16>, %e: tensor<?x64xf8E4M3FN>, %f: tensor<?x2xf8E8M0FNU>,
                   %n: index, %use: tensor<?x64xf8E4M3FN>) -> tensor<?x64xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %use) -> tensor<?x64xf8E4M3FN> {
    %q, %s = mx.quantize ins(%w : tensor<?x64xbf16>)
        outs(%e, %f : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
        -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
    scf.yield %q : tensor<?x64xf8E4M3FN>
  }
  return %r : tensor<?x64xf8E4M3FN>
}
