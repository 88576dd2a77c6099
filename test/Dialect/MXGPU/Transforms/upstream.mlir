// RUN: mx-opt %s --canonicalize --cse --loop-invariant-code-motion --mxgpu-verify-pipelines | FileCheck %s

// Upstream passes use the memory effects and loop interfaces of operations. The passes
// keep synchronization, and remove redundant and unused operations.

!tile = !mxgpu.tensor_map<64x64xbf16, sw128>
!in = !mxgpu.ring<2 x (x: smem<64x64xbf16, sw128>), producer = bulk_copy, consumer = threads(32)>
!in_stage = !mxgpu.stage<!in>
!x = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!more = !mxgpu.ring<2 x (y: smem<64x64xbf16, sw128>), producer = threads(32), consumer = threads(32)>
!more_stage = !mxgpu.stage<!more>
!a_map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!sf_map = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!operands = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!work_tiles = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!work_tile = !mxgpu.buffer<smem<16xi8>>

gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @hoist(
  mxgpu.kernel @hoist(%map: !tile, %m: index, %n: index, %k: index, %to: memref<?x?xbf16>) {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 64] of(%m, %n, %k)
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        mxgpu.for_each_k (%i, %extent, %first) from %start to %end step 64 {
          %s, %x = mxgpu.producer_acquire %in : !in
          mxgpu.tma_load %map[%row, %i] into %x for %s : !tile, !x, !in_stage
          mxgpu.producer_commit %s : !in_stage
        }
      }
    }
    // CHECK: mxgpu.role @read
    // Hoists invariant values out of the work tile loop.
    // CHECK-NEXT: %[[THREAD:.*]] = mxgpu.thread_id
    // CHECK-NEXT: %[[OFFSET:.*]] = arith.muli %[[THREAD]],
    // CHECK-NEXT: mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %[[COLUMN:.*]], %{{.*}}, %{{.*}}) in
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // Hoists invariant values out of the K loop.
        // CHECK-NEXT: %[[OWN:.*]] = arith.addi %[[ROW]], %[[OFFSET]]
        // CHECK-NEXT: mxgpu.for_each_k
        mxgpu.for_each_k (%i, %extent, %first) from %start to %end step 64 {
          %thread = mxgpu.thread_id
          %offset = arith.muli %thread, %m : index
          %own = arith.addi %row, %offset : index
          // The remaining operations depend on the step.
          // CHECK-NEXT: %[[STAGE:.*]], %[[X:.*]] = mxgpu.consumer_wait
          // CHECK-NEXT: %[[FRAGMENT:.*]] = mxgpu.load_shared %[[X]]
          // CHECK-NEXT: mxgpu.store_fragment %[[FRAGMENT]], %{{.*}}[%[[OWN]], %[[COLUMN]]]
          // CHECK-NEXT: mxgpu.consumer_release %[[STAGE]]
          // CHECK-NEXT: }
          %s, %x = mxgpu.consumer_wait %in : !in
          %fragment = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
          mxgpu.store_fragment %fragment, %to[%own, %column] when(%yes) : vector<32xbf16>, memref<?x?xbf16>
          mxgpu.consumer_release %s : !in_stage
        }
      }
    }
  }

  // CHECK-LABEL: mxgpu.kernel @merge(
  mxgpu.kernel @merge(%map: !tile, %m: index, %n: index, %to: memref<?x?xbf16>) {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 64] of(%m, %n, %c0)
    %in = mxgpu.ring "in" : !in
    %more = mxgpu.ring "more" : !more
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %x = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %map[%row, %column] into %x for %s : !tile, !x, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    // CHECK: mxgpu.role @pass_on
    mxgpu.role @pass_on warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // Merges equal reads.
        // CHECK: %[[S:.*]], %[[X:.*]] = mxgpu.consumer_wait %in
        // CHECK-NEXT: %[[ONE:.*]] = mxgpu.load_shared %[[X]]
        // CHECK-NEXT: %[[TWICE:.*]] = arith.addf %[[ONE]], %[[ONE]]
        %s, %x = mxgpu.consumer_wait %in : !in
        %one = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
        %two = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
        %twice = arith.addf %one, %two : vector<32xbf16>
        // Keeps reads before and after another acquire, write or release.
        // CHECK-NEXT: %[[T:.*]], %[[Y:.*]] = mxgpu.producer_acquire %more
        // CHECK-NEXT: %[[THREE:.*]] = mxgpu.load_shared %[[X]]
        // CHECK-NEXT: mxgpu.store_shared %[[TWICE]], %[[Y]]
        // CHECK-NEXT: %[[FOUR:.*]] = mxgpu.load_shared %[[X]]
        // CHECK-NEXT: mxgpu.producer_commit %[[T]]
        // CHECK-NEXT: %[[FIVE:.*]] = mxgpu.load_shared %[[X]]
        // CHECK-NEXT: mxgpu.consumer_release %[[S]]
        // CHECK-NEXT: arith.addf %[[THREE]], %[[FOUR]]
        // CHECK-NEXT: arith.addf %{{.*}}, %[[FIVE]]
        %t, %y = mxgpu.producer_acquire %more : !more
        %three = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
        mxgpu.store_shared %twice, %y at [%c0, %c0] : vector<32xbf16>, !x
        %four = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
        mxgpu.producer_commit %t : !more_stage
        %five = mxgpu.load_shared %x at [%c0, %c0] : !x -> vector<32xbf16>
        mxgpu.consumer_release %s : !in_stage
        %some = arith.addf %three, %four : vector<32xbf16>
        %all = arith.addf %some, %five : vector<32xbf16>
        mxgpu.store_fragment %all, %to[%row, %column] when(%yes) : vector<32xbf16>, memref<?x?xbf16>
      }
    }
    // CHECK: mxgpu.role @read
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // Removes an unused read, but keeps the wait for its stage and the release.
        // CHECK: %[[T:.*]], %{{.*}} = mxgpu.consumer_wait %more
        // CHECK-NEXT: mxgpu.consumer_release %[[T]]
        %t, %y = mxgpu.consumer_wait %more : !more
        %unused = mxgpu.load_shared %y at [%c0, %c0] : !x -> vector<32xbf16>
        mxgpu.consumer_release %t : !more_stage
      }
    }
  }

  // CHECK-LABEL: mxgpu.kernel @accumulate(
  mxgpu.kernel @accumulate(%a_map: !a_map, %sf_map: !sf_map, %m: index, %n: index, %k: index, %to: memref<?x?xf32>) {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    %work_tiles = mxgpu.ring "work_tiles" : !work_tiles
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !work_tiles) raster = linear tile [128, 128] of(%m, %n, %k)
    %in = mxgpu.ring "in" : !operands
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %a, %sf = mxgpu.producer_acquire %in : !operands
        mxgpu.tma_load %a_map[%row, %start] into %a for %s : !a_map, !a, !mxgpu.stage<!operands>
        mxgpu.tma_load %sf_map[%start] into %sf for %s : !sf_map, !sf, !mxgpu.stage<!operands>
        mxgpu.producer_commit %s : !mxgpu.stage<!operands>
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !mxgpu.stage<!work_tiles>
      }
    }
    // CHECK: mxgpu.role @mma
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d_stage, %d = mxgpu.producer_acquire %acc : !acc
        // Keeps both copies, because scales stay in tensor memory until the next copy,
        // and keeps both MMAs.
        // CHECK: mxgpu.consumer_wait %in
        // CHECK-COUNT-2: mxgpu.copy_scales
        // CHECK-COUNT-2: mxgpu.mma
        %s, %a, %sf = mxgpu.consumer_wait %in : !operands
        %sfa = mxgpu.copy_scales %sf : !sf -> !mxgpu.scales<128>
        %sfb = mxgpu.copy_scales %sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %a scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d : !a, !a, !d
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %a scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d accumulate(%yes) : !a, !a, !d
        mxgpu.consumer_release %s : !mxgpu.stage<!operands>
        mxgpu.producer_commit %d_stage : !mxgpu.stage<!acc>
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !mxgpu.stage<!work_tiles>
      }
    }
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %request, %to_fill = mxgpu.producer_acquire %work_tiles : !work_tiles
        mxgpu.producer_commit %request : !mxgpu.stage<!work_tiles>
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !mxgpu.stage<!work_tiles>
      }
    }
    // CHECK: mxgpu.role @epilogue
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // Merges two equal reads, and removes an unused read.
        // CHECK: %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %acc
        // CHECK-NEXT: %[[LOADED:.*]] = mxgpu.load_accumulator %[[D]] column(%c0)
        // CHECK-NEXT: %[[ONE:.*]] = mxgpu.to_rows %[[LOADED]]
        // CHECK-NEXT: arith.addf %[[ONE]], %[[ONE]]
        // CHECK-NEXT: mxgpu.consumer_release %[[STAGE]]
        %s, %d = mxgpu.consumer_wait %acc : !acc
        %unused_fragment = mxgpu.load_accumulator %d column(%c0) : !d -> !mxgpu.fragment<128x64xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>>
        %unused = mxgpu.to_rows %unused_fragment : !mxgpu.fragment<128x64xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>> -> vector<64xf32>
        %one_fragment = mxgpu.load_accumulator %d column(%c0) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %one = mxgpu.to_rows %one_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        %two_fragment = mxgpu.load_accumulator %d column(%c0) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %two = mxgpu.to_rows %two_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        %sum = arith.addf %one, %two : vector<32xf32>
        mxgpu.consumer_release %s : !mxgpu.stage<!acc>
        mxgpu.store_fragment %sum, %to[%row, %column] when(%yes) : vector<32xf32>, memref<?x?xf32>
        // Keeps mxgpu.next_work_tile, which has no results.
        // CHECK: %[[ANSWER:.*]], %[[UNIT:.*]] = mxgpu.consumer_wait %work_tiles
        // CHECK-NEXT: mxgpu.next_work_tile %[[UNIT]]
        // CHECK-NEXT: mxgpu.consumer_release %[[ANSWER]]
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !mxgpu.stage<!work_tiles>
      }
    }
  }
}
