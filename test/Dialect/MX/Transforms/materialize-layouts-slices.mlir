// RUN: mx-opt %s --mx-materialize-layouts | FileCheck %s

// A slice of whole matrices is supported, because the physical tensor has the
// same batch dimensions.

// CHECK-LABEL: func.func @one
// CHECK:         tensor.extract_slice %arg0[%arg1, 0, 0, 0, 0, 0] [1, 2, 1, 32, 4, 4] [1, 1, 1, 1, 1, 1] : tensor<4x2x1x32x4x4xf8E8M0FNU> to tensor<2x1x32x4x4xf8E8M0FNU>
!batch = tensor<4x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!one = tensor<200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @one(%s: !batch, %i: index) -> !one {
  %0 = tensor.extract_slice %s[%i, 0, 0] [1, 200, 4] [1, 1, 1] : !batch to !one
  return %0 : !one
}

// CHECK-LABEL: func.func @some
// CHECK:         %[[ROWS:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x?x1x32x4x4xf8E8M0FNU>
// CHECK:         tensor.extract_slice %arg0[%arg1, 0, 0, 0, 0, 0] [%arg2, %[[ROWS]], 1, 32, 4, 4] [2, 1, 1, 1, 1, 1]
!dynamic = tensor<?x?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @some(%s: !dynamic, %i: index, %n: index, %x: tensor<?x?x128xf8E4M3FN>, %e: tensor<?x?x128xbf16>) -> (!dynamic, tensor<?x?x128xbf16>) {
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %s, %c1 : !dynamic
  %0 = tensor.extract_slice %s[%i, 0, 0] [%n, %rows, 4] [2, 1, 1] : !dynamic to !dynamic
  %y = mx.dequantize ins(%x, %s : tensor<?x?x128xf8E4M3FN>, !dynamic) outs(%e : tensor<?x?x128xbf16>) -> tensor<?x?x128xbf16>
  return %0, %y : !dynamic, tensor<?x?x128xbf16>
}

// CHECK-LABEL: func.func @weights
// CHECK:         tensor.extract_slice %arg0[%arg1, 0, 0, 0, 0] [1, 1, 2, 128, 32] [1, 1, 1, 1, 1]
!packed = tensor<4x64x128xf8E4M3FN, #mxgpu.fragment_64x64>
!matrix = tensor<64x128xf8E4M3FN, #mxgpu.fragment_64x64>
func.func @weights(%w: !packed, %i: index) -> !matrix {
  %0 = tensor.extract_slice %w[%i, 0, 0] [1, 64, 128] [1, 1, 1] : !packed to !matrix
  return %0 : !matrix
}

// A vector without a layout may be sliced anywhere.
// CHECK-LABEL: func.func @list
// CHECK:         tensor.extract_slice %{{.*}}[2] [3] [1] : tensor<8xf32> to tensor<3xf32>
func.func @list(%x: tensor<8xf32>) -> tensor<3xf32> {
  %y = tensor.extract_slice %x[2] [3] [1] : tensor<8xf32> to tensor<3xf32>
  return %y : tensor<3xf32>
}

// Batch dimensions may be collapsed.
// CHECK-LABEL: func.func @collapse
// CHECK:         tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2], [3], [4], [5], [6]] : tensor<?x3x2x1x32x4x4xf8E8M0FNU> into tensor<?x2x1x32x4x4xf8E8M0FNU>
func.func @collapse(%s: tensor<?x3x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<?x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
  %0 = tensor.collapse_shape %s [[0, 1], [2], [3]] : tensor<?x3x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>> into tensor<?x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %0 : tensor<?x200x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}
