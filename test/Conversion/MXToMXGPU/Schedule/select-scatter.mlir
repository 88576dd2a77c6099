// RUN: mx-opt %s --mx-select-schedule=chip=sm_90a | mx-opt | FileCheck %s

// Rows that are added to result rows are stored directly, without the staging buffers that
// bulk stores need. The schedule survives a round trip.

!a = tensor<16384x2048xf8E4M3FN>
!as = tensor<16384x64xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 64>>
!b = tensor<64x2048x2048xf8E4M3FN>
!bs = tensor<64x2048x64xf8E8M0FNU>
// CHECK-LABEL: func.func @scattered
// CHECK:         schedule<tile = [{{.*}}epilogue = direct, registers
func.func @scattered(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: tensor<64xi32>, %rows: tensor<16384xi32>, %o: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%ends : tensor<64xi32>) scatter(%rows : tensor<16384xi32>) outs(%o : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %y : tensor<2048x2048xf32>
}
