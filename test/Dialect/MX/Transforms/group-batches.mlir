// RUN: mx-opt %s --mx-group-batches | FileCheck %s

// Each matrix becomes an expert group with all its rows. Other operands and attributes are unchanged.
// CHECK-LABEL: func.func @batch
// CHECK:         %[[COUNTS:.*]] = arith.constant dense<96> : tensor<3xi32>
// CHECK:         mx.grouped_matmul ragged = rows masked ins(%arg0, %arg1, %arg2, %arg3 : {{.*}}) offsets(%[[COUNTS]] : tensor<3xi32>) outs(%arg4 : tensor<3x96x64xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128]{{.*}}>} -> tensor<3x96x64xf32> epilogue {
// CHECK-NEXT:    ^bb0(%[[SUM:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[TWICE:.*]] = arith.addf %[[SUM]], %[[SUM]] : f32
// CHECK-NEXT:      mx.yield %[[TWICE]] : f32
!s = tensor<3x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!t = tensor<3x64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @batch(%a: tensor<3x96x128xf8E4M3FN>, %as: !s, %b: tensor<3x64x128xf4E2M1FN>, %bs: !t, %c: tensor<3x96x64xf32>) -> tensor<3x96x64xf32> {
  %y = mx.matmul ins(%a, %as, %b, %bs : tensor<3x96x128xf8E4M3FN>, !s, tensor<3x64x128xf4E2M1FN>, !t) outs(%c : tensor<3x96x64xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 2>} -> tensor<3x96x64xf32> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %twice = arith.addf %sum, %sum : f32
    mx.yield %twice : f32
  }
  return %y : tensor<3x96x64xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[GROUPS:.*]] = tensor.dim %arg0, %c0
// CHECK:         tensor.empty(%[[GROUPS]]) : tensor<?xi32>
// CHECK:         %[[ROWS:.*]] = tensor.dim %arg0, %c1
// CHECK-NEXT:    %[[NUMBER:.*]] = arith.index_cast %[[ROWS]] : index to i32
// CHECK-NEXT:    linalg.fill ins(%[[NUMBER]] : i32)
// CHECK:         mx.grouped_matmul {{.*}} accumulate
func.func @dynamic(%a: tensor<?x?x128xbf16>, %b: tensor<?x64x128xbf16>, %c: tensor<?x?x64xf32>) -> tensor<?x?x64xf32> {
  %y = mx.matmul ins(%a, %b : tensor<?x?x128xbf16>, tensor<?x64x128xbf16>) outs(%c : tensor<?x?x64xf32>) accumulate -> tensor<?x?x64xf32>
  return %y : tensor<?x?x64xf32>
}

// The group sizes of many matrices are computed instead of stored as a constant.
// CHECK-LABEL: func.func @many
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<70000xi32>
// CHECK:         linalg.fill ins(%{{.*}} : i32) outs(%[[EMPTY]] : tensor<70000xi32>)
func.func @many(%a: tensor<70000x1x32xbf16>, %b: tensor<70000x8x32xbf16>, %c: tensor<70000x1x8xf32>) -> tensor<70000x1x8xf32> {
  %y = mx.matmul ins(%a, %b : tensor<70000x1x32xbf16>, tensor<70000x8x32xbf16>) outs(%c : tensor<70000x1x8xf32>) -> tensor<70000x1x8xf32>
  return %y : tensor<70000x1x8xf32>
}

// A single matrix is unchanged.
// CHECK-LABEL: func.func @matrix
// CHECK:         mx.matmul
// CHECK-NOT:     grouped
func.func @matrix(%a: tensor<32x128xbf16>, %c: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = mx.matmul ins(%a, %a : tensor<32x128xbf16>, tensor<32x128xbf16>) outs(%c : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// All batch dimensions are collapsed, and the result is expanded.
// CHECK-LABEL: func.func @several
// CHECK:         %[[A:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2], [3]] : tensor<?x2x96x128xf8E4M3FN> into tensor<?x96x128xf8E4M3FN>
// CHECK:         %[[AS:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2], [3]] : tensor<?x2x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>> into tensor<?x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[Y:.*]] = mx.grouped_matmul ragged = rows masked ins(%[[A]], %[[AS]],
// CHECK:         %[[N:.*]] = tensor.dim %arg4, %c0
// CHECK:         %[[BACK:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2], [3]] output_shape [%[[N]], 2, 96, 64] : tensor<?x96x64xf32> into tensor<?x2x96x64xf32>
// CHECK:         return %[[BACK]]
!s4 = tensor<?x2x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!t4 = tensor<?x2x64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @several(%a: tensor<?x2x96x128xf8E4M3FN>, %as: !s4, %b: tensor<?x2x64x128xf8E4M3FN>, %bs: !t4, %c: tensor<?x2x96x64xf32>) -> tensor<?x2x96x64xf32> {
  %y = mx.matmul ins(%a, %as, %b, %bs : tensor<?x2x96x128xf8E4M3FN>, !s4, tensor<?x2x64x128xf8E4M3FN>, !t4) outs(%c : tensor<?x2x96x64xf32>) -> tensor<?x2x96x64xf32>
  return %y : tensor<?x2x96x64xf32>
}

// An empty batch has no groups.
// CHECK-LABEL: func.func @none
// CHECK:         mx.grouped_matmul ragged = rows masked ins({{.*}}) offsets(%{{.*}} : tensor<0xi32>)
func.func @none(%a: tensor<0x4x32xbf16>, %b: tensor<0x8x32xbf16>, %c: tensor<0x4x8xf32>) -> tensor<0x4x8xf32> {
  %y = mx.matmul ins(%a, %b : tensor<0x4x32xbf16>, tensor<0x8x32xbf16>) outs(%c : tensor<0x4x8xf32>) -> tensor<0x4x8xf32>
  return %y : tensor<0x4x8xf32>
}
