// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// Verifies that the operands and the accumulator of an MMA in flight are not changed or used before a wait.

// -----

!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
!both = !mxgpu.ring<4 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
!both_stage = !mxgpu.stage<!both>
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
gpu.module @kernels {
  // A is in registers, so only B has a stage. Two roles read the same stages of B.
  mxgpu.kernel @shared(%b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in0 = mxgpu.ring "in0" : !both
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %b0 = mxgpu.producer_acquire %in0 : !both
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !both_stage
        mxgpu.producer_commit %s0 : !both_stage
      }
    }
    mxgpu.role @upper warps(4) {
      %a = "hold"() : () -> !held
      %zero = mxgpu.zero_fragment : !accumulator
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !accumulator) {
        %stage, %b = mxgpu.consumer_wait %in0 : !both
        %new = mxgpu.mma #wgmma %a, %b into %old : !held, !b, !accumulator -> !accumulator
        %done = mxgpu.mma_wait %new pending(0) : !accumulator
        mxgpu.consumer_release %stage : !both_stage
        mxgpu.yield %done : !accumulator
      }
      "use"(%accumulator) : (!accumulator) -> ()
    }
    mxgpu.role @lower warps(4) {
      %a = "hold"() : () -> !held
      %zero = mxgpu.zero_fragment : !accumulator
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !accumulator) {
        %stage, %b = mxgpu.consumer_wait %in0 : !both
        %new = mxgpu.mma #wgmma %a, %b into %old : !held, !b, !accumulator -> !accumulator
        %done = mxgpu.mma_wait %new pending(0) : !accumulator
        mxgpu.consumer_release %stage : !both_stage
        mxgpu.yield %done : !accumulator
      }
      "use"(%accumulator) : (!accumulator) -> ()
    }
  }
}

// -----

// TEMPLATE one
// SET loop = %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !accumulator) {
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in0 = mxgpu.ring "in0" : !in
    // BLOCK ring
    // END
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in0 : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        // BLOCK load
        // END
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      ${loop}
        // BLOCK step
        %stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
        %new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
        %done = mxgpu.mma_wait %new pending(0) : !accumulator
        mxgpu.consumer_release %stage0 : !input
        mxgpu.yield %done : !accumulator
        // END
      }
      // BLOCK after
      // END
    }
  }
}

// -----

// Accepts a wait in every iteration.
// USE one after
"use"(%accumulator) : (!accumulator) -> ()

// -----

// TEMPLATE two
// USE one ring
%in1 = mxgpu.ring "in1" : !in
// BLOCK load
%s1, %a1, %b1 = mxgpu.producer_acquire %in1 : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input

// -----

// Accepts the release of the first stage after a wait that leaves only the second
// MMA pending.
// USE two step
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %s1 pending(1) : !accumulator
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %done : !accumulator
// BLOCK after
"use"(%accumulator) : (!accumulator) -> ()

// -----

// Accepts a loop that carries an accumulator in flight to a wait after the loop.
// USE one step
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %new : !accumulator
// BLOCK after
%end = mxgpu.mma_wait %accumulator pending(0) : !accumulator
"use"(%end) : (!accumulator) -> ()

// -----

// Accepts a use of the first accumulator while the second accumulator is computed.
// USE two step
// SET loop = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %s0 pending(1) : !accumulator
"use"(%done) : (!accumulator) -> ()
mxgpu.consumer_release %stage0 : !input
%other = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage1 : !input
"use"(%other) : (!accumulator) -> ()

// -----

// CASES one step
// Rejects the release of a stage without a wait for the MMA that reads the stage.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// Rejects the release of a stage after a wait that leaves the MMA pending.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %new pending(1) : !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// -----

// CASES two step
// Rejects the release of the second stage while the second MMA is pending.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %s1 pending(1) : !accumulator
mxgpu.consumer_release %stage0 : !input
// expected-note @below {{released here}}
mxgpu.consumer_release %stage1 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// Rejects the release of the first stage while both MMAs are pending.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%two = mxgpu.mma_wait %s1 pending(2) : !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %two pending(0) : !accumulator
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %done : !accumulator

// -----

// CASES one step
// Rejects the release of a stage if the only wait precedes the MMA.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%before = mxgpu.mma_wait %old pending(0) : !accumulator
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %before : !a, !b, !accumulator -> !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// Rejects the release of a stage if the wait is conditional.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%maybe = scf.if %yes -> !accumulator {
  %inner = mxgpu.mma_wait %new pending(0) : !accumulator
  scf.yield %inner : !accumulator
} else {
  scf.yield %zero : !accumulator
}
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// Rejects an MMA on a stage after its release.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
// kernel C21
// expected-error @below {{'mxgpu.mma' op expected to use the stage before its release}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// Rejects a use of the accumulator before its value passes through a wait.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%new) : (!accumulator) -> ()
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// Rejects the conversion of an accumulator in flight to rows.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
// kernel C50
// expected-error @below {{'mxgpu.to_rows' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
%rows:2 = mxgpu.to_rows %new : !accumulator -> vector<32xf32>, vector<32xf32>
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// -----

// Rejects a use of the accumulator after a wait that leaves the MMA pending.
// USE two step
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
// expected-note @below {{this MMA computes the accumulator}}
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %s1 pending(1) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%one) : (!accumulator) -> ()
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %done : !accumulator

// -----

// CASES one step
// Rejects a use after a loop that carries the accumulator in flight.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %new : !accumulator
// BLOCK after
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%accumulator) : (!accumulator) -> ()

// Rejects a use of the accumulator in the next iteration without a wait.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%old) : (!accumulator) -> ()
// expected-note @below {{this MMA computes the accumulator}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %new : !accumulator
// BLOCK after
%end = mxgpu.mma_wait %accumulator pending(0) : !accumulator
"use"(%end) : (!accumulator) -> ()

// Rejects an accumulator in flight as the result of a branch.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%maybe = scf.if %yes -> !accumulator {
  // kernel C50
  // expected-error @below {{'scf.yield' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
  scf.yield %new : !accumulator
} else {
  scf.yield %old : !accumulator
}
%done = mxgpu.mma_wait %maybe pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// -----

// CASES two step
// Rejects a use of an accumulator if the wait covers only another accumulator.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %s0 : !accumulator
// BLOCK after
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%accumulator) : (!accumulator) -> ()

// Rejects a use after a wait with pending(2), because both MMAs are still in flight.
// SET loop = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %s0 pending(2) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%done) : (!accumulator) -> ()
%other = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
"use"(%other) : (!accumulator) -> ()

// Rejects a use after a wait with pending(1) that precedes the second MMA and leaves the first in flight.
// SET loop = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this MMA computes the accumulator}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%done = mxgpu.mma_wait %s0 pending(1) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected the accumulator of a completed MMA, found an accumulator in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with pending(n) after n later MMAs of the same block}}
"use"(%done) : (!accumulator) -> ()
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%other = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
"use"(%other) : (!accumulator) -> ()
