// RUN: mx-opt --mx-to-mxgpu="chip=sm_90a" %s | FileCheck %s
// RUN: mx-opt --mx-to-mxgpu="chip=sm_100a" %s | FileCheck %s

// Gate and up are slices of one matmul result, and are quantized without copies.

!wide = tensor<?x512xbf16>
!half = tensor<?x256xbf16>
!e = tensor<?x256xf8E4M3FN>
!s = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!et = tensor<256x?xf8E4M3FN>
!st = tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// CHECK-LABEL: func.func @copies(
// CHECK-NOT:     memref.copy
// CHECK:         %[[GATE:.*]] = memref.subview %arg0[0, 0] [%{{.*}}, 256] [1, 1]
// CHECK:         %[[UP:.*]] = memref.subview %arg0[0, 256] [%{{.*}}, 256] [1, 1]
// CHECK:         mxgpu.require %{{.*}}, "expected the address of an input to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         mxgpu.encode_tensor_map %[[UP]] l2_promotion = b64 : memref<?x256xbf16, strided<[512, 1], offset: 256>> ->
// CHECK-NOT:     memref.copy
// CHECK:         mxgpu.launch @kernels::@copies_quantize_0 grid(%{{.*}}) args(%[[GATE]], %[[UP]], %[[GATE]], {{.*}} : memref<?x256xbf16, strided<[512, 1]>>, memref<?x256xbf16, strided<[512, 1], offset: 256>>, memref<?x256xbf16, strided<[512, 1]>>,
// CHECK-NOT:     memref.copy
// CHECK:         gpu.module
func.func @copies(%gu: !wide) -> (!e, !s, !et, !st, !e, !s) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %p = tensor.dim %gu, %c0 : !wide
  %blocks = arith.divui %p, %c32 : index
  %gate = tensor.extract_slice %gu[0, 0] [%p, 256] [1, 1] : !wide to !half
  %up = tensor.extract_slice %gu[0, 256] [%p, 256] [1, 1] : !wide to !half
  %e = tensor.empty(%p) : !e
  %s = tensor.empty(%p) : !s
  %et = tensor.empty(%p) : !et
  %st = tensor.empty(%blocks) : !st
  %q:4 = mx.quantize ins(%up : !half) outs(%e, %s, %et, %st : !e, !s, !et, !st) axes = [1, 0] -> !e, !s, !et, !st
  %e2 = tensor.empty(%p) : !e
  %s2 = tensor.empty(%p) : !s
  %r:2 = mx.fused_quantize ins(%gate, %up : !half, !half) outs(%e2, %s2 : !e, !s) -> !e, !s
    prologue {
    ^bb0(%g: bf16, %u: bf16, %row: index, %col: index):
      %y = tensor.extract %gate[%row, %col] : !half
      %x = arith.mulf %g, %u : bf16
      %z = arith.addf %x, %y : bf16
      mx.yield %z : bf16
    }
  return %q#0, %q#1, %q#2, %q#3, %r#0, %r#1 : !e, !s, !et, !st, !e, !s
}
