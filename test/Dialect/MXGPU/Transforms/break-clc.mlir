// DEFINE: %{break} = mx-test-opt --convert-mx-to-mxgpu --canonicalize --cse --test-mxgpu-break-each -o /dev/null
// DEFINE: %{check} = FileCheck %s --match-full-lines --implicit-check-not=accepted --check-prefixes
// RUN: sed "s/SCHEDULE/tile = [128, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>/" %s | %{break} | %{check}=CHECK
// RUN: sed "s/SCHEDULE/tile = [256, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, tile_loop = clc>/" %s | %{break} | %{check}=CHECK,PAIR

// Breaks a kernel with clc, of one CTA and of a pair, in one place at a time. The verifier rejects all mutants
// except two safe kinds: a single-stage ring, and swapped waits if no other role depends on their order.

// CHECK: as it is: accepted
// CHECK-COUNT-6: drop-release {{[0-9]+}}: rejected, 'mxgpu.consumer_wait' op expected the stage to be released by mxgpu.consumer_release, found none
// CHECK-COUNT-3: drop-publish {{[0-9]+}}: rejected, 'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found none
// CHECK: drop-load 0: rejected, 'mxgpu.producer_commit' op expected a load into field "a" before the commit, found none
// CHECK: drop-load 1: rejected, 'mxgpu.producer_commit' op expected a load into field "b" before the commit, found none
// CHECK: drop-load 2: rejected, 'mxgpu.producer_commit' op expected a load into field "sfa" before the commit, found none
// CHECK: drop-load 3: rejected, 'mxgpu.producer_commit' op expected a load into field "sfb" before the commit, found none
// CHECK: drop-mma 0: rejected, 'mxgpu.producer_commit' op expected an mma into field "d" before the commit, found none
// CHECK-COUNT-2: drop-empty {{[0-9]+}}: rejected, 'mxgpu.load_accumulator' op expected `empty`, because the stage may be published empty, found none
// CHECK: drop-empty 2: rejected, 'mxgpu.producer_commit' op expected `empty`, because the loops around the MMA may not run, found none
// PAIR: drop-multicast 0: rejected, 'mxgpu.tma_load' op expected a constant box index
// CHECK-COUNT-2: double-release {{[0-9]+}}: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 2: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK-COUNT-2: double-release {{[0-9]+}}: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 5: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: double-release 6: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 7: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: double-release 8: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: read-after-release 0: rejected, 'mxgpu.load_accumulator' op expected to use the stage before its release
// CHECK: read-after-release 1: rejected, 'mxgpu.next_work_tile' op expected to use the stage before its release
// CHECK: read-after-release 2: rejected, 'mxgpu.tma_load' op expected to use the stage before its release
// CHECK: read-after-release 3: rejected, 'mxgpu.next_work_tile' op expected to use the stage before its release
// CHECK-COUNT-2: read-after-release {{[0-9]+}}: rejected, 'mxgpu.mma' op expected to use the stage before its release
// CHECK-COUNT-2: read-after-release {{[0-9]+}}: rejected, 'mxgpu.next_work_tile' op expected to use the stage before its release
// CHECK: late-acquire 0: rejected, 'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops
// CHECK: swap-acquires 0: accepted
// CHECK: swap-acquires 1: accepted
// CHECK: swap-acquires 2: rejected, 'mxgpu.producer_commit' op expected the requesting role to consume the answer in the same iteration
// CHECK: shrink-ring 0: accepted
// CHECK: shrink-ring 1: accepted
// CHECK: shrink-ring 2: accepted
// PAIR: flip-leader 0: rejected, 'mxgpu.role' op expected a role of both CTAs for threads of ring "acc", found a role on_leader
// PAIR: flip-leader 1: rejected, 'mxgpu.role' op expected a role of both CTAs for bulk_copy of ring "in", found a role on_leader
// PAIR: flip-leader 2: rejected, 'mxgpu.role' op expected a role on_leader for mma_commit of ring "in", found a role of both CTAs
// PAIR: flip-leader 3: rejected, 'mxgpu.role' op expected a role of both CTAs for clc of ring "work_tiles", found a role on_leader
// PAIR-COUNT-3: flip-scope {{[0-9]+}}: rejected, 'mxgpu.cta_rank' op expected to be inside a kernel with cluster(2) or cluster_splits(n)
// PAIR: count-by-rank 0: rejected, 'mxgpu.for_each_k' op expected equally many iterations in both CTAs of a pair, found operands that depend on mxgpu.cta_rank
// CHECK-NOT: {{.}}

!a = memref<1024x1024xf8E4M3FN>
!s = memref<8x8x32x4x4xf8E8M0FNU>
func.func @clc(%a: !a, %as: !s, %b: !a, %bs: !s, %c: memref<1024x1024xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%c : memref<1024x1024xf32>)
      {mxgpu.schedule = #mxgpu.schedule<SCHEDULE>}
  return
}
