// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// Each of the 512 threads loads 8 elements from each of 4 rows, and the scales of these
// elements, before it dequantizes.

// CHECK-LABEL: func.func @dequantize(
// CHECK-SAME:    %[[Q:.*]]: memref<?x?xf4E2M1FN>, %[[S:.*]]: memref<?x?x32x4x4xf8E4M3FN>, %[[X:.*]]: memref<?x?xf16>, %[[G:.*]]: f32)
// CHECK:         "expected dimension 0 of input to be %lld, found %lld"
// CHECK:         "expected dimension 1 of input to be %lld, found %lld"
// CHECK:         "expected dimension 1 of input to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[Q]] : memref<?x?xf4E2M1FN> to memref<?x?xi8>
// CHECK:         mxgpu.launch @kernels::@dequantize_dequantize grid(%{{.*}}) args(%[[BYTES]], %[[S]], %[[X]], %[[G]] :
// CHECK-LABEL: mxgpu.kernel @dequantize_dequantize(
// CHECK-SAME:    %[[Q:[a-z_0-9]*]]: memref<?x?xi8>, %[[S:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E4M3FN>, %[[X:[a-z_0-9]*]]: memref<?x?xf16>, %[[G:[a-z_0-9]*]]: f32)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 512, vector = 8, ctas = 2>) min_ctas(2) {
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK:         mxgpu.role @dequantize warps(16) {
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[BLOCK:.*]] = arith.divui %[[COLUMN:.*]], %[[C16]]
// CHECK:             %[[CODES:.*]] = mxgpu.load_block %[[Q]][%[[ROW:.*]], %[[COLUMN]]] : memref<?x?xi8> -> vector<8xf4E2M1FN>
// CHECK:             %[[SCALE:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %[[BLOCK]]] : memref<?x?x32x4x4xf8E4M3FN> -> f8E4M3FN
// CHECK:             %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C32]]
// CHECK:             mxgpu.load_block %[[Q]][%[[NEXT]], %[[COLUMN]]]
// CHECK-COUNT-3:     mxgpu.load_scale
// CHECK-NOT:         mxgpu.load
// CHECK:             %[[VALUE:.*]] = mxgpu.dequantize_block %[[CODES]] by %[[SCALE]] decode(%[[G]]) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf16>
// CHECK:             mxgpu.store_block %[[VALUE]], %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK-COUNT-3:     mxgpu.dequantize_block
func.func @dequantize(%q: memref<?x?xf4E2M1FN>, %s: memref<?x?x32x4x4xf8E4M3FN>, %x: memref<?x?xf16>, %g: f32) {
  mx.dequantize ins(%q, %s : memref<?x?xf4E2M1FN>, memref<?x?x32x4x4xf8E4M3FN>) global_scale(%g) outs(%x : memref<?x?xf16>) block_size = 16
  return
}

// -----

// Two adjacent dequantizers become one kernel, in which the tiles of the second tensor follow the
// tiles of the first. Each matrix of a batch takes whole tiles of scales.

// CHECK-LABEL: func.func @dequantize_both(
// CHECK:         mxgpu.launch @kernels::@dequantize_both_dequantize grid(%c8) args(
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @dequantize_both_dequantize(
// CHECK:         mxgpu.role @dequantize
// CHECK:           mxgpu.for_each_work_tile (%group, %[[ROW:.*]], %column,
// CHECK:             %[[FIRST:.*]] = arith.cmpi ult, %[[ROW]], %
// CHECK:             scf.if %[[FIRST]] {
// CHECK:               mxgpu.load_block %{{.*}} : memref<256x64xf8E4M3FN>
// CHECK:             } else {
// CHECK:               arith.divui
// CHECK:               arith.remui
// CHECK:               arith.select %{{.*}}, %{{.*}}, %c{{.*}}
// CHECK:               mxgpu.load_block %{{.*}} : memref<600x64xf8E4M3FN>
func.func @dequantize_both(%q: memref<256x64xf8E4M3FN>, %s: memref<2x1x32x4x4xf8E8M0FNU>, %r: memref<2x300x64xf8E4M3FN>, %t: memref<2x3x1x32x4x4xf8E8M0FNU>) -> (memref<256x64xbf16>, memref<2x300x64xbf16>) {
  %x = memref.alloc() : memref<256x64xbf16>
  mx.dequantize ins(%q, %s : memref<256x64xf8E4M3FN>, memref<2x1x32x4x4xf8E8M0FNU>) outs(%x : memref<256x64xbf16>)
  %y = memref.alloc() : memref<2x300x64xbf16>
  mx.dequantize ins(%r, %t : memref<2x300x64xf8E4M3FN>, memref<2x3x1x32x4x4xf8E8M0FNU>) outs(%y : memref<2x300x64xbf16>)
  return %x, %y : memref<256x64xbf16>, memref<2x300x64xbf16>
}

// -----

// Groups of columns are scheduled like groups of rows. In the kernel for both tensors, the tiles of
// the second tensor follow the tiles of the first.

// CHECK-LABEL: func.func @dequantize_segments(
// CHECK:         mxgpu.launch @kernels::@dequantize_segments_dequantize grid(%c55) args(
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @dequantize_segments_dequantize(
// CHECK-SAME:    %[[O:[a-z_0-9]*]]: memref<4xi32>
// CHECK:         mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%[[O]] : memref<4xi32>) of(%c896, %{{.*}}, %c0)
// CHECK:         mxgpu.role @dequantize
// CHECK:           mxgpu.for_each_work_tile (%group, %row, %[[ROW:column]],
// CHECK:             %[[FIRST:.*]] = arith.cmpi ult, %[[ROW]], %
// CHECK:             scf.if %[[FIRST]] {
// CHECK:               mxgpu.load_block %{{.*}} : memref<200x896xf8E4M3FN>
// CHECK:             } else {
// CHECK:               mxgpu.load_block %{{.*}} : memref<300x896xf8E4M3FN>
func.func @dequantize_segments(%q: memref<200x896xf8E4M3FN>, %s: memref<2x7x32x4x4xf8E8M0FNU>, %r: memref<300x896xf8E4M3FN>, %t: memref<3x7x32x4x4xf8E8M0FNU>, %o: memref<4xi32>) -> (memref<200x896xbf16>, memref<300x896xbf16>) {
  %x = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%x : memref<200x896xbf16>)
  %y = memref.alloc() : memref<300x896xbf16>
  mx.dequantize ragged = reduction padded ins(%r, %t : memref<300x896xf8E4M3FN>, memref<3x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%y : memref<300x896xbf16>)
  return %x, %y : memref<200x896xbf16>, memref<300x896xbf16>
}

// -----

// Dequantizers of different expert groups are not fused.

// CHECK-LABEL: func.func @dequantize_other_segments(
// CHECK-COUNT-2: mxgpu.launch
func.func @dequantize_other_segments(%q: memref<200x896xf8E4M3FN>, %s: memref<2x7x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %p: memref<4xi32>) -> (memref<200x896xbf16>, memref<200x896xbf16>) {
  %x = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%x : memref<200x896xbf16>)
  %y = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%p : memref<4xi32>) outs(%y : memref<200x896xbf16>)
  return %x, %y : memref<200x896xbf16>, memref<200x896xbf16>
}
