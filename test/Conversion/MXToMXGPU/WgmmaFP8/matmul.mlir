// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// Each step overwrites a partial sum, waits for it, and adds it to the accumulator with the scales of A's rows. Two
// slices of B take turns and share the registers of their partial sum. The scales of B's rows multiply the accumulator
// after the loop.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<256x128xf8E4M3FN, sw128>, sfa: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: ![[$SCALES:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (sfb: smem<2x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>

// CHECK-LABEL: mxgpu.kernel @wide_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:             %[[SUMS:.*]]:3 = mxgpu.for_each_k (%[[K:.*]], %{{.*}}, %{{.*}}) from {{.*}} step 128 iter_args(%[[SUM0:.*]] = %{{.*}}, %[[SUM1:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}} :
// CHECK:               mxgpu.consumer_wait %in : ![[$IN]]
// CHECK:               %[[SCALES:.*]] = mxgpu.load_fragment_scales {{.*}} block(128)
// CHECK:               %[[PARTIAL:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 32, warpgroups = 2> %[[A:.*]], %[[B:.*]] row(0) into %[[OLD]] accumulate(%false)
// CHECK-NEXT:          %[[SUM:.*]] = mxgpu.mma_wait %[[PARTIAL]] pending(0)
// CHECK:               math.fma
// CHECK:               %[[ADDED:.*]] = mxgpu.from_rows
// CHECK-NEXT:          mxgpu.mma_wait %[[ADDED]] pending(0)
// CHECK:               mxgpu.mma {{.*}} %[[A]], %[[B]] row(128) into %[[SUM]] accumulate(%false)
// CHECK-NEXT:          mxgpu.mma_wait
// CHECK-NEXT:          mxgpu.consumer_release
// CHECK:               math.fma
// CHECK:             } {unroll = 8 : i64}
// CHECK:             mxgpu.consumer_wait %tile_scales : ![[$SCALES]]
// CHECK:             arith.mulf
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:             mxgpu.producer_acquire %tile_scales
// CHECK:             mxgpu.for_each_k
!a = memref<256x512xf8E4M3FN>
!as = memref<2x1x32x4x4xf8E8M0FNU>
!b = memref<512x512xf8E4M3FN>
!bs = memref<4x1x32x4x4xf8E8M0FNU>
!c = memref<256x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 4, epilogue = direct>
func.func @wide(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !c) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%c : !c)
    block_size = 128 b_block_size = row promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// A lane loads a word of A and of B before the reduction, and a warp joins the words after it. Whole warps agree on the
// stores.

// CHECK-LABEL: mxgpu.kernel @narrow_matmul(
// CHECK-SAME:    %[[A_WORDS:[^:]*]]: memref<8xi32>, %[[B_WORDS:[^:]*]]: memref<16xi32>)
// CHECK:         mxgpu.wait_dependencies
// CHECK:         mxgpu.role @multiply
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             gpu.lane_id
// CHECK:             %[[OF_A:.*]] = memref.load %[[A_WORDS]]
// CHECK:             %[[OF_B:.*]] = memref.load %[[B_WORDS]]
// CHECK:             mxgpu.for_each_k
// CHECK:             %[[WORD:.*]] = arith.ori %[[OF_A]], %[[OF_B]]
// CHECK:             %[[JOINED:.*]] = gpu.subgroup_reduce or %[[WORD]] uniform
// CHECK:             %[[IS_NARROW:.*]] = arith.cmpi eq, %[[JOINED]]
// CHECK:             mxgpu.tma_store {{.*}} when(%[[IS_NARROW]])
// CHECK:         mxgpu.role @load
// CHECK:           mxgpu.launch_dependents
!a = memref<256x512xf8E4M3FN>
!as = memref<2x1x32x4x4xf8E8M0FNU>
!b = memref<512x512xf8E4M3FN>
!bs = memref<4x1x32x4x4xf8E8M0FNU>
!c = memref<256x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, epilogue = tma_store>
func.func @narrow(%a: !a, %as: !as, %b: !b, %bs: !bs, %r: memref<8xi32>, %t: memref<16xi32>, %c: !c) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) where narrow(%r, %t : memref<8xi32>, memref<16xi32>) outs(%c : !c)
    block_size = 128 b_block_size = row promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// Three warpgroups. With whole rows of A, partial sums are added without factors, and both scales multiply the
// accumulator.

// CHECK-DAG: !mxgpu.ring<2 x (sfb: smem<1x1x2x256xf8E8M0FNU>, sfa: smem<2x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(384)>

// CHECK-LABEL: mxgpu.kernel @rows_matmul(
// CHECK:         mxgpu.role @multiply warps(12)
// CHECK:               mxgpu.mma #mxgpu.wgmma<m = 192, n = 128, k = 32, warpgroups = 3> %{{.*}}, %{{.*}} into
// CHECK-NOT:           math.fma
// CHECK:               arith.addf
!a = memref<384x512xf8E4M3FN>
!as = memref<3x1x32x4x4xf8E8M0FNU>
!b = memref<512x512xf8E4M3FN>
!bs = memref<4x1x32x4x4xf8E8M0FNU>
!c = memref<384x512xbf16>
#schedule = #mxgpu.schedule<tile = [192, 128, 128], stages = 4, epilogue = direct>
func.func @rows(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !c) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%c : !c)
    block_size = row promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// An inner loop accumulates 512 elements before their promotion; the ring is filled in the same loops. Each CTA of a pair
// loads half of B for both, and the scales of all of B.

// CHECK-LABEL: mxgpu.kernel @pair_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:             mxgpu.for_each_k {{.*}} step 512
// CHECK:               %[[SUM:.*]]:2 = mxgpu.for_each_k {{.*}} step 128
// CHECK:                 mxgpu.mma #mxgpu.wgmma<m = 128, n = 192, k = 32, warpgroups = 2> %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} into
// CHECK-NEXT:            mxgpu.mma_wait
// CHECK:               mxgpu.to_rows %[[SUM]]#0
// CHECK:               math.fma
// CHECK:             mxgpu.load_fragment_scales
// CHECK-COUNT-3:     vector.insert_strided_slice
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:             mxgpu.for_each_k {{.*}} step 512
// CHECK:               mxgpu.for_each_k {{.*}} step 128
// CHECK:                 mxgpu.tma_load {{.*}} multicast
!a = memref<512x1024xf8E4M3FN>
!as = memref<4x1x32x4x4xf8E8M0FNU>
!b = memref<384x1024xf8E4M3FN>
!bs = memref<3x1x32x4x4xf8E8M0FNU>
!c = memref<512x384xbf16>
#schedule = #mxgpu.schedule<tile = [256, 192, 128], stages = 4, strategy = #mxgpu.wgmma_fp8<ctas = 2>, epilogue = direct>
func.func @pair(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !c) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%c : !c)
    block_size = 512 b_block_size = row promote = 512 {mxgpu.schedule = #schedule}
  return
}

// -----

// If both operands have blocks, a warp converts their scales to f32 once an interval. Columns are stored in the order in
// which a thread loads its own, and the factor of an element is the product of both. Two slices take turns.

// CHECK-DAG: !mxgpu.ring<3 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<256x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: ![[$SCALES:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (sfb: smem<2x1x2x256xf8E8M0FNU>, sfa: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(32)>
// CHECK-DAG: ![[$FACTORS:threads_ring[0-9]*]] = !mxgpu.ring<2 x (fa: smem<1x128xf32>, fb: smem<1x256xf32>), producer = threads(32), consumer = async_threads(256)>

// CHECK-LABEL: mxgpu.kernel @blocks_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:               mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 32, warpgroups = 2> %{{.*}} row(0) into
// CHECK:               %[[STAGE:.*]], %[[FA:.*]], %[[FB:.*]] = mxgpu.consumer_wait %factors : ![[$FACTORS]]
// CHECK:               mxgpu.mma_wait
// CHECK:               mxgpu.load_fragment %[[FA]]
// CHECK:               mxgpu.load_fragment %[[FB]] at[%c0, %c0]
// CHECK:               arith.mulf
// CHECK:               math.fma
// CHECK:               mxgpu.mma {{.*}} row(128) into
// CHECK:               mxgpu.load_fragment %[[FB]] at[%c0, %c128]
// CHECK:               mxgpu.consumer_release %[[STAGE]]
// CHECK-NOT:         mxgpu.consumer_wait %tile_scales
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:             mxgpu.for_each_k
// CHECK:               mxgpu.producer_acquire %tile_scales
// CHECK:         mxgpu.role @convert warps(1)
// CHECK:               mxgpu.consumer_wait %tile_scales : ![[$SCALES]]
// CHECK:               mxgpu.producer_acquire %factors
// CHECK:               mxgpu.load_fragment_scales {{.*}} block(256)
// CHECK:               mxgpu.store_shared
// CHECK:               mxgpu.load_fragment_scales {{.*}} block(128)
// CHECK:               mxgpu.store_shared
!a = memref<256x512xf8E4M3FN>
!as = memref<2x1x32x4x4xf8E8M0FNU>
!b = memref<512x512xf8E4M3FN>
!bs = memref<4x1x32x4x4xf8E8M0FNU>
!c = memref<256x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 3, epilogue = direct>
func.func @blocks(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !c) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%c : !c)
    block_size = 256 b_block_size = 128 promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// Four lanes hold pairs of columns of each block. Quantized results exchange them, so that a lane stores 8 bytes.

// CHECK-LABEL: mxgpu.kernel @quantized_grouped_matmul(
// CHECK:         mxgpu.to_rows
// CHECK:         %[[ROW:.*]] = mxgpu.permute_block %{{.*}} run = 8 : vector<8xf32>
// CHECK:         %[[ELEMENTS:.*]], %{{.*}} = mxgpu.quantize_block %[[ROW]] scale_rounding = ceil lanes(4) : vector<8xf32> -> vector<8xf8E4M3FN>
// CHECK:         mxgpu.store_block %[[ELEMENTS]]
!a = memref<256x512xf8E4M3FN>
!as = memref<4x1x32x4x4xf8E8M0FNU>
!b = memref<2x128x512xf8E4M3FN>
!bs = memref<2x1x1x32x4x4xf8E8M0FNU>
!c = memref<256x128xf8E4M3FN>
!cs = memref<4x1x32x4x4xf8E8M0FNU>
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 3>
func.func @quantized(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: memref<2xi32>, %c: !c, %cs: !cs) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%ends : memref<2xi32>)
    outs(%c, %cs : !c, !cs) block_size = 128 b_block_size = row promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// Scales in f32: those of A's rows are loaded with the elements, from the last multiple of 4 rows. A warp loads the
// scales of 128 x 128 blocks of B for 64 intervals at a time.

// CHECK-DAG: !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<192x128xf8E4M3FN, sw128>, sfa: smem<1x132xf32>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: !mxgpu.ring<2 x (fb: smem<3x64xf32>), producer = threads(32), consumer = threads(256)>

// CHECK-LABEL: mxgpu.kernel @squares_grouped_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:             mxgpu.for_each_k (%[[FIRST:.*]], %{{.*}}, %{{.*}}) from {{.*}} step 8192 iter_args
// CHECK:               %[[FACTORS:.*]], %fb = mxgpu.consumer_wait %factors
// CHECK:               mxgpu.for_each_k (%[[K:.*]], %{{.*}}, %{{.*}}) from %[[FIRST]] {{.*}} step 128 iter_args
// CHECK:                 %[[IN_STAGE:.*]] = arith.subi %[[K]], %[[FIRST]]
// CHECK:                 %[[INTERVAL:.*]] = arith.divui %[[IN_STAGE]], %c128
// CHECK:                 mxgpu.load_shared %fb at[%c0, %[[INTERVAL]]]
// CHECK-NEXT:            %[[F0:.*]] = vector.extract
// CHECK:                 mxgpu.load_shared %fb at[%c2, %[[INTERVAL]]]
// CHECK-NEXT:            %[[F2:.*]] = vector.extract
// CHECK-COUNT-2:         mxgpu.load_shared %sfa
// CHECK:                 mxgpu.mma_wait
// CHECK:                 arith.mulf %{{.*}}, %[[F0]] : f32
// CHECK:                 math.fma {{.*}} : vector<16xf32>
// CHECK:                 arith.mulf %{{.*}}, %[[F2]] : f32
// CHECK:               mxgpu.consumer_release %[[FACTORS]]
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:             mxgpu.for_each_k {{.*}} step 8192
// CHECK:               mxgpu.for_each_k {{.*}} step 128
// CHECK:         mxgpu.role @blocks warps(1) {
// CHECK:             mxgpu.for_each_k {{.*}} step 8192
// CHECK-COUNT-6:       mxgpu.load_scale {{.*}} : memref<8x4xf32>
// CHECK-NOT:         mxgpu.role @convert
!a = memref<300x512xf8E4M3FN>
!as = memref<4x75x4xf32>
!b = memref<2x512x512xf8E4M3FN>
!bs = memref<2x4x4xf32>
!c = memref<300x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 192, 128], stages = 4, epilogue = direct>
func.func @squares(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: memref<2xi32>, %c: !c) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%ends : memref<2xi32>) outs(%c : !c)
    block_size = 128 b_block_size = 128x128 promote = 128 {mxgpu.schedule = #schedule}
  return
}

// -----

// Scales of both operands in f32 are loaded as factors.

// CHECK-DAG: !mxgpu.ring<4 x (fa: smem<1x128xf32>, fb: smem<1x128xf32>), producer = bulk_copy, consumer = threads(256)>

// CHECK-LABEL: mxgpu.kernel @rows_of_both_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:               mxgpu.consumer_wait %factors
// CHECK:               mxgpu.load_fragment
// CHECK-NOT:         mxgpu.role @convert
!a = memref<512x512xf8E4M3FN>
!as = memref<4x128x4xf32>
!c = memref<512x512xf32>
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, epilogue = direct>
func.func @rows_of_both(%a: !a, %as: !as, %c: !c) {
  mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%c : !c) block_size = 128 promote = 128
    {mxgpu.schedule = #schedule}
  return
}
