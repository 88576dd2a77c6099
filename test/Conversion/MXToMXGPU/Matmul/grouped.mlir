// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources | FileCheck %s

// In a grouped matmul, a warp of each CTA finds the work tiles and passes them to the other roles
// through a ring. The B matrices of all expert groups are stacked.

// CHECK-DAG: !groups_ring = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>

// A CTA is launched for each possible work tile: 300 / 256 + 4 = 5 row tiles, times 2 column
// tiles.
// CHECK-LABEL: func.func @rows(
// CHECK:         %[[B:.*]] = memref.collapse_shape %arg2 {{.*}} into memref<800x256xf8E4M3FN>
// CHECK:         mxgpu.encode_tensor_map %[[B]]
// CHECK:         arith.minui %{{.*}}, %c10 : index
// CHECK:         mxgpu.launch @kernels::@rows_grouped_matmul
func.func @rows(%a: memref<300x256xf8E4M3FN>, %as: memref<6x2x32x4x4xf8E8M0FNU>, %b: memref<4x200x256xf8E4M3FN>, %bs: memref<4x2x2x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x200xbf16>) {
  mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : memref<300x256xf8E4M3FN>, memref<6x2x32x4x4xf8E8M0FNU>, memref<4x200x256xf8E4M3FN>, memref<4x2x2x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%y : memref<300x200xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>, pdl>}
  return
}

// CHECK-LABEL: func.func @reduction(
// CHECK:         %[[Y:.*]] = memref.collapse_shape %arg5 {{.*}} into memref<400x200xf32>
// CHECK:         arith.minui %{{.*}}, %c16 : index
// CHECK:         mxgpu.launch @kernels::@reduction_grouped_matmul grid(%{{.*}}) args({{.*}}, %[[Y]], %arg4 :
func.func @reduction(%a: memref<100x768xf8E4M3FN>, %as: memref<1x6x32x4x4xf8E8M0FNU>, %b: memref<200x768xf8E4M3FN>, %bs: memref<2x6x32x4x4xf8E8M0FNU>, %o: memref<4xi64>, %y: memref<4x100x200xf32>) {
  mx.grouped_matmul ragged = reduction
      ins(%a, %as, %b, %bs : memref<100x768xf8E4M3FN>, memref<1x6x32x4x4xf8E8M0FNU>, memref<200x768xf8E4M3FN>, memref<2x6x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi64>) outs(%y : memref<4x100x200xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 2>}
  return
}

// The kernel waits for the preceding kernel, which may write the ends of the expert groups.
// CHECK-LABEL: mxgpu.kernel @rows_grouped_matmul(
// CHECK:         %[[UNITS:.*]] = mxgpu.ring "work_tiles" : !groups_ring
// CHECK-NEXT:    mxgpu.wait_dependencies
// CHECK:         %[[WORK:.*]] = mxgpu.tile_scheduler groups(%[[UNITS]] : !groups_ring) raster = linear tile [256, 128] ragged(%{{.*}} : memref<4xi32>) of(%c300, %c200, %c256)

// Rows past the end of the expert group are not stored.
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxgpu.for_each_work_tile (%group, %row, %column, %start, %[[END:.*]]) in %[[WORK]] {
// CHECK:             %[[PRESENT:.*]] = arith.cmpi ult, %[[OWN:.*]], %[[END]] : index
// CHECK:             mxgpu.store_fragment %{{.*}}, %result[%[[OWN]], %{{.*}}] when(%[[PRESENT]]) aligned(16)

// The scales of an expert group begin at a tile boundary, and the B rows of the group
// follow the B rows of the previous groups.
// CHECK:         mxgpu.role @load
// CHECK:           mxgpu.for_each_work_tile (%[[GROUP:.*]], %[[ROW:.*]], %[[COLUMN:.*]], %start, %end) in %[[WORK]] {
// CHECK:             %[[MINE:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:             %[[TILE:.*]] = arith.divui %[[MINE]], %c128
// CHECK:             %[[ROW_TILE:.*]] = arith.addi %[[TILE]], %[[GROUP]]
// CHECK:             %[[TILES:.*]] = arith.muli %[[GROUP]], %c2
// CHECK:             %[[COLUMN_TILE:.*]] = arith.addi %{{.*}}, %[[TILES]]
// CHECK:             %[[BEFORE:.*]] = arith.muli %[[GROUP]], %c200
// CHECK:             mxgpu.for_each_k {{.*}} from %c0 to %c256 step 128 {
// CHECK:               mxgpu.tma_load %a_map[%[[MINE]], %{{.*}}]
// CHECK:               mxgpu.tma_load %sfa_map[%[[ROW_TILE]], %{{.*}}]
// CHECK:               mxgpu.tma_load %sfb_map[%[[COLUMN_TILE]], %{{.*}}

// Each CTA of a pair finds its own work tiles.
// CHECK:         mxgpu.role @schedule warps(1) {
// CHECK:           mxgpu.for_each_work_tile {{.*}} in %[[WORK]] {
// CHECK-NEXT:        %[[STAGE:.*]], %{{.*}} = mxgpu.producer_acquire %[[UNITS]]
// CHECK-NEXT:        mxgpu.producer_commit %[[STAGE]]
// CHECK-NEXT:        %[[STAGE:.*]], %[[NEXT:.*]] = mxgpu.consumer_wait %[[UNITS]]
// CHECK-NEXT:        mxgpu.next_work_tile %[[NEXT]]
// CHECK-NEXT:        mxgpu.consumer_release %[[STAGE]]

// Each expert group has its own segment of the reduction and its own result matrix.
// CHECK-LABEL: mxgpu.kernel @reduction_grouped_matmul(
// CHECK:         %[[M:.*]] = arith.constant 100 : index
// CHECK:         mxgpu.tile_scheduler groups(%{{.*}} : !groups_ring) raster = linear tile [128, 64] ragged(%{{.*}} : memref<4xi64>) over_reduction of(%[[M]], %c200, %c768)
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxgpu.for_each_work_tile (%[[G:.*]], %[[R:.*]], %column, %[[K0:.*]], %[[K1:.*]]) in
// CHECK:             %[[EMPTY:.*]] = arith.cmpi eq, %[[K0]], %[[K1]] : index
// CHECK:             %[[ABOVE:.*]] = arith.muli %[[G]], %[[M]]
// CHECK:             mxgpu.load_accumulator {{.*}} empty(%[[EMPTY]])
// CHECK:         mxgpu.role @load
// CHECK:             mxgpu.for_each_k {{.*}} from %start to %end step 128
