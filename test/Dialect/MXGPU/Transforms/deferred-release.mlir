// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// A stage released in the next iteration, after its readers are complete.

// -----

// TEMPLATE deferred
// SET stages = 4
// SET load_end = %n
// SET load_step = 64
// SET begin = %c0
// SET end = %n
// SET step = 64
// SET initial = %zero
!in = !mxgpu.ring<${stages} x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    // BLOCK above_ring
    // END
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to ${load_end} step ${load_step} {
        // BLOCK load
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        // END
        // BLOCK second_load
        // END
      }
      // BLOCK last_load
      // END
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      // BLOCK before
      // END
      %all = mxgpu.for_each_k (%k, %extent, %first) from ${begin} to ${end} step ${step} iter_args(%old = ${initial} : !acc) {
        // BLOCK step
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
        mxgpu.consumer_release %t0 deferred(1) : !input
        mxgpu.yield %sum0 : !acc
        // END
      }
      // BLOCK after
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!acc) -> ()
      // END
    }
  }
}

// -----

// Released in the next iteration.
// USE deferred

// -----

// CASES deferred step
// The release precedes the wait of the next iteration.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.yield %sum0 : !acc

// Two MMAs may be in flight, including the last iteration's.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// The last stage is released before the wait after the loop.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
// expected-note @below {{released here}}
mxgpu.consumer_tail %in : !in
%end = mxgpu.mma_wait %all pending(0) : !acc

// A single stage cannot be kept while the next is acquired.
// SET stages = 1
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
// kernel C70
// expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 2 stages for a release deferred by 1, found 1}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// The last stage is never released.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
// kernel C72
// expected-error @below {{'mxgpu.consumer_release' op expected an mxgpu.consumer_tail of the ring after it or after the loops around it, found none}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
%end = mxgpu.mma_wait %all pending(0) : !acc

// -----

// Two tails.
// USE deferred after
%end = mxgpu.mma_wait %all pending(0) : !acc
mxgpu.consumer_tail %in : !in
"use"(%end) : (!acc) -> ()
// kernel C73
// expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring before it, and no other tail between, found none}}
mxgpu.consumer_tail %in : !in

// -----

// CASES deferred step
// A tail for a stage that was released immediately.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
mxgpu.consumer_release %t0 : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
// kernel C73
// expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring before it, and no other tail between, found none}}
mxgpu.consumer_tail %in : !in

// Releases two and three steps later.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
mxgpu.consumer_release %t0 deferred(2) : !input
mxgpu.yield %sum0 : !acc

// Three stages kept, in a ring of one more.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
mxgpu.consumer_release %t0 deferred(3) : !input
mxgpu.yield %sum0 : !acc

// -----

// Unrolled by two in both roles.
// USE deferred second_load
// SET load_step = 128
// SET step = 128
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
mxgpu.consumer_release %t1 deferred(1) : !input
mxgpu.yield %sum1 : !acc

// -----

// Unrolled by two in one role, with known extent, and two in flight.
// USE deferred step
// SET load_end = %c512
// SET end = %c512
// SET step = 128
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
mxgpu.consumer_release %t0 deferred(2) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
mxgpu.consumer_release %t1 deferred(2) : !input
mxgpu.yield %sum1 : !acc

// -----

// First step peeled in one role, with a known number of steps.
// USE deferred before
// SET load_end = %c512
// SET begin = %c64
// SET end = %c512
// SET initial = %sum0
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %zero : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
// BLOCK step
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %old : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
mxgpu.consumer_release %t1 deferred(1) : !input
mxgpu.yield %sum1 : !acc

// -----

// Last step peeled in both roles.
// USE deferred last_load
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %n] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %n] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
mxgpu.consumer_release %t0 deferred(2) : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %all : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
mxgpu.consumer_release %t1 deferred(2) : !input
%end = mxgpu.mma_wait %sum1 pending(0) : !acc
mxgpu.consumer_tail %in : !in

// -----

// CASES deferred step
// Three steps kept with three stages.
// SET stages = 3
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
// kernel C70
// expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 4 stages for a release deferred by 3, found 3}}
mxgpu.consumer_release %t0 deferred(3) : !input
mxgpu.yield %sum0 : !acc

// Two instructions in flight, and the stage of the second is released.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// -----

// CASES deferred second_load
// The same in an unrolled loop: the second release is for the first stage.
// SET load_step = 128
// SET step = 128
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is released, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t1 deferred(1) : !input
mxgpu.yield %sum1 : !acc

// A stage is used after the next release, which releases it.
// SET load_step = 128
// SET step = 128
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(0) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t1 deferred(1) : !input
// kernel C21
// expected-error @below {{'mxgpu.mma' op expected to use the stage before it is handed back}}
%new2 = mxgpu.mma #wgmma %x0, %y0 into %sum1 : !a, !b, !acc -> !acc
%sum2 = mxgpu.mma_wait %new2 pending(0) : !acc
mxgpu.yield %sum2 : !acc

// Two different distances in one role.
// SET load_step = 128
// SET step = 128
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
// kernel C71
// expected-error @below {{'mxgpu.consumer_release' op expected all releases of the ring in a role to be deferred by as many stages, found 2 and 1}}
mxgpu.consumer_release %t1 deferred(2) : !input
mxgpu.yield %sum1 : !acc

// -----

// A tail while a stage is acquired.
// USE deferred step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
// kernel C74
// expected-error @below {{'mxgpu.consumer_tail' op expected every stage that is taken to have its release before it, found one after it}}
mxgpu.consumer_tail %in : !in
// expected-note @below {{here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// -----

// Two stages are acquired before a release, but only one exists.
// USE deferred second_load
// SET stages = 1
// SET load_step = 128
// SET step = 128
// kernel C25
// expected-error @below {{'mxgpu.producer_acquire' op expected not to wait for itself through other roles, found a deadlock}}
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
// expected-note @below {{which waits for this}}
mxgpu.producer_commit %s1 : !input
// BLOCK step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// expected-note @below {{which waits for this}}
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%new1 = mxgpu.mma #wgmma %x1, %y1 into %new0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(0) : !acc
// expected-note @below {{which waits for this}}
mxgpu.consumer_release %t0 : !input
mxgpu.consumer_release %t1 : !input
mxgpu.yield %sum1 : !acc
// BLOCK after

// -----

// First step peeled in one role of a loop that may run no iteration.
// USE deferred above_ring
// SET begin = %c64
// SET initial = %sum0
// kernel C24
// expected-error @below {{'mxgpu.ring' op expected as many stages acquired as consumed, in the same loops}}
// BLOCK load
// expected-note @below {{acquired here}}
%s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
mxgpu.producer_commit %s0 : !input
// BLOCK before
// expected-note @below {{consumed here}}
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %zero : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
// BLOCK step
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %old : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
mxgpu.consumer_release %t1 deferred(1) : !input
mxgpu.yield %sum1 : !acc
