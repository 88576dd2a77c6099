// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_90a | FileCheck %s

// All threads of a CTA join the words. Without a set bit there is no work. Few CTAs read the words. Kernels overlap the
// previous kernel, which writes the words.

// CHECK-LABEL: func.func @rows
// CHECK:         mxgpu.sm_count
// CHECK:         arith.minui
// CHECK-LABEL: func.func @ragged
// CHECK:         mxgpu.sm_count
// CHECK:         arith.minui
// CHECK-LABEL: mxgpu.kernel @rows_quantize(
// CHECK-SAME:    %[[WORDS:[^:]*]]: memref<3xi32>)
// CHECK-NEXT:    mxgpu.wait_dependencies
// CHECK-NEXT:    mxgpu.launch_dependents
// CHECK:         memref.load %[[WORDS]]
// CHECK:         %[[ANY:.*]] = gpu.all_reduce or %{{.*}} uniform
// CHECK:         %[[ROWS:.*]] = arith.select %[[ANY]]
// CHECK:         mxgpu.tile_scheduler static {{.*}} of(%[[ROWS]],
func.func @rows(%x: memref<64x256xf32>, %e: memref<64x256xf8E4M3FN>, %f: memref<64x8xf8E8M0FNU>, %words: memref<3xi32>) {
  mx.fused_quantize ins(%x : memref<64x256xf32>) if_any(%words : memref<3xi32>) outs(%e, %f : memref<64x256xf8E4M3FN>, memref<64x8xf8E8M0FNU>)
  return
}

// CHECK-LABEL: mxgpu.kernel @columns_quantize(
// CHECK:         %[[COLUMNS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
// CHECK:         mxgpu.tile_scheduler static {{.*}} of(%{{.*}}, %[[COLUMNS]],
func.func @columns(%x: memref<64x256xf32>, %e: memref<256x64xf8E4M3FN>, %f: memref<256x2xf8E8M0FNU>, %words: memref<2x3xi32>) {
  mx.fused_quantize ins(%x : memref<64x256xf32>) if_any(%words : memref<2x3xi32>) outs(%e, %f : memref<256x64xf8E4M3FN>, memref<256x2xf8E8M0FNU>) axes = [0]
  return
}

// A CTA computes its tiles of all expert groups one after another.

// CHECK-LABEL: mxgpu.kernel @ragged_quantize(
// CHECK-NEXT:    mxgpu.wait_dependencies
// CHECK:         %[[ROWS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
// CHECK:         mxgpu.tile_scheduler single repeated raster = linear {{.*}} limit(%{{.*}}) of(%[[ROWS]],
func.func @ragged(%x: memref<256x256xbf16>, %o: memref<2xi32>, %e: memref<256x256xf8E4M3FN>, %f: memref<4x2x32x4x4xf8E8M0FNU>, %words: memref<8xi32>) {
  mx.fused_quantize ragged = rows ins(%x : memref<256x256xbf16>) offsets(%o : memref<2xi32>) if_any(%words : memref<8xi32>) outs(%e, %f : memref<256x256xf8E4M3FN>, memref<4x2x32x4x4xf8E8M0FNU>)
  return
}

// A lane loads the spreads of a row, 8 at once if they divide the row. The kernel overlaps the previous kernel and the
// next.

// CHECK-LABEL: mxgpu.kernel @classes_row_classes(
// CHECK-SAME:    %[[P:[^:]*]]: memref<64x56xi8>, %[[Q:[^:]*]]: memref<3x96xi8>,
// CHECK:         mxgpu.wait_dependencies
// CHECK-NEXT:    mxgpu.launch_dependents
// CHECK:             vector.load %[[P]]{{.*}} : memref<64x56xi8>, vector<8xi8>
// CHECK:             vector.load %[[Q]]{{.*}} : memref<3x96xi8>, vector<1xi8>
func.func @classes(%p: memref<64x56xi8>, %q: memref<3x96xi8>, %o: memref<2xi32>, %r: memref<3xi32>) {
  mx.row_classes ins(%p, %q : memref<64x56xi8>, memref<3x96xi8>) outs(%o, %r : memref<2xi32>, memref<3xi32>) axes = [1, 0] limit = 8
  return
}
