// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// Operands of an instruction in flight must not change until a wait.

// -----

!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
!only_b = !mxgpu.ring<4 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!only_b_stage = !mxgpu.stage<!only_b>
!both = !mxgpu.ring<4 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
!both_stage = !mxgpu.stage<!both>
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
gpu.module @kernels {
  // A in registers: only B has a stage.
  mxgpu.kernel @held(%b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in0 = mxgpu.ring "in0" : !only_b
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %b0 = mxgpu.producer_acquire %in0 : !only_b
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !only_b_stage
        mxgpu.producer_commit %s0 : !only_b_stage
      }
    }
    mxgpu.role @multiply warps(4) {
      %a = "hold"() : () -> !held
      %zero = mxgpu.zero_fragment : !accumulator
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !accumulator) {
        %stage, %b = mxgpu.consumer_wait %in0 : !only_b
        %new = mxgpu.mma #wgmma %a, %b into %old : !held, !b, !accumulator -> !accumulator
        %done = mxgpu.mma_wait %new pending(0) : !accumulator
        mxgpu.consumer_release %stage : !only_b_stage
        mxgpu.yield %done : !accumulator
      }
      "use"(%accumulator) : (!accumulator) -> ()
    }
  }
  // Two roles share B.
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

// Waits in every iteration.
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

// Two in flight: the first is complete with one pending, and its stage is
// released.
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

// A loop carries an accumulator in flight, tied to a wait after the loop.
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

// Two accumulators: the first is used while the second is computed.
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
// The stage is released while the instruction may read it: without a wait,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// with a wait that leaves it pending,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %new pending(1) : !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// -----

// CASES two step
// with two in flight, and the second pending,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %s1 pending(1) : !accumulator
mxgpu.consumer_release %stage0 : !input
// expected-note @below {{released here}}
mxgpu.consumer_release %stage1 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// with both pending,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
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
// with a wait before the instruction,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%before = mxgpu.mma_wait %old pending(0) : !accumulator
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new = mxgpu.mma #wgmma %a0, %b0 into %before : !a, !b, !accumulator -> !accumulator
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// and with a conditional wait.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
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

// The stage is released before the instruction reads it.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{released here}}
mxgpu.consumer_release %stage0 : !input
// kernel C21
// expected-error @below {{'mxgpu.mma' op expected to use the stage before it is handed back}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.yield %done : !accumulator

// The accumulator is used in flight: without a wait,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%new) : (!accumulator) -> ()
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// by a column extraction,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
// kernel C50
// expected-error @below {{'mxgpu.to_rows' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
%rows:2 = mxgpu.to_rows %new : !accumulator -> vector<32xf32>, vector<32xf32>
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// -----

// after a wait that leaves some pending,
// USE two step
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
// expected-note @below {{this computes them}}
%s1 = mxgpu.mma #wgmma %a1, %b1 into %s0 : !a, !b, !accumulator -> !accumulator
%one = mxgpu.mma_wait %s1 pending(1) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%one) : (!accumulator) -> ()
mxgpu.consumer_release %stage0 : !input
%done = mxgpu.mma_wait %one pending(0) : !accumulator
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %done : !accumulator

// -----

// CASES one step
// after a loop that carries it in flight,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %new : !accumulator
// BLOCK after
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%accumulator) : (!accumulator) -> ()

// in the next iteration,
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%old) : (!accumulator) -> ()
// expected-note @below {{this computes them}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %new pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %new : !accumulator
// BLOCK after
%end = mxgpu.mma_wait %accumulator pending(0) : !accumulator
"use"(%end) : (!accumulator) -> ()

// and as the result of a branch.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%new = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%maybe = scf.if %yes -> !accumulator {
  // kernel C50
  // expected-error @below {{'scf.yield' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
  scf.yield %new : !accumulator
} else {
  scf.yield %old : !accumulator
}
%done = mxgpu.mma_wait %maybe pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.yield %done : !accumulator

// -----

// CASES two step
// A wait covers only its own operands: each value must pass through a wait.
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %old : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
mxgpu.yield %s0 : !accumulator
// BLOCK after
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%accumulator) : (!accumulator) -> ()

// A wait that leaves more pending than are started later.
// SET loop = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%done = mxgpu.mma_wait %s0 pending(2) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%done) : (!accumulator) -> ()
%other = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
"use"(%other) : (!accumulator) -> ()

// A wait before the other instructions start.
// SET loop = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
%stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !in
// expected-note @below {{this computes them}}
%s0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !accumulator -> !accumulator
%stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !in
%done = mxgpu.mma_wait %s0 pending(1) : !accumulator
// kernel C50
// expected-error @below {{'use' op expected an accumulator that an mxgpu.mma_wait gave with pending(0), or with as many started in its block after them, found some that may still change}}
"use"(%done) : (!accumulator) -> ()
%s1 = mxgpu.mma #wgmma %a1, %b1 into %zero : !a, !b, !accumulator -> !accumulator
%other = mxgpu.mma_wait %s1 pending(0) : !accumulator
mxgpu.consumer_release %stage0 : !input
mxgpu.consumer_release %stage1 : !input
"use"(%other) : (!accumulator) -> ()
