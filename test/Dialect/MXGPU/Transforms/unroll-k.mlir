// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k | FileCheck %s
// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=3 --mxgpu-verify-pipelines | FileCheck %s --check-prefix=THREE
// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=1 | FileCheck %s --check-prefix=BEFORE
// RUN: not mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-pipeline-mmas --mxgpu-unroll-k --mxgpu-verify-pipelines | FileCheck %s --check-prefix=DEFERRED

// ZERO: error: expected a factor of at least 1, found 0

!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!stage = !mxgpu.stage<!in>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // The unrolled loop ends at %[[MIDDLE]], and its last step may be short. The remainder
  // loop contains the first step only if the unrolled loop did not run.
  // CHECK-LABEL: mxgpu.kernel @loop(
  // CHECK-SAME:    %[[K0:[a-z0-9]+]]: index, %[[K1:[a-z0-9]+]]: index
  // CHECK:       mxgpu.role @multiply
  // CHECK:         %[[LAST:[a-z0-9_]+]] = arith.maxsi %[[K0]], %[[K1]]
  // CHECK:         %[[LENGTH:[a-z0-9_]+]] = arith.subi %[[LAST]], %[[K0]]
  // CHECK:         %[[STEPS:[a-z0-9_]+]] = arith.ceildivui %[[LENGTH]], %c64
  // CHECK:         %[[BODIES:[a-z0-9_]+]] = arith.divui %[[STEPS]], %c2
  // CHECK:         %[[WHOLE:[a-z0-9_]+]] = arith.muli %[[BODIES]], %c128
  // CHECK:         %[[AFTER:[a-z0-9_]+]] = arith.addi %[[K0]], %[[WHOLE]]
  // CHECK:         %[[MIDDLE:[a-z0-9_]+]] = arith.minui %[[AFTER]], %[[K1]]
  // CHECK:         %[[MAIN:[a-z0-9_]+]] = mxgpu.for_each_k (%[[K:[a-z0-9_]+]], %[[EXTENT:[a-z0-9_]+]], %[[FIRST:[a-z0-9_]+]]) from %[[K0]] to %[[MIDDLE]] step 128 iter_args(%[[OLD:[a-z0-9_]+]] = %{{.*}}
  // CHECK:           "use"(%[[K]], %c64{{.*}}, %[[FIRST]])
  // CHECK:           mxgpu.consumer_wait
  // CHECK:           %[[STARTED:[a-z0-9_]+]] = mxgpu.mma {{.*}} into %[[OLD]]
  // CHECK:           %[[DONE:[a-z0-9_]+]] = mxgpu.mma_wait %[[STARTED]]
  // CHECK:           mxgpu.consumer_release
  // CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %[[K]], %c64
  // CHECK:           %[[REST:[a-z0-9_]+]] = arith.subi %[[EXTENT]], %c64
  // CHECK:           "use"(%[[NEXT]], %[[REST]], %false
  // CHECK:           mxgpu.consumer_wait
  // CHECK:           %[[TWO:[a-z0-9_]+]] = mxgpu.mma {{.*}} into %[[DONE]]
  // CHECK:           %[[BOTH:[a-z0-9_]+]] = mxgpu.mma_wait %[[TWO]]
  // CHECK:           mxgpu.yield %[[BOTH]]
  // CHECK:         mxgpu.for_each_k (%[[K2:[a-z0-9_]+]], %[[EXTENT2:[a-z0-9_]+]], %[[FIRST2:[a-z0-9_]+]]) from %[[MIDDLE]] to %[[K1]] step 64 iter_args(%{{.*}} = %[[MAIN]]
  // CHECK:           %[[NONE:[a-z0-9_]+]] = arith.cmpi eq, %[[MIDDLE]], %[[K0]]
  // CHECK:           %[[IS_FIRST:[a-z0-9_]+]] = arith.andi %[[FIRST2]], %[[NONE]]
  // CHECK:           "use"(%[[K2]], %[[EXTENT2]], %[[IS_FIRST]])
  // CHECK:       mxgpu.role @load
  // CHECK:         mxgpu.for_each_k {{.*}} step 128
  // CHECK-COUNT-2:   mxgpu.producer_acquire
  // CHECK:         mxgpu.for_each_k {{.*}} step 64

  // THREE-LABEL: mxgpu.kernel @loop(
  // THREE:         mxgpu.for_each_k {{.*}} step 192
  // THREE-COUNT-3:   mxgpu.consumer_wait
  // THREE:         mxgpu.for_each_k {{.*}} step 64

  // BEFORE-LABEL: mxgpu.kernel @loop(
  // BEFORE-COUNT-2: mxgpu.for_each_k {{.*}} step 64
  // BEFORE-NOT:     mxgpu.for_each_k

  // Both loops carry the MMAs in flight from step to step.
  // DEFERRED-LABEL: mxgpu.kernel @loop(
  // DEFERRED:         mxgpu.for_each_k {{.*}} step 128
  // DEFERRED-COUNT-2:   mxgpu.consumer_release %{{.*}} deferred(1)
  // DEFERRED:         mxgpu.for_each_k {{.*}} step 64
  // DEFERRED:           mxgpu.consumer_release %{{.*}} deferred(1)
  // DEFERRED:         mxgpu.mma_wait {{.*}} pending(0)
  // DEFERRED:         mxgpu.consumer_tail
  mxgpu.kernel @loop(%a_map: !a_map, %b_map: !b_map, %k0: index, %k1: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %acc = mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 64 iter_args(%old = %zero : !acc) {
        "use"(%k, %extent, %first) : (index, index, i1) -> ()
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %old : !a, !b, !acc -> !acc
        %new = mxgpu.mma_wait %started pending(0) : !acc
        mxgpu.consumer_release %stage : !stage
        mxgpu.yield %new : !acc
      }
      "use"(%acc) : (!acc) -> ()
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 64 {
        %stage, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %stage : !a_map, !a, !stage
        mxgpu.tma_load %b_map[%c0, %k] into %b for %stage : !b_map, !b, !stage
        mxgpu.producer_commit %stage : !stage
      }
    }
  }
}
