// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Round-trips a quantizer, and a matmul in the form built by the compiler.

// CHECK-DAG: [[$MAP:!map[0-9]*]] = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
// CHECK-DAG: [[$A:!smem[0-9]*]] = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
// CHECK-DAG: [[$SF:!smem[0-9]*]] = !mxgpu.buffer<smem<1x1x2x256xf8E8M0FNU>>
// CHECK-DAG: [[$IN:!bulk_copy_ring]] = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1x1x2x256xf8E8M0FNU>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
// CHECK-DAG: [[$ACC:!mma_commit_ring]] = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_map = !mxgpu.tensor_map<1x1x2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1x1x2x256xf8E8M0FNU>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<1x1x2x256xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<1x1x2x256xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
    // CHECK-LABEL: mxgpu.kernel @matmul(
    // CHECK-SAME: schedule(<tile = [128, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>)
    mxgpu.kernel @matmul(%a: !map, %b: !map, %sa: !scale_map, %sb: !scale_map,
                         %c: memref<?x?xbf16>, %reduction: index)
        schedule(#mxgpu.schedule<tile = [128, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %true = arith.constant true
      %rows = memref.dim %c, %c0 : memref<?x?xbf16>
      %columns = memref.dim %c, %c1 : memref<?x?xbf16>
      // CHECK: mxgpu.tile_scheduler static raster = linear tile [128, 128] of(
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%rows, %columns, %reduction)
      // CHECK: mxgpu.ring "in" : [[$IN]]
      %in = mxgpu.ring "in" : !in
      %acc = mxgpu.ring "acc" : !acc
      // CHECK: mxgpu.role @epilogue warps(4) {
      mxgpu.role @epilogue warps(4) {
        // CHECK: mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %[[COLUMN:.*]], %[[START:.*]], %[[END:.*]]) in
        mxgpu.for_each_work_tile (%e, %row, %column, %k0, %k1) in %scheduler {
          %none = arith.cmpi eq, %k0, %k1 : index
          // CHECK: %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %{{.*}} : [[$ACC]]
          %d, %d_d = mxgpu.consumer_wait %acc : !acc
          scf.for %j = %c0 to %c128 step %c32 {
            // CHECK: mxgpu.load_accumulator %[[D]] column(%{{.*}}) empty(%{{.*}}) : !tmem -> !fragment
            // CHECK: mxgpu.to_rows %{{.*}} : !fragment -> vector<32xf32>
            %f_fragment = mxgpu.load_accumulator %d_d column(%j) empty(%none) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
            %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
            %g = arith.truncf %f : vector<32xf32> to vector<32xbf16>
            %at = arith.addi %column, %j : index
            // CHECK: mxgpu.store_fragment %{{.*}}, %{{.*}}[%[[ROW]], %{{.*}}] when(%{{.*}}) : vector<32xbf16>, memref<?x?xbf16>
            mxgpu.store_fragment %g, %c[%row, %at] when(%none) : vector<32xbf16>, memref<?x?xbf16>
            // CHECK: mxgpu.store_fragment %{{.*}}, %{{.*}}[%[[ROW]], %{{.*}}] when(%{{.*}}) aligned(32) : vector<32xbf16>, memref<?x?xbf16>
            mxgpu.store_fragment %g, %c[%row, %at] when(%none) aligned(32) : vector<32xbf16>, memref<?x?xbf16>
          }
          // CHECK: mxgpu.consumer_release %[[STAGE]] : !mma_commit_stage
          mxgpu.consumer_release %d : !mxgpu.stage<!acc>
        }
      }
      // CHECK: mxgpu.role @load warps(1) elected {
      mxgpu.role @load warps(1) elected {
        mxgpu.for_each_work_tile (%e, %row, %column, %k0, %k1) in %scheduler {
          %row_tile = arith.floordivsi %row, %c128 : index
          %column_tile = arith.floordivsi %column, %c128 : index
          // CHECK: mxgpu.for_each_k (%{{.*}}, %{{.*}}, %{{.*}}) from %{{.*}} to %{{.*}} step 128 {
          mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 128 {
            %k_tile = arith.floordivsi %k, %c128 : index
            // CHECK: %[[STAGE:.*]], %[[A:.*]], %{{.*}}, %{{.*}}, %{{.*}} = mxgpu.producer_acquire %{{.*}} : [[$IN]]
            %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
            // CHECK: mxgpu.tma_load %{{.*}}[%{{.*}}, %{{.*}}] into %[[A]] for %[[STAGE]] : [[$MAP]], [[$A]], !bulk_copy_stage
            mxgpu.tma_load %a[%row, %k] into %s_a for %s : !map, !a, !mxgpu.stage<!in>
            mxgpu.tma_load %b[%column, %k] into %s_b for %s : !map, !b, !mxgpu.stage<!in>
            mxgpu.tma_load %sa[%row_tile, %k_tile] into %s_sfa for %s : !scale_map, !sfa, !mxgpu.stage<!in>
            mxgpu.tma_load %sb[%column_tile, %k_tile] into %s_sfb for %s : !scale_map, !sfb, !mxgpu.stage<!in>
            // CHECK: mxgpu.producer_commit %[[STAGE]] : !bulk_copy_stage
            mxgpu.producer_commit %s : !mxgpu.stage<!in>
          }
        }
      }
      mxgpu.role @mma warps(1) elected {
        mxgpu.for_each_work_tile (%e, %row, %column, %k0, %k1) in %scheduler {
          %none = arith.cmpi eq, %k0, %k1 : index
          // CHECK: %[[STAGE:.*]], %[[D:.*]] = mxgpu.producer_acquire %{{.*}} : [[$ACC]]
          %d, %d_d = mxgpu.producer_acquire %acc : !acc
          mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 128 {
            %more = arith.xori %first, %true : i1
            // CHECK: %{{.*}}, %[[A:.*]], %[[B:.*]], %[[SFA:.*]], %{{.*}} = mxgpu.consumer_wait
            %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
            // CHECK: mxgpu.copy_scales %[[SFA]] : [[$SF]] -> !mxgpu.scales<128>
            %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
            %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
            // CHECK: mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %[[A]], %[[B]] scales(%{{.*}}, %{{.*}} : !mxgpu.scales<128>, !mxgpu.scales<128>) into %[[D]] accumulate(%{{.*}}) extent(%{{.*}}) : [[$A]], [[$A]], !tmem
            mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d accumulate(%more) extent(%extent) : !a, !b, !d
            mxgpu.consumer_release %s : !mxgpu.stage<!in>
          }
          // CHECK: mxgpu.producer_commit %[[STAGE]] empty(%{{.*}}) : !mma_commit_stage
          mxgpu.producer_commit %d empty(%none) : !mxgpu.stage<!acc>
        }
      }
    }

    // CHECK-LABEL: mxgpu.kernel @quantize(
    // CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 128, vector = 32, ctas = 2>) {
    mxgpu.kernel @quantize(%x: memref<?x?xbf16>, %q: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %q4: memref<?x?xi8>, %s4: memref<?x?xf8E4M3FN>, %largest: memref<f32>, %counts: memref<?xi32>)
        quantize_schedule(<tile = [128, 128], threads = 128, vector = 32, ctas = 2>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %m = memref.dim %x, %c0 : memref<?x?xbf16>
      %n = memref.dim %x, %c1 : memref<?x?xbf16>
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%m, %n, %c0)
      // CHECK: mxgpu.wait_dependencies
      mxgpu.wait_dependencies
      mxgpu.role @quantize warps(4) {
        // CHECK: mxgpu.thread_id
        %thread = mxgpu.thread_id
        // CHECK: mxgpu.thread_id of_warp
        %first = mxgpu.thread_id of_warp
        mxgpu.for_each_work_tile (%e, %row, %column, %k0, %k1) in %scheduler {
          %r = arith.addi %row, %thread : index
          // CHECK: mxgpu.load_block %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xbf16> -> vector<32xbf16>
          %v = mxgpu.load_block %x[%r, %column] : memref<?x?xbf16> -> vector<32xbf16>
          // CHECK: mxgpu.quantize_block %{{.*}} scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
          %e0, %s0 = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
          // CHECK: mxgpu.store_block %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : vector<32xf8E4M3FN>, memref<?x?xf8E4M3FN>
          mxgpu.store_block %e0, %q[%r, %column] : vector<32xf8E4M3FN>, memref<?x?xf8E4M3FN>
          // CHECK: mxgpu.store_scales %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] of(%{{.*}}, %{{.*}}) : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
          mxgpu.store_scales %s0 into %s[%r, %column] of(%m, %n) : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
          // CHECK: mxgpu.quantize_block %{{.*}} seed(%{{.*}} at %{{.*}}) scale_rounding = ceil : vector<32xbf16>
          %seed = arith.constant 7 : i64
          %e2, %s2 = mxgpu.quantize_block %v seed(%seed at %r) scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
          // CHECK: %[[LARGEST:.*]] = mxgpu.thread_amax %{{.*}}, %{{.*}} : vector<32xbf16>, vector<32xbf16>
          %magnitude = mxgpu.thread_amax %v, %v : vector<32xbf16>, vector<32xbf16>
          // CHECK: mxgpu.thread_amax %{{.*}} as_integers : vector<32xbf16>
          %as_integer = mxgpu.thread_amax %v as_integers : vector<32xbf16>
          // CHECK: %[[KNOWN:.*]] = mxgpu.load_relaxed %{{.*}} : memref<f32>
          %known = mxgpu.load_relaxed %largest : memref<f32>
          // CHECK: mxgpu.atomic_max %[[LARGEST]] above %[[KNOWN]] into %{{.*}} : memref<f32>
          mxgpu.atomic_max %magnitude above %known into %largest : memref<f32>
          // CHECK: memref.atomic_rmw addi %{{.*}}, %{{.*}}[%{{.*}}] : (i32, memref<?xi32>) -> i32
          %one_more = arith.constant 1 : i32
          %before = memref.atomic_rmw addi %one_more, %counts[%thread] : (i32, memref<?xi32>) -> i32
          // CHECK: mxgpu.reduce_lanes add %{{.*}} : f32
          %sum = mxgpu.reduce_lanes add %magnitude : f32
          // CHECK: mxgpu.reduce_lanes maximum %{{.*}} : f32
          %maximum = mxgpu.reduce_lanes maximum %magnitude : f32
          // CHECK: mxgpu.thread_amax %{{.*}} column(1) : vector<32x2xbf16>
          %v2 = arith.constant dense<0.0> : vector<32x2xbf16>
          %of_column = mxgpu.thread_amax %v2 column(1) : vector<32x2xbf16>
          // CHECK: mxgpu.reduce_lanes maximum %{{.*}} lanes(4) : f32
          %of_lanes = mxgpu.reduce_lanes maximum %of_column lanes(4) : f32
          // Two lanes share an NVFP4 block.
          // CHECK: mxgpu.quantize_block %{{.*}} encode(%{{.*}}) scale_rounding = ceil lanes(2) : vector<8xf32> -> vector<8xf4E2M1FN>, f8E4M3FN
          %v8 = arith.constant dense<0.0> : vector<8xf32>
          %one = arith.constant 1.0 : f32
          %e1, %s1 = mxgpu.quantize_block %v8 encode(%one) scale_rounding = ceil lanes(2) : vector<8xf32> -> vector<8xf4E2M1FN>, f8E4M3FN
          // CHECK: mxgpu.store_block %{{.*}} : vector<8xf4E2M1FN>, memref<?x?xi8>
          mxgpu.store_block %e1, %q4[%r, %column] : vector<8xf4E2M1FN>, memref<?x?xi8>
          // CHECK: mxgpu.store_scales %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] of(%{{.*}}, %{{.*}}) lanes(2) : f8E4M3FN into memref<?x?xf8E4M3FN>
          mxgpu.store_scales %s1 into %s4[%r, %column] of(%m, %n) lanes(2) : f8E4M3FN into memref<?x?xf8E4M3FN>
          // CHECK: mxgpu.load_scale %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?x32x4x4xf8E8M0FNU> -> f8E8M0FNU
          %sf = mxgpu.load_scale %s[%r, %column] : memref<?x?x32x4x4xf8E8M0FNU> -> f8E8M0FNU
          // CHECK: mxgpu.load_block %{{.*}} : memref<?x?xi8> -> vector<8xf4E2M1FN>
          %codes = mxgpu.load_block %q4[%r, %column] : memref<?x?xi8> -> vector<8xf4E2M1FN>
          // CHECK: mxgpu.dequantize_block %{{.*}} by %{{.*}} : vector<8xf4E2M1FN>, f8E8M0FNU -> vector<8xbf16>
          %wide = mxgpu.dequantize_block %codes by %sf : vector<8xf4E2M1FN>, f8E8M0FNU -> vector<8xbf16>
          // CHECK: mxgpu.dequantize_block %{{.*}} by %{{.*}} decode(%{{.*}}) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf32>
          %wide32 = mxgpu.dequantize_block %e1 by %s1 decode(%one) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf32>
        }
        // CHECK: mxgpu.launch_dependents
        mxgpu.launch_dependents
      }
    }
  }

  // CHECK-LABEL: func.func @host
  func.func @host(%x: memref<?x?xbf16>, %q: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %q4: memref<?x?xi8>, %largest: memref<f32>, %counts: memref<?xi32>) {
    // CHECK: mxgpu.sm_count
    %grid = mxgpu.sm_count
    // CHECK: mxgpu.encode_tensor_map %{{.*}} : memref<?x?xf8E4M3FN> -> [[$MAP]]
    // CHECK: mxgpu.encode_tensor_map %{{.*}} l2_promotion = none : memref<?x?xf8E4M3FN> -> [[$MAP]]
    %map = mxgpu.encode_tensor_map %q l2_promotion = b256 : memref<?x?xf8E4M3FN> -> !map
    %other = mxgpu.encode_tensor_map %q l2_promotion = none : memref<?x?xf8E4M3FN> -> !map
    %c0 = arith.constant 0 : index
    %ok = arith.cmpi sge, %grid, %c0 : index
    // CHECK: mxgpu.require %{{.*}}, "expected something"
    mxgpu.require %ok, "expected something"
    // CHECK: mxgpu.launch @kernels::@quantize grid(%{{.*}}) args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<?x?xbf16>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xi8>, memref<?x?xf8E4M3FN>, memref<f32>, memref<?xi32>)
    mxgpu.launch @kernels::@quantize grid(%grid) args(%x, %q, %s, %q4, %q, %largest, %counts : memref<?x?xbf16>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xi8>, memref<?x?xf8E4M3FN>, memref<f32>, memref<?xi32>)
    return
  }
}
