// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-to-nvvm="chip=sm_120a"

// If no schedule is legal or the chip does not support the operands, the message
// names the reason. A given schedule is also checked with packed weights.

!x = tensor<256x256xbf16>
!w = tensor<256x256xf4E2M1FN, #mxgpu.fragment_64x64>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>
func.func @packed(%x: !x, %w: !w, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected a tile of 64, 128 or 256 columns with packed weights, found 32}}
  %r = mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 32, 64]>} -> !y
  return %r : !y
}

// -----

!x = tensor<?x256xbf16>
!w = tensor<2x512x256xf4E2M1FN>
!s = tensor<2x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x128xf32>
func.func @many(%x: !x, %w: !w, %s: !s, %o: tensor<2xi32>, %y: !y) -> !y {
  // expected-error @below {{expected a tile with a multiple of 128 columns for each of 4 B matrices}}
  %r = mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : tensor<2xi32>)
      outs(%y : !y) num_b = 4 -> !y epilogue {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %row: index, %column: index):
    %v = arith.addf %a, %d : f32
    mx.yield %v : f32
  }
  return %r : !y
}

// -----

!x = tensor<256x256xf16>
!w = tensor<256x256xf8E4M3FN>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>
func.func @half(%x: !x, %w: !w, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected operand 'a' to be bf16 on the GPU, found 'f16'}}
  %r = mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y) -> !y
  return %r : !y
}

// -----

!x = tensor<256x256xf8E4M3FN>
!w = tensor<256x256xbf16>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>
func.func @elements(%x: !x, %s: !s, %w: !w, %y: !y) -> !y {
  // expected-error @below {{expected operands that the tensor core multiplies, found 'memref<256x256xf8E4M3FN>' and 'memref<256x256xbf16>': quantize 'b', or convert 'a' to bf16 with mx.dequantize}}
  %r = mx.matmul ins(%x, %s, %w : !x, !s, !w) outs(%y : !y) -> !y
  return %r : !y
}

// -----

!x = tensor<256x256xbf16>
!y = tensor<256x256xf32>
func.func @numbers(%x: !x, %y: !y) -> !y {
  // expected-error @below {{expected operands that the tensor core multiplies, found 'memref<256x256xbf16>' and 'memref<256x256xbf16>': quantize 'b' with mx.quantize or --mx-quantize-matmuls}}
  %r = mx.matmul ins(%x, %x : !x, !x) outs(%y : !y) -> !y
  return %r : !y
}
