// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-select-schedule=chip=sm_90a --mx-dequantize-operands=chip=sm_90a --convert-mx-to-mxgpu=chip=sm_90a

// Rejects operands that cannot be dequantized before their matmul.

!a = tensor<256x256xbf16>
!b = tensor<256x256xf8E4M3FN>
!s = tensor<2x2x32x4x4xf8E8M0FNU>
!y = tensor<256x256xf32>
func.func @numbers(%a: !a, %b: !b, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected scales of a with workspace = a, found none: leave out the workspace}}
  %0 = mx.matmul ins(%a, %b, %s : !a, !b, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = a>} -> !y
  return %0 : !y
}

// -----

!a = tensor<256x256xbf16>
!b = tensor<256x256xf4E2M1FN, #mxgpu.fragment_64x64>
!s = tensor<2x2x32x4x4xf8E8M0FNU>
!y = tensor<256x256xf32>
func.func @packed(%a: !a, %b: !b, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected unpacked operand 'b' with workspace = b, found a packed operand}}
  %0 = mx.matmul ins(%a, %b, %s : !a, !b, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = b>} -> !y
  return %0 : !y
}

// -----

!a = tensor<256x256xf16>
!b = tensor<256x256xf8E4M3FN>
!s = tensor<2x2x32x4x4xf8E8M0FNU>
!y = tensor<256x256xf32>
func.func @half(%a: !a, %b: !b, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected workspace = b to produce operands that sm_90a can multiply, found 'a' of f16 and 'b' of bf16}}
  %0 = mx.matmul ins(%a, %b, %s : !a, !b, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = b>} -> !y
  return %0 : !y
}

// -----

!b = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @memrefs(%b: !b, %s: !s, %y: !y) {
  // expected-error @below {{expected tensors with workspace = a, found memrefs: run mx-dequantize-operands before bufferization}}
  mx.matmul ins(%b, %s, %b, %s : !b, !s, !b, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, workspace = a>}
  return
}

// -----

!a = tensor<128x384xf8E4M3FN>
!s = tensor<1x3x32x4x4xf8E8M0FNU>
!y = tensor<2x128x128xf32>
func.func @reduction(%a: !a, %s: !s, %o: tensor<2xi32>, %y: !y) -> !y {
  // expected-error @below {{expected workspace = ab with ragged = reduction, because both operands or neither must have scales, found workspace = a}}
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %s, %a, %s : !a, !s, !a, !s) offsets(%o : tensor<2xi32>)
      outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = a>} -> !y
  return %0 : !y
}

// -----

// Rejects a workspace for a matmul that adds products of the elements.
!a = tensor<128x128xf8E4M3FN>
!as = tensor<128x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<128x128xf32>
func.func @promoted(%a: !a, %as: !as, %y: !y) -> !y {
  // expected-error @below {{expected no workspace = ab with promote, except workspace = b with a static 'b' of f4E2M1FN, found 'b' of tensor<128x128xf8E4M3FN>: leave out the workspace}}
  %0 = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y : !y) block_size = 128 b_block_size = row promote = 128
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], workspace = ab>} -> !y
  return %0 : !y
}
