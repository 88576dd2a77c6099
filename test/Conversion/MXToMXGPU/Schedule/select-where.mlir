// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-select-schedule="chip=sm_90a explain" 2>&1 | FileCheck %s

// Wide elements need no workspace, and threads store them.

!a = tensor<8192x8192xf8E4M3FN>
!s = tensor<8192x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!r = tensor<256xi32>
!y = tensor<8192x8192xbf16>

// CHECK:       mx.matmul in @select: 8192 x 8192 x 8192, e4m3 x e4m3 in blocks of 32 (wgmma.mma_async) to bf16, only wide elements, sm_90a
// CHECK-NEXT:    schedule: #mxgpu.schedule<{{.*}}strategy = #mxgpu.wgmma_upcast_{{[ab]}}, {{.*}}epilogue = direct
// CHECK:         tma_store is not possible: wide elements are stored one by one
func.func @select(%a: !a, %s: !s, %r: !r, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) where wide(%r, %r : !r, !r) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

!a = tensor<256x256xf8E4M3FN>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!r = tensor<8xi32>
!y = tensor<256x256xbf16>
func.func @workspace(%a: !a, %s: !s, %r: !r, %y: !y) -> !y {
  // expected-error @below {{expected no workspace = ab with 'where', which may need no element: leave out the workspace}}
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) where wide(%r, %r : !r, !r) outs(%y : !y)
    {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, strategy = #mxgpu.wgmma_bf16, workspace = ab>} -> !y
  return %0 : !y
}
