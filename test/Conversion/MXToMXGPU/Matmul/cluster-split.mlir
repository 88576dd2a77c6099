// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// With cluster_split, the CTAs of a cluster divide the reduction of a tile. Each CTA adds the
// partial sums of some rows and stores these rows, so neither a workspace nor a second kernel is
// needed. With wgmma_upcast_b, the first CTA adds and stores all rows. With ctas_per_sm = n, an SM
// runs n CTAs, which divide the SM's shared memory.

// CHECK-LABEL: func.func @parts(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     mxgpu.sm_count
// CHECK:         mxgpu.launch @kernels::@parts_matmul grid(%c8{{.*}})
// CHECK-NOT:     mxgpu.launch
// CHECK:       mxgpu.kernel @parts_matmul({{.*}} cluster_splits(4) min_ctas(2)
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [16, 64] split(4 step 64)
// CHECK:         mxgpu.role @multiply warps(4) {
// CHECK:           %[[PART:.*]] = mxgpu.for_each_k
// CHECK:           %[[THREAD:.*]] = mxgpu.thread_id
// CHECK-NEXT:      %[[ADDED:.*]] = mxgpu.add_partials %[[PART]] thread(%[[THREAD]]) distributed
// CHECK-NEXT:      mxgpu.end_partials
// CHECK-COUNT-4:   scf.if
!x = memref<16x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<16x128xbf16>
#schedule = #mxgpu.schedule<tile = [16, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab<cluster_split = true, ctas_per_sm = 2>, split_k = 4>
func.func @parts(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// With wgmma_upcast_b, both operands are dequantized, and a dedicated warpgroup dequantizes B.
// CHECK-LABEL: mxgpu.kernel @dequantized_matmul({{.*}} cluster_splits(2)
// CHECK:         mxgpu.tile_scheduler static {{.*}} split(2 step 64)
// CHECK:         mxgpu.add_partials %{{.*}} thread(%{{.*}}) :
// CHECK:         scf.if
// CHECK:         mxgpu.store_fragment
// CHECK:         mxgpu.end_partials
// CHECK:         mxgpu.role @dequantize
// CHECK-NOT:     mxgpu.kernel
!a = memref<128x512xf8E4M3FN>
!s = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<128x128xbf16>
#schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<cluster_split = true>, split_k = 2>
func.func @dequantized(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}
