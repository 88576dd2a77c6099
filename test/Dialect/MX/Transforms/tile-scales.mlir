// RUN: mx-opt %s --mx-tile-scales | FileCheck %s

!e = tensor<?x128xf8E4M3FN>
!l = tensor<?x4xf8E8M0FNU>
!w = tensor<64x128xf8E4M3FN>
!wl = tensor<64x4xf8E8M0FNU>
!wt = tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// The quantizer writes tiles, and argument scales are converted by a relayout. No check is
// needed, because elements and scales both have %n rows and the verifier checks the other sizes.
// CHECK-LABEL: func.func @both
// CHECK-NOT:     mxgpu.require
// CHECK:         %[[TILES:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NEXT:    %[[Q:.*]]:2 = mx.fused_quantize ins(%arg0 : tensor<?x128xbf16>) outs(%{{.*}}, %[[TILES]] :
// CHECK:         %[[OTHER:.*]] = tensor.empty() : tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NEXT:    %[[B:.*]] = mx.relayout ins(%arg2 : tensor<64x4xf8E8M0FNU>) outs(%[[OTHER]] :
// CHECK-NEXT:    mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %arg1, %[[B]] :
func.func @both(%x: tensor<?x128xbf16>, %b: !w, %bs: !wl, %n: index) -> tensor<?x64xf32> {
  %e = tensor.empty(%n) : !e
  %s = tensor.empty(%n) : !l
  %q:2 = mx.fused_quantize ins(%x : tensor<?x128xbf16>) outs(%e, %s : !e, !l) -> !e, !l
  %o = tensor.empty(%n) : tensor<?x64xf32>
  %y = mx.matmul ins(%q#0, %q#1, %b, %bs : !e, !l, !w, !wl) outs(%o : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Scales with another user are converted by a relayout, and tiled scales are kept.
// CHECK-LABEL: func.func @returned
// CHECK:         %[[Q:.*]]:2 = mx.fused_quantize
// CHECK-SAME:      -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
// CHECK:         %[[A:.*]] = mx.relayout ins(%[[Q]]#1 :
// CHECK-NEXT:    mx.matmul ins(%[[Q]]#0, %[[A]], %arg1, %arg2 :
// CHECK-NEXT:    return %{{.*}}, %[[Q]]#1
func.func @returned(%x: tensor<?x128xbf16>, %b: !w, %bs: !wt, %n: index) -> (tensor<?x64xf32>, !l) {
  %e = tensor.empty(%n) : !e
  %s = tensor.empty(%n) : !l
  %q:2 = mx.fused_quantize ins(%x : tensor<?x128xbf16>) outs(%e, %s : !e, !l) -> !e, !l
  %o = tensor.empty(%n) : tensor<?x64xf32>
  %y = mx.matmul ins(%q#0, %q#1, %b, %bs : !e, !l, !w, !wt) outs(%o : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y, %q#1 : tensor<?x64xf32>, !l
}

// Checks the dynamic batch size of the scales.
// CHECK-LABEL: func.func @dynamic_batch
// CHECK-SAME:    (%[[A:.*]]: tensor<?x40x128xf8E4M3FN>, %[[AS:[a-z0-9]*]]:
// CHECK-DAG:     %[[FOUND:.*]] = tensor.dim %[[AS]], %{{.*}}
// CHECK-DAG:     %[[EXPECTED:.*]] = tensor.dim %[[A]], %{{.*}}
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[EXPECTED]], %[[FOUND]]
// CHECK-NEXT:    mxgpu.require %[[SAME]], "expected dimension 0 of a_scales to be %lld, found %lld"(%[[EXPECTED]], %[[FOUND]])
// CHECK:         %[[TILES:.*]] = tensor.empty(%{{.*}}) : tensor<?x40x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NEXT:    %[[T:.*]] = mx.relayout ins(%[[AS]] : tensor<?x40x4xf8E8M0FNU>) outs(%[[TILES]] :
// CHECK:         mx.matmul ins(%[[A]], %[[T]],
func.func @dynamic_batch(%a: tensor<?x40x128xf8E4M3FN>, %as: tensor<?x40x4xf8E8M0FNU>, %b: tensor<?x64x128xf8E4M3FN>,
                 %bs: tensor<?x64x4xf8E8M0FNU>, %o: tensor<?x40x64xf32>) -> tensor<?x40x64xf32> {
  %y = mx.matmul ins(%a, %as, %b, %bs : tensor<?x40x128xf8E4M3FN>, tensor<?x40x4xf8E8M0FNU>, tensor<?x64x128xf8E4M3FN>,
      tensor<?x64x4xf8E8M0FNU>) outs(%o : tensor<?x40x64xf32>) -> tensor<?x40x64xf32>
  return %y : tensor<?x40x64xf32>
}

// Converts scales of a batch, from a quantizer and from an argument.
// CHECK-LABEL: func.func @batch
// CHECK:         %[[Q:.*]]:2 = mx.fused_quantize
// CHECK-SAME:      -> tensor<3x40x128xf8E4M3FN>, tensor<3x40x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[B:.*]] = mx.relayout ins(%arg2 : tensor<3x64x4xf8E8M0FNU>) outs(%{{.*}} : tensor<3x64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// CHECK-NEXT:    mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %arg1, %[[B]] :
func.func @batch(%x: tensor<3x40x128xbf16>, %b: tensor<3x64x128xf8E4M3FN>, %bs: tensor<3x64x4xf8E8M0FNU>) -> tensor<3x40x64xf32> {
  %e = tensor.empty() : tensor<3x40x128xf8E4M3FN>
  %s = tensor.empty() : tensor<3x40x4xf8E8M0FNU>
  %q:2 = mx.fused_quantize ins(%x : tensor<3x40x128xbf16>) outs(%e, %s : tensor<3x40x128xf8E4M3FN>, tensor<3x40x4xf8E8M0FNU>)
      -> tensor<3x40x128xf8E4M3FN>, tensor<3x40x4xf8E8M0FNU>
  %o = tensor.empty() : tensor<3x40x64xf32>
  %y = mx.matmul ins(%q#0, %q#1, %b, %bs : tensor<3x40x128xf8E4M3FN>, tensor<3x40x4xf8E8M0FNU>, tensor<3x64x128xf8E4M3FN>, tensor<3x64x4xf8E8M0FNU>)
      outs(%o : tensor<3x40x64xf32>) -> tensor<3x40x64xf32>
  return %y : tensor<3x40x64xf32>
}

// Converts the scales of the expert matrices. Scales of ragged rows keep their layout.
// CHECK-LABEL: func.func @groups
// CHECK:         %[[B:.*]] = mx.relayout ins(%arg3 : tensor<3x64x4xf8E8M0FNU>)
// CHECK-NEXT:    mx.grouped_matmul ragged = rows ins(%arg0, %arg1, %arg2, %[[B]] :
func.func @groups(%a: !e, %as: !l, %b: tensor<3x64x128xf8E4M3FN>, %bs: tensor<3x64x4xf8E8M0FNU>, %ends: tensor<3xi32>, %o: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !e, !l, tensor<3x64x128xf8E4M3FN>, tensor<3x64x4xf8E8M0FNU>)
      offsets(%ends : tensor<3xi32>) outs(%o : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
