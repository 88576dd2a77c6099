// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// TEMPLATE function
// SET arguments = %x: tensor<128x64xbf16>, %e: tensor<128x64xf8E4M3FN>, %s: tensor<1x1x32x4x4xf8E8M0FNU>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// expected-error @below {{'mx.fused_quantize' op expected memrefs, found 'tensor<128x64xbf16>': bufferize first}}
%0:2 = mx.fused_quantize ins(%x : tensor<128x64xbf16>) outs(%e, %s : tensor<128x64xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>

// The host cannot access device memory.
// SET arguments = %x: memref<128x64xbf16>, %a: !a, %s: !s, %zero: bf16, %i: index
// expected-error @below {{'memref.store' op expected only mx operations on tensors in device memory, found an operation that the host would run}}
memref.store %zero, %x[%i, %i] : memref<128x64xbf16>
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)

// SET arguments = %x: memref<128x64xbf16>, %a: !a, %s: !s, %i: index, %zero: bf16
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
// expected-error @below {{'memref.store' op expected only mx operations on tensors in device memory, found an operation that the host would run}}
memref.store %zero, %x[%i, %i] : memref<128x64xbf16>

// -----

// The device cannot access host memory. Constants are copied, but mutable memory is not.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
memref.global "private" @variable : memref<128x64xbf16> = dense<1.0>
func.func @main(%a: !a, %s: !s) {
  // expected-error @below {{'memref.get_global' op expected tensors in device memory, found a tensor in host memory}}
  %x = memref.get_global @variable : memref<128x64xbf16>
  mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
  return
}

// -----

// USE function body
// SET arguments = %a: !a, %s: !s
// expected-error @below {{'memref.alloca' op expected tensors in device memory, found a tensor in host memory}}
%x = memref.alloca() : memref<128x64xbf16>
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)

// -----

// CASES
// Kernels must be launched from host functions.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
%x = memref.alloc() : memref<128x64xbf16>
%a = memref.alloc() : !a
%s = memref.alloc() : !s
// expected-error @below {{'mx.fused_quantize' op expected to be inside a host function}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
gpu.module @kernels {
  gpu.func @kernel(%x: memref<128x64xbf16>, %a: !a, %s: !s) kernel {
    // expected-error @below {{'mx.fused_quantize' op expected to be inside a host function}}
    mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
    gpu.return
  }
}
