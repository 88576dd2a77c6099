// RUN: mx-opt %s -split-input-file --mxgpu-insert-proxy-fences --mxgpu-assign-warps --mxgpu-lower-rings --verify-roundtrip | FileCheck %s

// The copy engine fills stages for the tensor core. Loops carry the current stage of a role and
// the parity for its next wait. A producer starts with parity 1, because the phase before the
// first counts as complete.

// CHECK-LABEL: mxgpu.kernel @tma(
// CHECK:         %[[IN:.*]] = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(1) empty(1) : !bulk_copy_ring
// CHECK:         mxgpu.role @load
// CHECK-DAG:       %[[FIRST:.*]] = mxbar.get_stage %[[IN]][0]
// CHECK-DAG:       %[[END:.*]] = mxbar.get_stage %[[IN]][4]
// CHECK-DAG:       %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:           %[[LAST:.*]]:2 = scf.for {{.*}} iter_args(%[[OUTER:.*]] = %[[FIRST]], %[[OUTER_PARITY:.*]] = %[[ONE]])
// CHECK:             %[[INNER_LAST:.*]]:2 = scf.for {{.*}} iter_args(%[[STAGE:.*]] = %[[OUTER]], %[[PARITY:.*]] = %[[OUTER_PARITY]])
// CHECK:               %[[FULL:.*]], %[[EMPTY:.*]] = mxbar.stage_barriers %[[IN]], %[[STAGE]]
// CHECK:               mxbar.wait %[[EMPTY]] parity(%[[PARITY]]){{$}}
// CHECK:               %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance %[[STAGE]], %[[PARITY]] in(%[[FIRST]], %[[END]])

// The producer announces the bytes of all fields before the first copy, and
// copies arrive at the same barrier. The commit needs no instruction.
// CHECK:               %[[FILLED:.*]], %{{.*}} = mxbar.stage_barriers %[[IN]], %[[STAGE]]
// CHECK:               mxbar.arrive %[[FILLED]] expect(16896) : !mxbar.barrier
// CHECK:               %[[A:.*]], %{{.*}} = mxbar.stage_buffers %[[IN]], %[[STAGE]]
// CHECK:               mxbar.load_box %{{.*}} into %[[A]] at %[[FILLED]] : !map, !smem, !mxbar.barrier
// CHECK-NEXT:          scf.yield %[[NEXT]], %[[NEXT_PARITY]]
// CHECK:             scf.yield %[[INNER_LAST]]#0, %[[INNER_LAST]]#1

// Before it ends, the role waits until all four stages are empty: the tensor core
// arrives asynchronously, and no arrival may be pending when the CTA exits.
// CHECK:           scf.for %{{.*}} = %c0_i32 to %c4_i32 {{.*}} iter_args(%[[DRAIN:.*]] = %[[LAST]]#0, %[[DRAIN_PARITY:.*]] = %[[LAST]]#1)
// CHECK:             %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers %[[IN]], %[[DRAIN]]
// CHECK:             mxbar.wait %[[EMPTY]] parity(%[[DRAIN_PARITY]])
// CHECK:             %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance %[[DRAIN]], %[[DRAIN_PARITY]]
// CHECK:             scf.yield %[[NEXT]], %[[NEXT_PARITY]]

// A consumer starts with parity 0, the first phase. The tensor core releases
// the stage once the pending MMAs are complete.
// CHECK:         mxgpu.role @mma
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK:           mxbar.wait %[[FULL]] parity(%[[ZERO]]){{$}}
// CHECK:           nvvm.tcgen05.fence <after>
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.commit %[[EMPTY]]{{$}}
// CHECK-NOT:       mxbar.wait

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @tma(%map: !map, %n: index, %m: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %m step %c1 {
          %stage, %a, %sf = mxgpu.producer_acquire %in : !in
          mxgpu.tma_load %map[%i, %j] into %a for %stage : !map, !a, !in_stage
          mxgpu.producer_commit %stage : !in_stage
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      %stage, %a, %sf = mxgpu.consumer_wait %in : !in
      mxgpu.consumer_release %stage : !in_stage
    }
  }
}

// -----

// Accumulators are placed in the tensor memory columns of the kernel, and four warps read them. One
// lane of each warp arrives, after a fence that orders its loads before the next MMAs.

// CHECK-LABEL: mxgpu.kernel @mma(
// CHECK-SAME:    %[[NONE:.*]]: i1
// CHECK:         %[[TMEM:.*]] = mxbar.tensor_memory columns(256) slot(32) warp(4)
// CHECK:         %[[ACC:.*]] = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(0) full(1) empty(4)
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxbar.wait
// CHECK:           nvvm.tcgen05.fence <after>
// CHECK:           mxbar.stage_buffers %[[ACC]], %{{.*}} tensor_memory(%[[TMEM]])
// CHECK:           mxgpu.load_accumulator
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers
// CHECK:           nvvm.tcgen05.fence <before>
// CHECK:           nvvm.bar.warp.sync
// CHECK:           %[[LANE:.*]] = nvvm.read.ptx.sreg.laneid
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0_i32
// CHECK:           scf.if %[[IS_FIRST]] {
// CHECK-NEXT:        mxbar.arrive %[[EMPTY]] : !mxbar.barrier

// If no MMA was started, no completion signals the barrier, so the thread arrives.
// CHECK:         mxgpu.role @mma
// CHECK:           scf.for
// CHECK:             mxbar.wait
// CHECK:             nvvm.tcgen05.fence <after>
// CHECK:             %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK-NEXT:        scf.if %[[NONE]] {
// CHECK-NEXT:          mxbar.arrive %[[FULL]] : !mxbar.barrier
// CHECK-NEXT:        } else {
// CHECK-NEXT:          mxbar.commit %[[FULL]]{{$}}
// CHECK-NEXT:        }
// Threads release the stages synchronously, so the role does not wait at its end.
// CHECK-NOT:       mxbar.wait

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @mma(%none: i1, %n: index, %out: memref<?x?xf32>) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
      mxgpu.store_fragment %f, %out[%n, %n] when(%none) : vector<32xf32>, memref<?x?xf32>
      mxgpu.consumer_release %stage : !acc_stage
    }
    mxgpu.role @mma warps(1) elected {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %stage, %d = mxgpu.producer_acquire %acc : !acc
        mxgpu.producer_commit %stage empty(%none) : !acc_stage
      }
    }
  }
}

// -----

// The accumulators of the two stages share columns. The producer of stage 0 waits for the release
// of stage 1 in the previous round, and the producer of stage 1 waits for the release of stage 0 in
// the same round. The role tracks the parity of stage 0, and stage 1 uses the opposite parity. Each
// producer fills its own stage.

// CHECK-LABEL: mxgpu.kernel @overlap(
// CHECK:         mxgpu.role @epilogue
// CHECK-NOT:       mxbar.previous_stage
// CHECK:         mxgpu.role @mma
// CHECK:           %[[STAGE:.*]] = mxbar.get_stage %{{.*}}[0]
// CHECK:           %[[PARITY:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      %[[OTHER:.*]], %[[AWAITED:.*]] = mxbar.previous_stage %[[STAGE]], %[[PARITY]]
// CHECK-NEXT:      %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers %{{.*}}, %[[OTHER]]
// CHECK-NEXT:      mxbar.wait %[[EMPTY]] parity(%[[AWAITED]])
// CHECK-NEXT:      mxbar.advance %[[STAGE]], %[[PARITY]] in
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers %{{.*}}, %[[STAGE]]
// CHECK-NEXT:      mxbar.commit %[[FULL]]

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128), overlap = 32>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @overlap() {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      mxgpu.consumer_release %stage : !acc_stage
    }
    mxgpu.role @mma warps(1) elected {
      %stage, %d = mxgpu.producer_acquire %acc : !acc
      mxgpu.producer_commit %stage : !acc_stage
    }
  }
}

// -----

// In a CTA pair, each CTA announces its bytes at the leader's barrier. Two arrivals fill a stage,
// and copies complete at the same barrier. Threads of both CTAs release accumulators with 2 x 4
// warp arrivals at the leader's barrier. The tensor core signals both CTAs.

// CHECK-LABEL: mxgpu.kernel @pair(
// CHECK:         mxbar.placed_ring {{.*}} full(2) empty(1) : !bulk_copy_ring
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(8) : !mma_commit_ring
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxbar.wait %{{.*}} parity(%{{.*}}) pair
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers
// CHECK:           %[[LEADERS:.*]] = mxbar.leader_barrier %[[EMPTY]]
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive %[[LEADERS]] : !mxbar.barrier<pair>
// CHECK:         mxgpu.role @load
// CHECK:           mxbar.wait %{{.*}} parity(%{{.*}}) pair
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK-NEXT:      %[[LEADERS:.*]] = mxbar.leader_barrier %[[FULL]]
// CHECK-NEXT:      mxbar.arrive %[[LEADERS]] expect(16384) : !mxbar.barrier<pair>
// CHECK:           mxbar.load_box %{{.*}} at %[[LEADERS]] : !map, !smem, !mxbar.barrier<pair>
// CHECK:           scf.for
// CHECK:             mxbar.wait %{{.*}} parity(%{{.*}}) pair
// CHECK:         mxgpu.role @mma
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers %{{.*}} : !mma_commit_ring
// CHECK-NEXT:      mxbar.wait %[[EMPTY]] parity(%{{.*}}) pair
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers %{{.*}} : !bulk_copy_ring
// CHECK-NEXT:      mxbar.wait %[[FULL]] parity(%{{.*}}) pair
// CHECK:           mxbar.commit %{{.*}} pair
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive %{{.*}} both :
// CHECK:           } else {
// CHECK-NEXT:        mxbar.commit %{{.*}} pair

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit, scope = pair>
!in_stage = !mxgpu.stage<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128), scope = pair>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @pair(%map: !map, %n: index, %none: i1) cluster(2) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      mxgpu.consumer_release %stage : !acc_stage
    }
    mxgpu.role @load warps(1) elected {
      %stage, %a = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %map[%n] into %a for %stage : !map, !a, !in_stage
      mxgpu.producer_commit %stage : !in_stage
    }
    mxgpu.role @mma warps(1) elected on_leader {
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %stage, %a = mxgpu.consumer_wait %in : !in
      mxgpu.consumer_release %stage : !in_stage
      mxgpu.producer_commit %acc_stage empty(%none) : !acc_stage
    }
  }
}

// -----

// Threads fill stages for other threads. Each thread arrives, without a fence.

// CHECK-LABEL: mxgpu.kernel @threads(
// CHECK:         mxbar.placed_ring {{.*}} full(64) empty(128)
// CHECK:         mxgpu.role @produce
// CHECK:           %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.wait %[[EMPTY]] parity(%[[ONE]])
// CHECK:           mxgpu.store_shared
// CHECK-NEXT:      %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.arrive %[[FULL]] : !mxbar.barrier
// CHECK:         mxgpu.role @read
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.wait %[[FULL]] parity(%[[ZERO]])
// CHECK:           %{{.*}}, %[[EMPTY:.*]] = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.arrive %[[EMPTY]] : !mxbar.barrier
// CHECK-NOT:       {{nvvm.bar|nvvm.fence|scf.if}}

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(128)>
!stage = !mxgpu.stage<!ring>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @threads(%i: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      %stage, %to = mxgpu.producer_acquire %ring : !ring
      mxgpu.store_shared %x, %to at [%i, %i] : vector<4xf32>, !x
      mxgpu.producer_commit %stage : !stage
    }
    mxgpu.role @read warps(4) {
      %stage, %from = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %stage : !stage
    }
  }
}

// -----

// Two roles release the stages, and one lane of each of the 1 + 4 warps arrives. A fence orders the
// reads of a warp before the next write by the copy engine.

// CHECK-LABEL: mxgpu.kernel @two_readers(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(5)
// CHECK:         mxgpu.role @load
// Threads release the stages, so the role does not wait at its end.
// CHECK-NOT:       scf.for
// CHECK:         mxgpu.role @rows
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive
// CHECK:         mxgpu.role @columns
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = bulk_copy, consumer = threads(160)>
!stage = !mxgpu.stage<!ring>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @two_readers(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      %stage, %x = mxgpu.producer_acquire %ring : !ring
      mxgpu.tma_load %map[%i, %i] into %x for %stage : !map, !x, !stage
      mxgpu.producer_commit %stage : !stage
    }
    mxgpu.role @rows warps(1) {
      %stage, %x = mxgpu.consumer_wait %ring : !ring
      %v = mxgpu.load_shared %x at [%i, %i] : !x -> vector<4xf32>
      mxgpu.consumer_release %stage : !stage
    }
    mxgpu.role @columns warps(4) {
      %stage, %x = mxgpu.consumer_wait %ring : !ring
      %v = mxgpu.load_shared %x at [%i, %i] : !x -> vector<4xf32>
      mxgpu.consumer_release %stage : !stage
    }
  }
}

// -----

// Warpgroups run MMAs on copied data, and one lane of each warp releases the
// stage. No fence is needed.

// CHECK-LABEL: mxgpu.kernel @wgmma(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(4)
// CHECK:         mxgpu.role @multiply
// CHECK:           mxgpu.mma_wait
// CHECK-NOT:       nvvm.fence
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive
// The fence stays if threads also read the stage.
// CHECK-LABEL: mxgpu.kernel @wgmma_and_threads(
// CHECK:         mxgpu.role @multiply
// CHECK:           mxgpu.load_shared
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           mxgpu.mma_wait
// CHECK:           nvvm.bar.warp.sync
// Threads fence their own writes to the stage, so the release needs no
// fence.
// CHECK-LABEL: mxgpu.kernel @wgmma_filled(
// CHECK:         mxbar.placed_ring {{.*}} full(2) empty(4)
// CHECK:         mxgpu.role @multiply
// CHECK:           mxgpu.mma_wait
// CHECK-NOT:       nvvm.fence
// CHECK:           mxbar.arrive
// CHECK:         mxgpu.role @fill
// CHECK:           mxgpu.store_shared
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive

!ring = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!stage = !mxgpu.stage<!ring>
!filled = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = threads(64), consumer = async_threads(128)>
!filled_stage = !mxgpu.stage<!filled>
!map = !mxgpu.tensor_map<128x64xbf16, sw128>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @wgmma(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @multiply warps(4) {
      %a = mxgpu.zero_fragment : !a
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %b = mxgpu.consumer_wait %ring : !ring
      %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      %accumulator = mxgpu.mma_wait %started pending(0) : !accumulator
      mxgpu.consumer_release %stage : !stage
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !ring
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !stage
      mxgpu.producer_commit %stage : !stage
    }
  }

  mxgpu.kernel @wgmma_and_threads(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @multiply warps(4) {
      %a = mxgpu.zero_fragment : !a
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %b = mxgpu.consumer_wait %ring : !ring
      %read = mxgpu.load_shared %b at [%i, %i] : !b -> vector<8xbf16>
      %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      %accumulator = mxgpu.mma_wait %started pending(0) : !accumulator
      mxgpu.consumer_release %stage : !stage
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !ring
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !stage
      mxgpu.producer_commit %stage : !stage
    }
  }

  mxgpu.kernel @wgmma_filled(%i: index, %v: bf16) {
    %x = vector.broadcast %v : bf16 to vector<8xbf16>
    %ring = mxgpu.ring "ring" : !filled
    mxgpu.role @multiply warps(4) {
      %a = mxgpu.zero_fragment : !a
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %b = mxgpu.consumer_wait %ring : !filled
      %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      %accumulator = mxgpu.mma_wait %started pending(0) : !accumulator
      mxgpu.consumer_release %stage : !filled_stage
    }
    mxgpu.role @fill warps(2) {
      %stage, %b = mxgpu.producer_acquire %ring : !filled
      mxgpu.store_shared %x, %b at [%i, %i] : vector<8xbf16>, !b
      mxgpu.producer_commit %stage : !filled_stage
    }
  }
}

// -----

// tcgen05.mma signals the threads after its reads, so its release needs no fence either. The
// threads that fill stages wait for all stages before they exit.

// CHECK-LABEL: mxgpu.kernel @mma_filled(
// CHECK:         mxbar.placed_ring {{.*}} full(2) empty(1)
// CHECK:         mxgpu.role @multiply
// CHECK:           nvvm.tcgen05.fence <after>
// CHECK:           mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128>
// CHECK-NOT:       nvvm.fence
// CHECK:           mxbar.commit
// CHECK:         mxgpu.role @fill
// CHECK:           mxgpu.store_shared
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive
// CHECK:           scf.for
// CHECK:             mxbar.wait

!ring = !mxgpu.ring<2 x (a: smem<128x64xbf16, sw128>), producer = threads(64), consumer = mma_commit>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @mma_filled(%i: index, %v: bf16) {
    %x = vector.broadcast %v : bf16 to vector<8xbf16>
    %ring = mxgpu.ring "ring" : !ring
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @read warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      mxgpu.consumer_release %stage : !acc_stage
    }
    mxgpu.role @multiply warps(1) elected {
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %stage, %a = mxgpu.consumer_wait %ring : !ring
      mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128> %a, %a into %d : !a, !a, !d
      mxgpu.consumer_release %stage : !stage
      mxgpu.producer_commit %acc_stage : !acc_stage
    }
    mxgpu.role @fill warps(2) {
      %stage, %a = mxgpu.producer_acquire %ring : !ring
      mxgpu.store_shared %x, %a at [%i, %i] : vector<8xbf16>, !a
      mxgpu.producer_commit %stage : !stage
    }
  }
}

// -----

// The threads of each CTA of a pair fill half of a stage and signal the leader with 2 x 2
// warp arrivals. The tensor core signals both CTAs.

// CHECK-LABEL: mxgpu.kernel @mma_filled_pair(
// CHECK:         mxbar.placed_ring {{.*}} full(4) empty(1)
// CHECK:         mxgpu.role @multiply
// CHECK:           mxbar.wait %{{.*}} pair
// CHECK:           mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 256, n = 256, ctas = 2>
// CHECK:           mxbar.commit %{{.*}} pair
// CHECK:         mxgpu.role @fill
// CHECK:           mxgpu.store_shared
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           %[[LEADERS:.*]] = mxbar.leader_barrier
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive %[[LEADERS]] : !mxbar.barrier<pair>

!ring = !mxgpu.ring<2 x (a: smem<128x64xbf16, sw128>), producer = threads(64), consumer = mma_commit, scope = pair>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), scope = pair>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x256xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @mma_filled_pair(%i: index, %v: bf16) cluster(2) {
    %x = vector.broadcast %v : bf16 to vector<8xbf16>
    %ring = mxgpu.ring "ring" : !ring
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @read warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      mxgpu.consumer_release %stage : !acc_stage
    }
    mxgpu.role @multiply warps(1) elected on_leader {
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %stage, %a = mxgpu.consumer_wait %ring : !ring
      mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 256, n = 256, ctas = 2> %a, %a into %d : !a, !a, !d
      mxgpu.consumer_release %stage : !stage
      mxgpu.producer_commit %acc_stage : !acc_stage
    }
    mxgpu.role @fill warps(2) {
      %stage, %a = mxgpu.producer_acquire %ring : !ring
      mxgpu.store_shared %x, %a at [%i, %i] : vector<8xbf16>, !a
      mxgpu.producer_commit %stage : !stage
    }
  }
}

// -----

// A CTA pair uses cluster launch control. The leader issues the query for both CTAs once their
// stages are empty, and each CTA expects the response at its own barrier. An elected role arrives
// once at the leader's barrier, and any other role arrives once per warp. The total is 2 x (1 + 2)
// + 1 arrivals.

// CHECK-LABEL: mxgpu.kernel @clc_pair(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(7)
// CHECK:         mxgpu.role @schedule
// CHECK:           %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
// CHECK:           %[[LEADS:.*]] = arith.cmpi eq, %[[RANK]], %c0_i32
// CHECK:           scf.if %[[LEADS]] {
// CHECK:             mxbar.wait %{{.*}} parity(%c1_i32) pair
// CHECK:           }
// CHECK:           mxbar.arrive %{{.*}} expect(16) : !mxbar.barrier{{$}}
// CHECK:           %[[UNIT:.*]] = mxbar.stage_buffers
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.request_work_tile %[[UNIT]], %[[FULL]] pair
// CHECK:           mxbar.wait %{{.*}} parity(%c0_i32) pair
// CHECK:           %[[LEADERS:.*]] = mxbar.leader_barrier
// CHECK-NEXT:      mxbar.arrive %[[LEADERS]] : !mxbar.barrier<pair>
// CHECK:         mxgpu.role @other
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive %{{.*}} : !mxbar.barrier<pair>
// CHECK:         mxgpu.role @leading
// CHECK:           mxbar.arrive %{{.*}} : !mxbar.barrier<pair>

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles, scope = pair>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @clc_pair() cluster(2) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    mxgpu.role @schedule warps(1) elected {
      %request, %to = mxgpu.producer_acquire %work_tiles : !ring
      mxgpu.producer_commit %request : !stage
      %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
      mxgpu.consumer_release %answer : !stage
    }
    mxgpu.role @other warps(2) {
      %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
      mxgpu.consumer_release %answer : !stage
    }
    mxgpu.role @leading warps(1) elected on_leader {
      %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
      mxgpu.consumer_release %answer : !stage
    }
  }
}

// -----

// In the first kernel, a thread issues work tiles. In the second kernel, a warp finds work tiles
// and one of its lanes publishes them. Data that threads write for other threads needs no proxy
// fence.

// CHECK-LABEL: mxgpu.kernel @tickets(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(2)
// CHECK:         mxgpu.role @schedule
// CHECK-NOT:       scf.if
// CHECK:           mxbar.arrive
// CHECK:         mxgpu.role @work
// CHECK-NOT:       nvvm.fence
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive
// CHECK-LABEL: mxgpu.kernel @groups(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(2)
// CHECK:         mxgpu.role @schedule
// CHECK:           nvvm.read.ptx.sreg.laneid
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive

!tickets = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = atomic_counter, consumer = roles>
!atomic_counter_stage = !mxgpu.stage<!tickets>
!groups = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>
!groups_stage = !mxgpu.stage<!groups>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @tickets() {
    %work_tiles = mxgpu.ring "work_tiles" : !tickets
    mxgpu.role @schedule warps(1) elected {
      %request, %to = mxgpu.producer_acquire %work_tiles : !tickets
      mxgpu.producer_commit %request : !atomic_counter_stage
    }
    mxgpu.role @work warps(2) {
      %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !tickets
      mxgpu.consumer_release %answer : !atomic_counter_stage
    }
  }
  mxgpu.kernel @groups() {
    %work_tiles = mxgpu.ring "work_tiles" : !groups
    mxgpu.role @schedule warps(1) {
      %request, %to = mxgpu.producer_acquire %work_tiles : !groups
      mxgpu.producer_commit %request : !groups_stage
    }
    mxgpu.role @work warps(2) {
      %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !groups
      mxgpu.consumer_release %answer : !groups_stage
    }
  }
}

// -----

// The stages use the tensor memory slots for scales in turn. A counter that starts at 0 selects the
// slot. A field with a single slot needs no counter.

// CHECK-LABEL: mxgpu.kernel @places(
// CHECK:         %[[TMEM:.*]] = mxbar.tensor_memory
// CHECK:         mxgpu.role @mma
// CHECK:           %[[FIRST:.*]] = arith.constant 0 : i32
// CHECK:           scf.for {{.*}} iter_args(%[[PLACE:[^ ]*]] = %[[FIRST]],
// CHECK:             mxbar.copy_to_columns %{{.*}} tensor_memory(%[[TMEM]]) column(0) :
// CHECK:             %[[NEXT:.*]] = arith.addi %[[PLACE]], %{{.*}}
// CHECK:             %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
// CHECK:             %[[WRAPPED:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[NEXT]]
// CHECK:             mxbar.copy_to_columns %{{.*}} tensor_memory(%[[TMEM]]) column(4) place(%[[PLACE]]) :
// CHECK:             scf.yield %[[WRAPPED]], {{.*}} :

!in = !mxgpu.ring<3 x (sfa: smem<512xi8>, sfb: smem<1024xi8>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!sfa = !mxgpu.buffer<smem<512xi8>>
!sfb = !mxgpu.buffer<smem<1024xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @places(%n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %stage, %sfa, %sfb = mxgpu.consumer_wait %in : !in
        %a = mxgpu.copy_scales %sfa : !sfa -> !mxgpu.scales<128>
        %b = mxgpu.copy_scales %sfb stages(3) : !sfb -> !mxgpu.scales<256>
        mxgpu.consumer_release %stage : !in_stage
      }
    }
  }
}

// -----

// An unrolled loop and the loop for its remainder copy the same field. All stages use the slots in
// turn.

// CHECK-LABEL: mxgpu.kernel @shared_places(
// CHECK:           %[[FIRST:.*]] = arith.constant 0 : i32
// CHECK:           %[[AFTER:[^:]*]]:{{.*}} = scf.for {{.*}} iter_args(%[[PLACE:[^ ]*]] = %[[FIRST]],
// CHECK:             %[[NEXT:.*]] = arith.addi %[[PLACE]], %{{.*}}
// CHECK:             %[[PLACE1:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NEXT]]
// CHECK:             mxbar.copy_to_columns %{{.*}} tensor_memory({{.*}}) column(0) place(%[[PLACE]]) :
// CHECK:             %[[NEXT:.*]] = arith.addi %[[PLACE1]], %{{.*}}
// CHECK:             %[[PLACE2:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NEXT]]
// CHECK:             mxbar.copy_to_columns %{{.*}} tensor_memory({{.*}}) column(0) place(%[[PLACE1]]) :
// CHECK:             scf.yield %[[PLACE2]], {{.*}} :
// CHECK:           scf.for {{.*}} iter_args(%[[PLACE:[^ ]*]] = %[[AFTER]]#0,
// CHECK:             mxbar.copy_to_columns %{{.*}} tensor_memory({{.*}}) column(0) place(%[[PLACE]]) :

!in = !mxgpu.ring<3 x (sfa: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!sfa = !mxgpu.buffer<smem<512xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @shared_places(%n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %stage, %sfa = mxgpu.consumer_wait %in : !in
        %a = mxgpu.copy_scales %sfa stages(2) : !sfa -> !mxgpu.scales<128>
        mxgpu.consumer_release %stage : !in_stage
        %stage1, %sfa1 = mxgpu.consumer_wait %in : !in
        %a1 = mxgpu.copy_scales %sfa1 stages(2) : !sfa -> !mxgpu.scales<128>
        mxgpu.consumer_release %stage1 : !in_stage
      }
      scf.for %i = %c0 to %n step %c1 {
        %stage, %sfa = mxgpu.consumer_wait %in : !in
        %a = mxgpu.copy_scales %sfa stages(2) : !sfa -> !mxgpu.scales<128>
        mxgpu.consumer_release %stage : !in_stage
      }
    }
  }
}

// -----

// Barriers are initialized before the wait for preceding kernels.

// CHECK-LABEL: mxgpu.kernel @dependent(
// CHECK:         mxbar.placed_ring
// CHECK:         mxgpu.wait_dependencies
// CHECK:         mxgpu.role @load

!ring = !mxgpu.ring<2 x (a: smem<128xi32>), producer = threads(32), consumer = threads(32)>
!ring_stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @dependent() {
    %ring = mxgpu.ring "in" : !ring
    mxgpu.wait_dependencies
    mxgpu.role @load warps(1) {
      %stage, %a = mxgpu.producer_acquire %ring : !ring
      mxgpu.producer_commit %stage : !ring_stage
    }
    mxgpu.role @use warps(1) {
      %stage, %a = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %stage : !ring_stage
    }
  }
}

// -----

// Each CTA of a pair runs MMAs on its own stages. Each CTA loads half of a stage into both CTAs,
// expects the bytes of the whole stage, and releases the stage to both CTAs.

// CHECK-LABEL: mxgpu.kernel @wgmma_pair(
// CHECK:         mxbar.placed_ring {{.*}} full(1) empty(8)
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
// CHECK-NEXT:      mxbar.wait %[[FULL]]
// CHECK-NOT:       pair
// CHECK:           mxgpu.mma_wait
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        mxbar.arrive %{{.*}} both of_async : !mxbar.barrier
// CHECK:         mxgpu.role @load
// CHECK-NOT:       mxbar.leader_barrier
// CHECK:           mxbar.arrive %[[FILLED:.*]] expect(16384)
// CHECK:           mxbar.load_box %{{.*}} into %{{.*}} box(%{{.*}}) at %[[FILLED]] multicast

!ring = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128), scope = pair>
!stage = !mxgpu.stage<!ring>
!map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @wgmma_pair(%i: index, %map: !map) cluster(2) {
    %rank = mxgpu.cta_rank
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @multiply warps(4) {
      %a = mxgpu.zero_fragment : !a
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %b = mxgpu.consumer_wait %ring : !ring
      %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      %accumulator = mxgpu.mma_wait %started pending(0) : !accumulator
      mxgpu.consumer_release %stage : !stage
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !ring
      mxgpu.tma_load %map[%i, %i] into %b box(%rank) for %stage multicast : !map, !b, !stage
      mxgpu.producer_commit %stage : !stage
    }
  }
}
