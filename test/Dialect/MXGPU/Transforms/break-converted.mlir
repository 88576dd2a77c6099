// DEFINE: %{break} = mx-test-opt --convert-mx-to-mxgpu --canonicalize --cse --test-mxgpu-break-each -o /dev/null
// DEFINE: %{check} = FileCheck %s --match-full-lines --implicit-check-not=accepted --check-prefixes
// RUN: sed "s/SCHEDULE/tile = [128, 128, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>/" %s | %{break} | %{check}=CHECK
// RUN: sed "s/SCHEDULE/tile = [256, 128, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2, accumulators = 2>/" %s | %{break} | %{check}=CHECK,PAIR

// Breaks a tcgen05.mma kernel with converted weights, of one CTA and of a pair, in one place at a time. The verifier rejects all mutants
// except two safe kinds: a single-stage ring, and swapped waits if no other role depends on their order.

// CHECK: as it is: accepted
// CHECK-COUNT-4: drop-release {{[0-9]+}}: rejected, 'mxgpu.consumer_wait' op expected the stage to be released by mxgpu.consumer_release, found none
// CHECK-COUNT-4: drop-publish {{[0-9]+}}: rejected, 'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found none
// CHECK: drop-load 0: rejected, 'mxgpu.producer_commit' op expected a load into field "a" before the commit, found none
// CHECK: drop-load 1: rejected, 'mxgpu.producer_commit' op expected a load into field "b" before the commit, found none
// CHECK: drop-load 2: rejected, 'mxgpu.producer_commit' op expected a load into field "sfb" before the commit, found none
// CHECK: drop-store 0: rejected, 'mxgpu.producer_commit' op expected a store into field "b" before the commit, found none
// CHECK: drop-mma 0: rejected, 'mxgpu.producer_commit' op expected an mma into field "d" before the commit, found none
// CHECK-COUNT-2: drop-empty {{[0-9]+}}: rejected, 'mxgpu.load_accumulator' op expected `empty`, because the stage may be published empty, found none
// CHECK: drop-empty 2: rejected, 'mxgpu.producer_commit' op expected `empty`, because the loops around the MMA may not run, found none
// CHECK: double-release 0: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 1: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: double-release 2: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK-COUNT-2: double-release {{[0-9]+}}: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK-COUNT-2: double-release {{[0-9]+}}: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 7: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: read-after-release 0: rejected, 'mxgpu.load_accumulator' op expected to use the stage before its release
// CHECK: read-after-release 1: rejected, 'mxgpu.store_shared' op expected to use the stage before its release
// CHECK: read-after-release 2: rejected, 'mxgpu.load_fragment' op expected to use the stage before its release
// CHECK-COUNT-2: read-after-release {{[0-9]+}}: rejected, 'mxgpu.tma_load' op expected to use the stage before its release
// CHECK-COUNT-3: read-after-release {{[0-9]+}}: rejected, 'mxgpu.mma' op expected to use the stage before its release
// CHECK: late-acquire 0: rejected, 'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops
// CHECK: swap-acquires 0: accepted
// CHECK: swap-acquires 1: accepted
// CHECK: swap-acquires 2: accepted
// CHECK: shrink-ring 0: accepted
// CHECK: shrink-ring 1: accepted
// CHECK: shrink-ring 2: accepted
// CHECK: shrink-ring 3: accepted
// PAIR: flip-leader 0: rejected, 'mxgpu.role' op expected a role of both CTAs for threads of ring "acc", found a role on_leader
// PAIR: flip-leader 1: rejected, 'mxgpu.role' op expected a role of both CTAs for threads of ring "in_b", found a role on_leader
// PAIR: flip-leader 2: rejected, 'mxgpu.role' op expected a role of both CTAs for bulk_copy of ring "in", found a role on_leader
// PAIR: flip-leader 3: rejected, 'mxgpu.role' op expected a role on_leader for mma_commit of ring "in", found a role of both CTAs
// PAIR-COUNT-3: flip-scope {{[0-9]+}}: rejected, 'mxgpu.cta_rank' op expected to be inside a kernel with cluster(2) or cluster_splits(n)
// PAIR: count-by-rank 0: rejected, 'mxgpu.for_each_k' op expected equally many iterations in both CTAs of a pair, found operands that depend on mxgpu.cta_rank
// CHECK-NOT: {{.}}

!x = memref<256x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<256x128xbf16>
#schedule = #mxgpu.schedule<SCHEDULE>
func.func @converted(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}
