// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -allow-unregistered-dialect --mxgpu-pipeline-mmas | FileCheck %t.mlir

// -----

// TEMPLATE loop
// SET stages = 4
// SET name = kernel
!in = !mxgpu.ring<${stages} x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
// BLOCK checks
// END
gpu.module @kernels {
  mxgpu.kernel @${name}(%a_map: !a_map, %b_map: !b_map, %n: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      // BLOCK multiply
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(0) : !acc
        mxgpu.consumer_release %stage : !input
        mxgpu.yield %last : !acc
      }
      "use"(%total) : (!acc) -> ()
      // END
    }
  }
}

// -----

// CASES loop checks
// Each step starts one MMA.
// SET name = one
// CHECK-LABEL: mxgpu.kernel @one(
// CHECK:         %[[SUMS:.*]] = mxgpu.for_each_k {{.*}} iter_args(%[[OLD:[^ ]+]] =
// CHECK-NEXT:      %[[STAGE:.*]], %[[A:.*]], %[[B:.*]] = mxgpu.consumer_wait
// CHECK-NEXT:      %[[NEW:.*]] = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %[[A]], %[[B]] into %[[OLD]]
// CHECK-NEXT:      %[[LAST:.*]] = mxgpu.mma_wait %[[NEW]] pending(1)
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]] deferred(1)
// CHECK-NEXT:      mxgpu.yield %[[LAST]]
// CHECK:         %[[FINISHED:.*]] = mxgpu.mma_wait %[[SUMS]] pending(0)
// CHECK-NEXT:    mxgpu.consumer_tail %in
// CHECK-NEXT:    "use"(%[[FINISHED]])

// With one stage, no MMA can stay in flight.
// SET stages = 1
// SET name = single
// CHECK-LABEL: mxgpu.kernel @single(
// CHECK:           mxgpu.mma_wait %{{.*}} pending(0)
// CHECK-NEXT:      mxgpu.consumer_release %{{[^ ]*}} :
// CHECK-NOT:     mxgpu.consumer_tail

// Each step starts two MMAs with operands in registers and one accumulator. The next
// step reuses the registers of the first MMA, so only the second MMA stays in flight.
// SET stages = 2
// SET name = chain
!operand = !mxgpu.fragment<64x32xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 2: 16 columns]>>
// CHECK-LABEL: mxgpu.kernel @chain(
// CHECK:           %[[STAGE:.*]], %{{.*}}, %{{.*}} = mxgpu.consumer_wait
// CHECK:           %[[FIRST:.*]] = mxgpu.mma {{.*}} column(0)
// CHECK-NEXT:      %[[DONE:.*]] = mxgpu.mma_wait %[[FIRST]] pending(1)
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]] deferred(1)
// CHECK:           %[[SECOND:.*]] = mxgpu.mma {{.*}} column(32) into %[[DONE]]
// CHECK-NEXT:      %[[LAST:.*]] = mxgpu.mma_wait %[[SECOND]] pending(1)
// CHECK-NEXT:      mxgpu.yield %[[LAST]]
// CHECK:         mxgpu.mma_wait %{{.*}} pending(0)
// CHECK-NEXT:    mxgpu.consumer_tail %in
// BLOCK multiply
%total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
  %stage, %a, %b = mxgpu.consumer_wait %in : !in
  %x = "make"() : () -> !operand
  %half = mxgpu.mma #wgmma %x, %b column(0) into %old : !operand, !b, !acc -> !acc
  %both = mxgpu.mma_wait %half pending(1) : !acc
  %y = "make"() : () -> !operand
  %new = mxgpu.mma #wgmma %y, %b column(32) into %both : !operand, !b, !acc -> !acc
  %last = mxgpu.mma_wait %new pending(0) : !acc
  mxgpu.consumer_release %stage : !input
  mxgpu.yield %last : !acc
}
"use"(%total) : (!acc) -> ()

// The next step reuses the operand registers, so no MMA stays in flight.
// SET name = registers
!operand = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
// CHECK-LABEL: mxgpu.kernel @registers(
// CHECK:           mxgpu.mma_wait %{{.*}} pending(0)
// CHECK-NEXT:      mxgpu.consumer_release %{{[^ ]*}} :
// CHECK-NOT:     mxgpu.consumer_tail
// BLOCK multiply
%total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
  %stage, %a, %b = mxgpu.consumer_wait %in : !in
  %x = "make"() : () -> !operand
  %new = mxgpu.mma #wgmma %x, %b into %old : !operand, !b, !acc -> !acc
  %last = mxgpu.mma_wait %new pending(0) : !acc
  mxgpu.consumer_release %stage : !input
  mxgpu.yield %last : !acc
}
"use"(%total) : (!acc) -> ()

// Each step starts one MMA for each of two accumulators. With one MMA in flight, the wait
// after an MMA completes the previous MMA of the other accumulator.
// SET name = two
// CHECK-LABEL: mxgpu.kernel @two(
// CHECK:         %[[ALL:.*]]:2 = mxgpu.for_each_k {{.*}} iter_args(%[[OLD0:[^ ]+]] = {{[^,]*}}, %[[OLD1:[^ ]+]] =
// CHECK-NEXT:      %[[STAGE:.*]], %[[A:.*]], %[[B:.*]] = mxgpu.consumer_wait
// CHECK-NEXT:      %[[NEW0:.*]] = mxgpu.mma {{.*}} into %[[OLD0]]
// CHECK-NEXT:      %[[DONE1:.*]] = mxgpu.mma_wait %[[OLD1]] pending(1)
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]] deferred(1)
// CHECK-NEXT:      %[[NEW1:.*]] = mxgpu.mma {{.*}} into %[[DONE1]]
// CHECK-NEXT:      %[[DONE0:.*]] = mxgpu.mma_wait %[[NEW0]] pending(1)
// CHECK-NEXT:      mxgpu.yield %[[DONE0]], %[[NEW1]]
// CHECK:         %[[END0:.*]] = mxgpu.mma_wait %[[ALL]]#0 pending(0)
// CHECK-NEXT:    %[[END1:.*]] = mxgpu.mma_wait %[[ALL]]#1 pending(0)
// CHECK-NEXT:    mxgpu.consumer_tail %in
// CHECK-NEXT:    "use"(%[[END0]], %[[END1]])
// BLOCK multiply
%total:2 = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old0 = %zero : !acc, %old1 = %zero : !acc) {
  %stage, %a, %b = mxgpu.consumer_wait %in : !in
  %new0 = mxgpu.mma #wgmma %a, %b into %old0 : !a, !b, !acc -> !acc
  %last0 = mxgpu.mma_wait %new0 pending(0) : !acc
  %new1 = mxgpu.mma #wgmma %a, %b into %old1 : !a, !b, !acc -> !acc
  %last1 = mxgpu.mma_wait %new1 pending(0) : !acc
  mxgpu.consumer_release %stage : !input
  mxgpu.yield %last0, %last1 : !acc, !acc
}
"use"(%total#0, %total#1) : (!acc, !acc) -> ()

// Keeps a loop that reads the accumulator in each step, and an already pipelined
// loop.
// SET name = other_forms
// CHECK-LABEL: mxgpu.kernel @other_forms(
// CHECK:           %[[STAGE:.*]], %{{.*}}, %{{.*}} = mxgpu.consumer_wait
// CHECK:           mxgpu.mma_wait %{{.*}} pending(0)
// CHECK-NEXT:      "read"
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]] :
// CHECK:           %[[STAGE1:.*]], %{{.*}}, %{{.*}} = mxgpu.consumer_wait
// CHECK:           mxgpu.mma_wait %{{.*}} pending(1)
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE1]] deferred(1)
// CHECK:         mxgpu.consumer_tail %in
// CHECK-NOT:     mxgpu.consumer_tail
// BLOCK multiply
%read = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
  %stage, %a, %b = mxgpu.consumer_wait %in : !in
  %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
  %last = mxgpu.mma_wait %new pending(0) : !acc
  "read"(%last) : (!acc) -> ()
  mxgpu.consumer_release %stage : !input
  mxgpu.yield %last : !acc
}
%total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %read : !acc) {
  %stage, %a, %b = mxgpu.consumer_wait %in : !in
  %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
  %last = mxgpu.mma_wait %new pending(1) : !acc
  mxgpu.consumer_release %stage deferred(1) : !input
  mxgpu.yield %last : !acc
}
%end = mxgpu.mma_wait %total pending(0) : !acc
mxgpu.consumer_tail %in : !in
