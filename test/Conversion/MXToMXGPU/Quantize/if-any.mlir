// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_90a | FileCheck %s

// Threads of a warp join the words. Without a set bit there is no work. Few CTAs read the words.

// CHECK-LABEL: func.func @rows
// CHECK:         mxgpu.sm_count
// CHECK:         arith.minui
// CHECK-LABEL: mxgpu.kernel @rows_quantize(
// CHECK-SAME:    %[[WORDS:[^:]*]]: memref<3xi32>)
// CHECK:         %[[LANE:.*]] = nvvm.read.ptx.sreg.laneid
// CHECK:         memref.load %[[WORDS]]
// CHECK:         %[[ALL:.*]] = gpu.subgroup_reduce maxui %{{.*}} uniform
// CHECK:         %[[NONE:.*]] = arith.cmpi eq, %[[ALL]]
// CHECK:         %[[ANY:.*]] = arith.xori %[[NONE]]
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

// Expert groups need a CTA per tile. A role that takes stages skips them by a loop without steps.

// CHECK-LABEL: mxgpu.kernel @ragged_quantize(
// CHECK:         %[[STEPS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
// CHECK:         mxgpu.role @load
// CHECK:             mxgpu.for_each_k {{.*}} from %{{.*}} to %[[STEPS]] step 1
// CHECK:               mxgpu.producer_acquire
// CHECK:         mxgpu.role @quantize
// CHECK:             mxgpu.for_each_k {{.*}} from %{{.*}} to %[[STEPS]] step 1
func.func @ragged(%x: memref<256x256xbf16>, %o: memref<2xi32>, %e: memref<256x256xf8E4M3FN>, %f: memref<4x2x32x4x4xf8E8M0FNU>, %words: memref<8xi32>) {
  mx.fused_quantize ragged = rows ins(%x : memref<256x256xbf16>) offsets(%o : memref<2xi32>) if_any(%words : memref<8xi32>) outs(%e, %f : memref<256x256xf8E4M3FN>, memref<4x2x32x4x4xf8E8M0FNU>)
  return
}
