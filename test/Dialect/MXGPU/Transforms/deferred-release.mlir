// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// Verifies deferred releases: each stage is released in a later iteration, after its readers are complete.

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

// Accepts a release deferred to the next iteration.
// USE deferred

// -----

// CASES deferred step
// Rejects a release before the wait that completes the MMA of the previous iteration.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.yield %sum0 : !acc

// Rejects a wait that leaves the MMA of the previous iteration in flight.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// Rejects a tail before the final wait after the loop.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
// expected-note @below {{released here}}
mxgpu.consumer_tail %in : !in
%end = mxgpu.mma_wait %all pending(0) : !acc

// Rejects a deferred release in a single-stage ring.
// SET stages = 1
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
// kernel C70
// expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 2 stages for a release deferred by 1, found 1}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// Rejects a kernel without a tail, because the last stage is never released.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
// kernel C72
// expected-error @below {{'mxgpu.consumer_release' op expected an mxgpu.consumer_tail of the ring after the release or after its enclosing loops, found none}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
%end = mxgpu.mma_wait %all pending(0) : !acc

// -----

// Rejects a second tail.
// USE deferred after
%end = mxgpu.mma_wait %all pending(0) : !acc
mxgpu.consumer_tail %in : !in
"use"(%end) : (!acc) -> ()
// kernel C73
// expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring between the previous tail and this tail, found none}}
mxgpu.consumer_tail %in : !in

// -----

// CASES deferred step
// Rejects a tail if every stage was released immediately.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
mxgpu.consumer_release %t0 : !input
mxgpu.yield %sum0 : !acc
// BLOCK after
// kernel C73
// expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring between the previous tail and this tail, found none}}
mxgpu.consumer_tail %in : !in

// Accepts releases deferred by two steps.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
mxgpu.consumer_release %t0 deferred(2) : !input
mxgpu.yield %sum0 : !acc

// Accepts releases deferred by three steps in a four-stage ring.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
mxgpu.consumer_release %t0 deferred(3) : !input
mxgpu.yield %sum0 : !acc

// -----

// TEMPLATE unrolled
// USE deferred second_load
// SET load_step = 128
// SET step = 128
%s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
mxgpu.producer_commit %s1 : !input

// -----

// Accepts loops unrolled by two in both roles.
// USE unrolled step
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

// Accepts a loop with constant bounds, unrolled by two in only one role, with two MMAs in flight.
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

// Accepts a first step peeled in only one role, because the trip count is constant.
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

// Accepts a last step peeled in both roles.
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
// Rejects a release deferred by three steps in a three-stage ring.
// SET stages = 3
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
// kernel C70
// expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 4 stages for a release deferred by 3, found 3}}
mxgpu.consumer_release %t0 deferred(3) : !input
mxgpu.yield %sum0 : !acc

// Rejects the release of a stage still read by one of two MMAs in flight.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// -----

// CASES unrolled step
// Rejects an unrolled loop if the second release frees a stage still read by the first MMA.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
// kernel C49
// expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait for this MMA before the release of a stage that the MMA reads, found none}}
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
// expected-note @below {{released here}}
mxgpu.consumer_release %t1 deferred(1) : !input
mxgpu.yield %sum1 : !acc

// Rejects a use of a stage after the next deferred release, which frees the stage.
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
// expected-error @below {{'mxgpu.mma' op expected to use the stage before its release}}
%new2 = mxgpu.mma #wgmma %x0, %y0 into %sum1 : !a, !b, !acc -> !acc
%sum2 = mxgpu.mma_wait %new2 pending(0) : !acc
mxgpu.yield %sum2 : !acc

// Rejects a role that defers its releases by different numbers of steps.
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
mxgpu.consumer_release %t0 deferred(1) : !input
%t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
%new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
%sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
// kernel C71
// expected-error @below {{'mxgpu.consumer_release' op expected all releases of the ring in a role to be deferred by the same number of stages, found 2 and 1}}
mxgpu.consumer_release %t1 deferred(2) : !input
mxgpu.yield %sum1 : !acc

// -----

// Rejects a tail before the release of an acquired stage.
// USE deferred step
%t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
%new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
%sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
// kernel C74
// expected-error @below {{'mxgpu.consumer_tail' op expected every earlier stage to be released before the tail, found a release after the tail}}
mxgpu.consumer_tail %in : !in
// expected-note @below {{here}}
mxgpu.consumer_release %t0 deferred(1) : !input
mxgpu.yield %sum0 : !acc

// -----

// Rejects the acquisition of two stages in a single-stage ring.
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

// Rejects a first step peeled in only one role, because the loop may not run.
// USE deferred above_ring
// SET begin = %c64
// SET initial = %sum0
// kernel C24
// expected-error @below {{'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops}}
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
