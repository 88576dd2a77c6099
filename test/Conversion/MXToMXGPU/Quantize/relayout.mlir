// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// A warp moves 32 scales of a row. If both layouts are equal, the scales are copied.

// CHECK-LABEL: func.func @relayout(
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         mxgpu.launch @kernels::@relayout_relayout
// CHECK:         mxgpu.launch @kernels::@relayout_relayout_0
// CHECK:         "expected dimension 0 of input to be %lld, found %lld"
// CHECK:         memref.copy
// CHECK-LABEL: mxgpu.kernel @relayout_relayout(
// CHECK-SAME:    %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>, %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>) {
// CHECK:         %[[ROWS:.*]] = memref.dim %[[S]]
// CHECK:         %[[BLOCKS:.*]] = memref.dim %[[S]]
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [128, 32] of(%[[ROWS]], %[[BLOCKS]],
// CHECK:         mxgpu.role @relayout warps(8) {
// CHECK-COUNT-16:    mxgpu.load_scale %[[S]]
// CHECK-COUNT-16:    mxgpu.store_scales %{{.*}} into %[[T]][%{{.*}}, %{{.*}}] of(%[[ROWS]], %[[BLOCKS]]) : f8E8M0FNU
// CHECK-LABEL: mxgpu.kernel @relayout_relayout_0(
// CHECK-SAME:    %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>) {
// CHECK:         mxgpu.load_scale %[[T]]
// CHECK:         mxgpu.store_scales %{{.*}} into %[[S]]
func.func @relayout(%s: memref<?x?xf8E8M0FNU>, %t: memref<?x?x32x4x4xf8E8M0FNU>, %u: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%s : memref<?x?xf8E8M0FNU>) outs(%t : memref<?x?x32x4x4xf8E8M0FNU>)
  mx.relayout ins(%t : memref<?x?x32x4x4xf8E8M0FNU>) outs(%s : memref<?x?xf8E8M0FNU>)
  mx.relayout ins(%t : memref<?x?x32x4x4xf8E8M0FNU>) outs(%u : memref<?x?x32x4x4xf8E8M0FNU>)
  return
}

// -----

// The matrices of a batch are stacked, and each matrix has separate tiles. A row past the end of
// its matrix is replaced by a row past the end of the tensor.
// CHECK-LABEL: func.func @relayout_batch(
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<?x?x?xf8E8M0FNU> into memref<?x?xf8E8M0FNU>
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2], [3], [4], [5]] :
// CHECK-LABEL: mxgpu.kernel @relayout_batch_relayout(
// CHECK-SAME:    %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>, %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[ROWS:[a-z_0-9]*]]: index) {
// CHECK:         %[[ALL:.*]] = memref.dim %[[S]]
// CHECK:         arith.ceildivui %[[ROWS]]
// CHECK:         mxgpu.role @relayout warps(8) {
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]]
// CHECK:         %[[ROW:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[ALL]]
// CHECK:         mxgpu.load_scale %[[S]][%[[ROW]],
func.func @relayout_batch(%s: memref<?x?x?xf8E8M0FNU>, %t: memref<?x?x?x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%s : memref<?x?x?xf8E8M0FNU>) outs(%t : memref<?x?x?x32x4x4xf8E8M0FNU>)
  return
}
