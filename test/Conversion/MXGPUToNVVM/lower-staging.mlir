// RUN: mx-opt %s -split-input-file --mxgpu-insert-proxy-fences --mxgpu-assign-warps --mxgpu-lower-rings --canonicalize --cse --verify-roundtrip | FileCheck %s

// Stages that are stored by bulk copies have no barriers. The thread that issues the copies also
// counts the pending copies.

!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // Each warp has its own stages. One thread waits until at most two bulk groups are still reading,
  // so that the third stage is free, and then signals its warp. Each stage ends with a commit, even
  // without a copy. The role starts at the second warp of the CTA, so 1 is subtracted from the warp
  // number.
  // CHECK-LABEL: mxgpu.kernel @warps(
  // CHECK-SAME:    %[[SOME:[a-z0-9]*]]: i1)
  // CHECK:         %[[RING:.*]] = mxbar.placed_ring "staging" offsets [0] stride(4096) : !threads_ring
  // CHECK:         mxgpu.role @epilogue
  // CHECK:           %[[FIRST:.*]] = mxbar.get_stage %[[RING]][0]
  // CHECK:           scf.for {{.*}} iter_args(%[[STAGE:.*]] = %[[FIRST]])
  // CHECK-NEXT:        %[[ELECTED:.*]] = nvvm.elect.sync
  // CHECK-NEXT:        scf.if %[[ELECTED]] {
  // CHECK-NEXT:          nvvm.cp.async.bulk.wait_group 2 {read}
  // CHECK:             nvvm.bar.warp.sync
  // CHECK:             %[[C:.*]] = mxbar.stage_buffers %[[RING]], %[[STAGE]] warp(%{{.*}})
  // CHECK:             %[[NEXT:.*]] = mxbar.next_stage %[[STAGE]]
  // CHECK:             %[[ROWS:.*]] = mxgpu.from_rows
  // CHECK-NEXT:        mxgpu.store_shared %[[ROWS]], %[[C]]
  // Copy coordinates are 32-bit values, which are truncated outside the branch.
  // A proxy fence makes the threads' writes visible to the copy engine.
  // CHECK:             nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT:        nvvm.bar.warp.sync
  // CHECK-NEXT:        %[[ELECTED:.*]] = nvvm.elect.sync
  // CHECK-NEXT:        scf.if %[[ELECTED]] {
  // CHECK-NEXT:          scf.if %[[SOME]] {
  // CHECK:                 mxgpu.tma_store %[[C]] to %{{.*}}[%{{.*}}, %{{.*}}] : !smem, !map
  // CHECK:               nvvm.cp.async.bulk.commit.group
  // CHECK:             scf.yield %[[NEXT]]
  // At its end, the role waits until all stores are complete. Waiting only for the reads of
  // the stages would not be enough.
  // CHECK:           nvvm.elect.sync
  // CHECK-NEXT:      scf.if
  // CHECK-NEXT:        nvvm.cp.async.bulk.wait_group 0{{$}}
  mxgpu.kernel @warps(%map: !map, %n: index, %f: f32, %some: i1) {
    %x = vector.broadcast %f : f32 to vector<32xf32>
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @idle warps(1) {
    }
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %stage, %c = mxgpu.producer_acquire %staging : !ring
        %rows1 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows1, %c : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %c to %map[%i, %n] when(%some) : !c, !map
        mxgpu.producer_commit %stage : !stage
      }
    }
  }
  // A loop that acquires all stages in each iteration always starts at the same stage, so its
  // stages are constants.
  // CHECK-LABEL: mxgpu.kernel @all_stages(
  // CHECK:         %[[RING:.*]] = mxbar.placed_ring "staging"
  // CHECK:         %[[S0:.*]] = mxbar.get_stage %[[RING]][0]
  // CHECK:         scf.for
  // CHECK-NOT:     iter_args
  // CHECK:           mxbar.stage_buffers %[[RING]], %[[S0]]
  // CHECK:           %[[S1:.*]] = mxbar.get_stage %[[RING]][1]
  // CHECK:           mxbar.stage_buffers %[[RING]], %[[S1]]
  // CHECK:           %[[S2:.*]] = mxbar.get_stage %[[RING]][2]
  // CHECK:           mxbar.stage_buffers %[[RING]], %[[S2]]
  // CHECK-NOT:     mxbar.next_stage
  mxgpu.kernel @all_stages(%map: !map, %n: index, %f: f32) {
    %x = vector.broadcast %f : f32 to vector<32xf32>
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %stage, %c = mxgpu.producer_acquire %staging : !ring
        %rows2 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows2, %c : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %c to %map[%i, %n] : !c, !map
        mxgpu.producer_commit %stage : !stage
        %stage1, %d = mxgpu.producer_acquire %staging : !ring
        %rows3 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows3, %d : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %d to %map[%i, %n] : !c, !map
        mxgpu.producer_commit %stage1 : !stage
        %stage2, %e = mxgpu.producer_acquire %staging : !ring
        %rows4 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows4, %e : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %e to %map[%i, %n] : !c, !map
        mxgpu.producer_commit %stage2 : !stage
      }
    }
  }
}

// -----

// The threads of a role share its stages. All threads meet at the role's barrier before the first
// copy, and then the first thread issues all copies of the stage as one bulk group. Threads store
// the rows that a copy must not write. The threads read these rows from shared memory in 16-byte
// pieces (128 threads, 8 pieces per row).

// CHECK-LABEL: mxgpu.kernel @roles(
// CHECK-SAME:    %{{.*}}: index, %{{.*}}: i8, %[[SOME:.*]]: i1)
// CHECK:         mxgpu.role @quantize
// CHECK:           %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c64_i32
// CHECK-NEXT:      scf.if %[[IS_FIRST]] {
// CHECK-NEXT:        nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK:           llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%c2_i32, %c128_i32)
// CHECK:           %[[Q:.*]], %[[S:.*]] = mxbar.stage_buffers
// CHECK:           mxgpu.store_scale %{{.*}}, %[[S]]
// CHECK:           nvvm.fence.proxy
// CHECK-NEXT:      llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%c2_i32, %c128_i32)
// CHECK-NEXT:      scf.if %[[IS_FIRST]] {
// CHECK:             mxgpu.tma_store %[[Q]]
// CHECK:           %[[BOTH:.*]] = arith.andi %[[IS_FIRST]], %[[SOME]]
// CHECK-NEXT:      scf.if %[[BOTH]] {
// CHECK:             mxgpu.bulk_store %[[S]] to %{{.*}} : !smem, memref
// CHECK:           scf.if %[[SOME]] {
// CHECK:             %[[ID:.*]] = mxgpu.thread_id
// CHECK:             %[[BEGIN:.*]] = arith.index_cast %[[ID]]
// CHECK:             %[[PIECES:.*]] = arith.muli %{{.*}}, %c8_i32
// CHECK-NEXT:        scf.for %[[PIECE:.*]] = %[[BEGIN]] to %[[PIECES]] step %c128_i32
// CHECK:               arith.divui %[[PIECE]], %c8_i32
// CHECK:               %[[VALUES:.*]] = mxgpu.load_shared %[[Q]] at{{.*}} -> vector<16xi8>
// CHECK:               mxgpu.store_block %[[VALUES]]
// CHECK:           scf.if %[[IS_FIRST]] {
// CHECK-NEXT:        nvvm.cp.async.bulk.commit.group
// CHECK:           scf.if %[[IS_FIRST]] {
// CHECK-NEXT:        nvvm.cp.async.bulk.wait_group 0{{$}}

!ring = !mxgpu.ring<2 x (q: smem<128x128xi8>, s: smem<512xf8E8M0FNU>), producer = threads(128), consumer = bulk_store>
!stage = !mxgpu.stage<!ring>
!q = !mxgpu.buffer<smem<128x128xi8>>
!s = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!map = !mxgpu.tensor_map<128x128xi8>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @roles(%map: !map, %to: memref<?x?x32x4x4xf8E8M0FNU>, %m: memref<?x128xi8>, %n: index, %bits: i8, %some: i1) {
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @idle warps(2) {
    }
    mxgpu.role @quantize warps(4) {
      %stage, %rows, %scales = mxgpu.producer_acquire %staging : !ring
      %s = arith.bitcast %bits : i8 to f8E8M0FNU
      mxgpu.store_scale %s, %scales at [%n, %n] : f8E8M0FNU, !s
      mxgpu.tma_store %rows to %map[%n, %n] : !q, !map
      mxgpu.bulk_store %scales to %to[%n, %n] when(%some) : !s, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.store_rows %rows to %m[%n, %n] rows(%n) when(%some) : !q, memref<?x128xi8>
      mxgpu.producer_commit %stage : !stage
    }
  }
}
