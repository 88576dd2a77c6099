// RUN: mx-test-opt %s | mx-test-opt | FileCheck %s
// RUN: mx-test-opt %s --mlir-print-op-generic | mx-test-opt | FileCheck %s
// RUN: mx-test-opt %s --mxgpu-verify-pipelines --mxgpu-unroll-fragments --mxgpu-lower-coordinates --mxgpu-lower-math --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm | FileCheck %s --check-prefix=NVVM

// Lowers a synchronous instruction of another dialect. The passes query the
// instruction's attribute for the memory of each operand and for the kind of completion.
!a = !mxgpu.fragment<16x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 4: 32 columns]>>
!b = !mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>
!sfa = !mxgpu.fragment<16x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 8 rows, 1: 4 columns]>>
!sfb = !mxgpu.fragment<8x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [1: 4 columns]>>
!registers = !mxgpu.fragment<16x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 1: 8 columns]>>
!in = !mxgpu.ring<2 x (a: smem<16x128xf8E4M3FN, sw128>, b: smem<8x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = threads(32)>
!stage = !mxgpu.stage<!in>
!a_tile = !mxgpu.buffer<smem<16x128xf8E4M3FN, sw128>>
!b_tile = !mxgpu.buffer<smem<8x128xf8E4M3FN, sw128>>
!a_map = !mxgpu.tensor_map<16x128xf8E4M3FN, sw128>
!b_map = !mxgpu.tensor_map<8x128xf8E4M3FN, sw128>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // A, B and the scales are in registers, so the instruction does not access memory.
  // CHECK-LABEL: mxgpu.kernel @registers(
  // CHECK:       %[[D:[a-z0-9]+]] = mxgpu.mma #mx_test.mma<registers> %[[A:[a-z0-9]+]], %[[B:[a-z0-9]+]] scales(%[[SFA:[a-z0-9]+]], %[[SFB:[a-z0-9]+]] : !fragment{{.*}}, !fragment{{.*}}) into %{{.*}} :
  // CHECK:       mxgpu.mma #mx_test.mma<registers> %[[A]], %[[B]] scales(%[[SFA]], %[[SFB]] : {{.*}}) into %[[D]] :
  // NVVM-LABEL:  llvm.func @registers(
  // NVVM:        %[[D:.*]] = "mx_test.multiply"(%[[A:.*]], %[[B:.*]], %[[SFA:.*]], %[[SFB:.*]], %{{.*}}) :
  // NVVM-SAME:     -> vector<4xf32>
  // NVVM-NEXT:   "mx_test.multiply"(%[[A]], %[[B]], %[[SFA]], %[[SFB]], %[[D]]) :
  // NVVM-NOT:    wgmma
  // NVVM-NOT:    tcgen05
  mxgpu.kernel @registers(%out: memref<?x?xf32>, %i: index, %j: index, %yes: i1) {
    mxgpu.role @multiply warps(1) {
      %a = mxgpu.zero_fragment : !a
      %b = mxgpu.zero_fragment : !b
      %sfa = mxgpu.zero_fragment : !sfa
      %sfb = mxgpu.zero_fragment : !sfb
      %zero = mxgpu.zero_fragment : !registers
      %d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a, !b, !registers -> !registers
      %e = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %sfb : !sfa, !sfb) into %d : !a, !b, !registers -> !registers
      %rows:2 = mxgpu.to_rows %e : !registers -> vector<2xf32>, vector<2xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<2xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<2xf32>, memref<?x?xf32>
    }
  }

  // A and B are in the stages of a ring. Threads release a stage after the instruction,
  // without a commit and without an mxgpu.mma_wait.
  // CHECK-LABEL: mxgpu.kernel @shared(
  // CHECK:       mxgpu.mma #mx_test.mma<shared>
  // NVVM-LABEL:  llvm.func @shared(
  // NVVM:        "mx_test.multiply"(
  // NVVM-SAME:     (!llvm.ptr<3>, !llvm.ptr<3>, vector<2x
  // NVVM:        nvvm.mbarrier.arrive
  // NVVM-NOT:    wgmma
  // NVVM-NOT:    tcgen05
  mxgpu.kernel @shared(%a_map: !a_map, %b_map: !b_map, %n: index, %out: memref<?x?xf32>, %i: index, %j: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %stage, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%i, %k] into %a for %stage : !a_map, !a_tile, !stage
        mxgpu.tma_load %b_map[%j, %k] into %b for %stage : !b_map, !b_tile, !stage
        mxgpu.producer_commit %stage : !stage
      }
    }
    mxgpu.role @multiply warps(1) {
      %sfa = mxgpu.zero_fragment : !sfa
      %sfb = mxgpu.zero_fragment : !sfb
      %zero = mxgpu.zero_fragment : !registers
      %acc = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !registers) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #mx_test.mma<shared> %a, %b scales(%sfa, %sfb : !sfa, !sfb) into %old : !a_tile, !b_tile, !registers -> !registers
        mxgpu.consumer_release %stage : !stage
        mxgpu.yield %new : !registers
      }
      %rows:2 = mxgpu.to_rows %acc : !registers -> vector<2xf32>, vector<2xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<2xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<2xf32>, memref<?x?xf32>
    }
  }
}
