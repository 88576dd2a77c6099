// RUN: mx-opt %s -split-input-file --mx-to-mxgpu=chip=sm_90a | FileCheck %s

// A tile has the width of a scale tile, 4 blocks, and as many elements as in the schedule. Eight
// lanes share a block of 128. Work tiles cover whole scale tiles.

// CHECK-LABEL: mxgpu.kernel @quantize_quantize(
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 512, ctas = 2>)
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         %[[ROWS:.*]] = memref.dim %{{.*}}, %c0
// CHECK:         %[[COLUMNS:.*]] = memref.dim %{{.*}}, %c1
// CHECK:         %[[BLOCKS:.*]] = arith.divui %[[COLUMNS]], %[[C128]]
// CHECK:         %[[TILES:.*]] = arith.ceildivui %[[ROWS]], %[[C128]]
// CHECK:         %[[PADDED:.*]] = arith.muli %[[TILES]], %[[C128]]
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [32, 512] of(%[[PADDED]], %[[COLUMNS]],
// CHECK-COUNT-2: mxgpu.load_block
// CHECK-NOT:     mxgpu.load_block
// CHECK:         mxgpu.quantize_block %{{.*}} scale_rounding = ceil lanes(8)
// CHECK:         mxgpu.store_scales %{{.*}} of(%[[ROWS]], %[[BLOCKS]]) lanes(8)
func.func @quantize(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
      block_size = 128
  return
}

// -----

// A vector of 16 f32 elements lets a warp hold a block of 512.

// CHECK-LABEL: mxgpu.kernel @wide_quantize(
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256, ctas = 4>)
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [8, 2048]
// CHECK:         mxgpu.quantize_block %{{.*}} scale_rounding = floor lanes(32) : vector<16xf32>
// CHECK:         mxgpu.store_scales %{{.*}} lanes(32) : f8E8M0FNU into memref<64x8xf8E8M0FNU>
func.func @wide(%x: memref<64x4096xf32>, %e: memref<64x4096xf8E5M2>, %s: memref<64x8xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<64x4096xf32>) outs(%e, %s : memref<64x4096xf8E5M2>, memref<64x8xf8E8M0FNU>)
      block_size = 512 scale_rounding = floor
  return
}

// -----

// Four lanes share a block of 128 along each axis. A tile of 128 x 128 contains a quarter of a
// column of scale tiles, so the lane with the first part stores a scale, and the last block of a
// row clears the padding.

// CHECK-LABEL: mxgpu.kernel @both_quantize(
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256, vector = 32, ctas = 3>)
// CHECK-NOT:     mxgpu.store_scale
// CHECK:         mxgpu.role @quantize_rows
// CHECK:           %[[PART:.*]] = arith.remui %{{.*}}, %c4
// CHECK:           mxgpu.load_shared %{{.*}} lanes(4) : {{.*}} -> vector<32xbf16>
// CHECK:           mxgpu.quantize_block %{{.*}} scale_rounding = ceil lanes(4) : vector<32xbf16>
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK:           scf.if %[[IS_FIRST]]
// CHECK:             memref.store %{{.*}} : memref<?x?x32x4x4xf8E8M0FNU>
// CHECK:             scf.if
// CHECK:               scf.for
// CHECK:                 memref.store %{{.*}} : memref<?x?x32x4x4xf8E8M0FNU>
// CHECK:         mxgpu.role @quantize_columns
// CHECK:           mxgpu.load_shared %{{.*}} lanes(4) : {{.*}} -> vector<32x2xbf16>
// CHECK:           mxgpu.quantize_columns %{{.*}} scale_rounding = ceil lanes(4) folded : vector<32x2xbf16>
// CHECK:           memref.store %{{.*}} : memref<?x?x32x4x4xf8E8M0FNU>
func.func @both(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>)
      outs(%e, %s, %e, %s : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
      axes = [1, 0] block_size = 128
  return
}

// -----

// A warp reads a long row twice, with 8 loads at a time. Lanes quantize with the amax of the row, and sets
// of 8 lanes store the scale and the padding of its word.

// CHECK-LABEL: mxgpu.kernel @row_quantize(
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256>)
// CHECK:         %[[ROWS:.*]] = memref.dim %{{.*}}, %c0
// CHECK:         %[[COLUMNS:.*]] = memref.dim %{{.*}}, %c1
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [8, 512] of(%{{.*}}, %c512,
// CHECK:         %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK:         %[[LARGEST:.*]] = scf.for %{{.*}} = %c0 to %[[COLUMNS]] step %c4096
// CHECK-COUNT-8:   mxgpu.load_block
// CHECK-COUNT-8:   mxgpu.thread_amax
// CHECK:         %[[AMAX:.*]] = mxgpu.reduce_lanes  maximum %[[LARGEST]]
// CHECK:         %[[BLOCK:.*]] = arith.divui %[[LANE]], %c8
// CHECK:         mxgpu.store_scales %{{.*}} into %{{.*}}[%{{.*}}, %[[BLOCK]]] of(%[[ROWS]], %c1) lanes(8)
// CHECK:         scf.for %{{.*}} = %c0 to %[[COLUMNS]] step %c4096
// CHECK-COUNT-8:   mxgpu.load_block
// CHECK-COUNT-8:   mxgpu.quantize_block %{{.*}} amax(%[[AMAX]]) scale_rounding = ceil
// CHECK-NOT:       mxgpu.store_scales
func.func @row(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x1x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s : memref<?x?xf8E4M3FN>, memref<?x1x32x4x4xf8E8M0FNU>)
      block_size = row
  return
}

// -----

// A CTA holds a longer row. Its first warp stores the scale.

// CHECK-LABEL: mxgpu.kernel @shared_quantize(
// CHECK-SAME:    quantize_schedule(<tile = [128, 4096], threads = 256, ctas = 4>)
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [1, 4096]
// CHECK:         %[[THREAD:.*]] = mxgpu.thread_id
// CHECK-NOT:     scf.for
// CHECK-COUNT-2: mxgpu.load_block
// CHECK-NOT:     mxgpu.load_block
// CHECK-NOT:     mxgpu.reduce_lanes
// CHECK:         %[[AMAX:.*]] = gpu.all_reduce maximumf %{{.*}} uniform
// CHECK:         %[[IS_FIRST:.*]] = arith.cmpi ult, %[[THREAD]], %c32
// CHECK:         scf.if %[[IS_FIRST]] {
// CHECK:           mxgpu.store_scales
// CHECK:         }
// CHECK-COUNT-2: mxgpu.quantize_block %{{.*}} amax(%[[AMAX]])
func.func @shared(%x: memref<64x6144xbf16>, %e: memref<64x6144xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<64x6144xbf16>) outs(%e, %s : memref<64x6144xf8E4M3FN>, memref<64x1xf8E8M0FNU>)
      block_size = row
  return
}

// -----

// A warp holds a short row. The last lanes of its third piece are past the end.

// CHECK-LABEL: mxgpu.kernel @held_quantize(
// CHECK:         mxgpu.role
// CHECK-NOT:     scf.for
// CHECK-COUNT-3: mxgpu.load_block
// CHECK-NOT:     mxgpu.load_block
// CHECK-COUNT-3: mxgpu.thread_amax
// CHECK:         %[[AMAX:.*]] = mxgpu.reduce_lanes  maximum
// CHECK:         mxgpu.store_scales
// CHECK-COUNT-3: mxgpu.quantize_block %{{.*}} amax(%[[AMAX]])
// CHECK-NOT:     mxgpu.quantize_block
func.func @held(%x: memref<64x1056xbf16>, %e: memref<64x1056xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<64x1056xbf16>) outs(%e, %s : memref<64x1056xf8E4M3FN>, memref<64x1xf8E8M0FNU>)
      block_size = row
  return
}

// -----

// Two lanes share a group of 32, and 8 lanes share a block. A spread is stored like a linear scale.

// CHECK-LABEL: mxgpu.kernel @spreads_quantize(
// CHECK:         mxgpu.quantize_block %[[X:.*]] scale_rounding = ceil lanes(8)
// CHECK:         %[[AMAX:.*]] = mxgpu.thread_amax %[[X]] : vector<16xbf16>
// CHECK:         %[[GROUP:.*]] = mxgpu.reduce_lanes maximum %[[AMAX]] lanes(2) : f32
// CHECK:         mxgpu.quantize_block %{{.*}} amax(%[[GROUP]]) scale_rounding = ceil
// CHECK:         mxgpu.reduce_lanes maximum %{{.*}} lanes(8) : f32
// CHECK:         mxgpu.reduce_lanes maximum %{{.*}} lanes(8) : f32
// CHECK:         mxgpu.store_scales %{{.*}} lanes(8) : i8 into memref<?x?xi8>
// CHECK-LABEL: mxgpu.kernel @spreads_of_columns_quantize(
// CHECK:         mxgpu.thread_amax %{{.*}} column(0) : vector<32x2xbf16>
// CHECK:         mxgpu.thread_amax %{{.*}} column(1) : vector<32x2xbf16>
func.func @spreads(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %d: memref<?x?xi8>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %d : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<?x?xi8>)
      block_size = 128 spreads
  return
}

func.func @spreads_of_columns(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %d: memref<?x?xi8>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %d : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<?x?xi8>)
      axes = [0] block_size = 128 spreads
  return
}
