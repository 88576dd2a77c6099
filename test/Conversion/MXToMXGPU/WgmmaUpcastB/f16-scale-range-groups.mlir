// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// The expert groups divide the reduction. A CTA finds the scale range of 128 rows in the segment of
// one group, and the table stores the ranges of each group together. Rows out of bounds are
// ignored. A work tile reads the ranges of its own group.

// CHECK-LABEL: func.func @reduction(
// CHECK:         %[[A:.*]] = memref.alloc() : memref<9x4xi32>
// CHECK:         mxgpu.launch @kernels::@reduction_scale_range grid(%c9) args(%arg0, %{{.*}}, %arg4, %[[A]] :
// CHECK:         %[[B:.*]] = memref.alloc() : memref<6x4xi32>
// CHECK:         mxgpu.launch @kernels::@reduction_scale_range_0 grid(%c6) args(%arg2, %{{.*}}, %arg4, %[[B]] :
// CHECK:         mxgpu.launch @kernels::@reduction_grouped_matmul grid
// CHECK:         mxgpu.launch @kernels::@reduction_grouped_matmul_0 grid

// CHECK:       mxgpu.kernel @reduction_scale_range(%{{.*}}, %{{.*}}, %[[OFFSETS:.*]]: memref<3xi64>, %[[TABLE:.*]]: memref<9x4xi32>)
// CHECK:         %[[WORK:.*]] = mxgpu.tile_scheduler single raster = linear tile [1, 1] ragged(%[[OFFSETS]] : memref<3xi64>) over_reduction of(%c3, %c1, %c1024)
// CHECK:         mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %[[WORK]]
// CHECK:           %[[BEFORE:.*]] = arith.muli %group, %c3
// CHECK:           %[[ENTRY:.*]] = arith.addi %row, %[[BEFORE]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}}
// CHECK:             vector.load %{{.*}}[%row,
// CHECK:           memref.store %{{.*}}, %[[TABLE]][%[[ENTRY]],

// CHECK:       mxgpu.kernel @reduction_grouped_matmul(
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[COLUMN:.*]] = arith.divui %column, %c128
// CHECK:           %[[BEFORE_B:.*]] = arith.muli %group, %c2
// CHECK:           %[[TILE_B:.*]] = arith.minui %[[COLUMN]], %c1
// CHECK:           %[[WINDOW_B:.*]] = arith.addi %[[BEFORE_B]], %[[TILE_B]]
// CHECK:           mxgpu.load_scale_range %{{.*}}[%[[WINDOW_B]]] : memref<6x4xi32>
// CHECK:           %[[BEFORE_A:.*]] = arith.muli %group, %c3
// CHECK:           mxgpu.load_scale_range %{{.*}} : memref<9x4xi32>
// The tile index is limited to the last tile, because the last rows fill only one of the two tiles.
// CHECK:           %[[NEXT:.*]] = arith.addi %{{.*}}, %c1
// CHECK:           %[[TILE_A:.*]] = arith.minui %[[NEXT]], %c2
// CHECK:           %[[WINDOW_A:.*]] = arith.addi %[[BEFORE_A]], %[[TILE_A]]
// CHECK:           mxgpu.load_scale_range %{{.*}}[%[[WINDOW_A]]] : memref<9x4xi32>
!ra = memref<300x1024xf8E4M3FN>
!ras = memref<3x8x32x4x4xf8E8M0FNU>
!rb = memref<136x1024xf8E4M3FN>
!rbs = memref<2x8x32x4x4xf8E8M0FNU>
func.func @reduction(%a: !ra, %as: !ras, %b: !rb, %bs: !rbs, %o: memref<3xi64>, %y: memref<3x300x136xf32>) {
  mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !ra, !ras, !rb, !rbs)
      offsets(%o : memref<3xi64>) outs(%y : memref<3x300x136xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}

// -----

// The expert groups divide the rows and begin at any row. A has a scale range for each scale
// tile, and the scale tiles of B start anew in the matrix of each group.

// CHECK-LABEL: func.func @rows(
// CHECK:         memref.alloc() : memref<7x4xi32>
// CHECK:         mxgpu.launch @kernels::@rows_scale_range grid(%c7)
// CHECK:         memref.alloc() : memref<10x4xi32>
// CHECK:         mxgpu.launch @kernels::@rows_scale_range_0 grid(%c10)

// CHECK:       mxgpu.kernel @rows_scale_range(
// CHECK:         mxgpu.tile_scheduler single raster = linear tile [128, 1] ragged(%{{.*}} : memref<5xi32>) of(%c300, %c1, %c0)
// CHECK:           %[[TILE:.*]] = arith.divui %start, %c128
// CHECK:           %[[OF_GROUP:.*]] = arith.addi %[[TILE]], %group
// CHECK:           arith.cmpi ult, %{{.*}}, %end
// CHECK:           memref.store %{{.*}}[%[[OF_GROUP]],

// CHECK:       mxgpu.kernel @rows_scale_range_0(
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%c10, %c1, %c0)
// CHECK:           %[[MATRIX:.*]] = arith.divui %row, %c2
// CHECK:           arith.remui %row, %c2
// CHECK:           arith.muli %[[MATRIX]], %c200

// CHECK:       mxgpu.kernel @rows_grouped_matmul(
// A tile index past the end of a group is replaced by the last tile of the group.
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[ROWS:.*]] = arith.subi %end, %row
// CHECK:           %[[TILES:.*]] = arith.ceildivui %[[ROWS]], %c128
// CHECK:           %[[MOST:.*]] = arith.subi %[[TILES]], %c1
// CHECK:           arith.minui %[[MOST]], %c1
// CHECK:           mxgpu.load_scale_range
!wa = memref<300x96xf8E4M3FN>
!was = memref<7x1x32x4x4xf8E8M0FNU>
!wb = memref<5x200x96xf8E4M3FN>
!wbs = memref<5x2x1x32x4x4xf8E8M0FNU>
func.func @rows(%a: !wa, %as: !was, %b: !wb, %bs: !wbs, %o: memref<5xi32>, %y: memref<300x200xf32>) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !wa, !was, !wb, !wbs)
      offsets(%o : memref<5xi32>) outs(%y : memref<300x200xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}

// -----

// With masked expert groups, the counts limit the rows of each matrix.

// CHECK:       mxgpu.kernel @masked_scale_range(%{{.*}}, %{{.*}}, %[[COUNTS:.*]]: memref<5xi32>,
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%c15, %c1, %c0)
// CHECK:           %[[MATRIX:.*]] = arith.divui %row, %c3
// CHECK:           memref.load %[[COUNTS]][%[[MATRIX]]]
// CHECK:           %[[FITTING:.*]] = arith.minsi %{{.*}}, %c300
// CHECK:           arith.maxsi %[[FITTING]], %c0
!wb = memref<5x200x96xf8E4M3FN>
!wbs = memref<5x2x1x32x4x4xf8E8M0FNU>
!ma = memref<5x300x96xf8E4M3FN>
!mas = memref<5x3x1x32x4x4xf8E8M0FNU>
func.func @masked(%a: !ma, %as: !mas, %b: !wb, %bs: !wbs, %o: memref<5xi32>, %y: memref<5x300x200xf32>) {
  mx.grouped_matmul ragged = rows masked ins(%a, %as, %b, %bs : !ma, !mas, !wb, !wbs)
      offsets(%o : memref<5xi32>) outs(%y : memref<5x300x200xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}
