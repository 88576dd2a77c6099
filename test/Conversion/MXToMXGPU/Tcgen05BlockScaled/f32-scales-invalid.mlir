// RUN: mx-opt %s -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_100a"

!a = memref<512x512xf8E4M3FN>
!as = memref<4x128x4xf32>
func.func @promote(%a: !a, %as: !as, %bs: memref<4x4xf32>, %c: memref<512x512xbf16>) {
  // expected-error @below {{'mx.matmul' op expected no promote with f32 scales on sm_100a, found promote = 128: leave out promote, or compile for sm_90a}}
  mx.matmul ins(%a, %as, %a, %bs : !a, !as, !a, memref<4x4xf32>) outs(%c : memref<512x512xbf16>)
    block_size = 128 b_block_size = 128x128 promote = 128
  return
}
