// RUN: mx-test-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-overlap-epilogues --canonicalize --cse --test-mxgpu-break-each -o /dev/null | FileCheck %s --match-full-lines --implicit-check-not=accepted

// Breaks the kernel in one place at a time. The verifier rejects all mutants except
// single-stage rings, which are safe.

// CHECK: as it is: accepted
// CHECK-COUNT-2: drop-release {{[0-9]+}}: rejected, 'mxgpu.consumer_wait' op expected the stage to be released by mxgpu.consumer_release, found none
// CHECK-COUNT-4: drop-publish {{[0-9]+}}: rejected, 'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found none
// CHECK: drop-load 0: rejected, 'mxgpu.producer_commit' op expected a load into field "a" before the commit, found none
// CHECK: drop-load 1: rejected, 'mxgpu.producer_commit' op expected a load into field "b" before the commit, found none
// CHECK: drop-load 2: rejected, 'mxgpu.producer_commit' op expected a load into field "sfa" before the commit, found none
// CHECK: drop-load 3: rejected, 'mxgpu.producer_commit' op expected a load into field "sfb" before the commit, found none
// CHECK: drop-store 0: rejected, 'mxgpu.producer_acquire' op expected a mxgpu.store_shared of field "c", found none
// CHECK: drop-store 1: rejected, 'mxgpu.producer_acquire' op expected a mxgpu.tma_store of field "c", found none
// CHECK: drop-store 2: rejected, 'mxgpu.producer_acquire' op expected a mxgpu.store_shared of field "c", found none
// CHECK: drop-store 3: rejected, 'mxgpu.producer_acquire' op expected a mxgpu.tma_store of field "c", found none
// CHECK: drop-mma 0: rejected, 'mxgpu.producer_commit' op expected an mma into field "d" before the commit, found none
// CHECK-COUNT-2: drop-empty {{[0-9]+}}: rejected, 'mxgpu.load_accumulator' op expected `empty`, because the stage may be published empty, found none
// CHECK: drop-empty 2: rejected, 'mxgpu.producer_commit' op expected `empty`, because the loops around the MMA may not run, found none
// CHECK: double-release 0: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: double-release 1: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK-COUNT-2: double-release {{[0-9]+}}: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: double-release 4: rejected, 'mxgpu.consumer_release' op expected the stage to be released once, found a second release
// CHECK: double-release 5: rejected, 'mxgpu.producer_commit' op expected the stage to be released once, found a second release
// CHECK: read-after-release 0: rejected, 'mxgpu.producer_commit' op expected to come after mxgpu.tma_store
// CHECK: read-after-release 1: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release
// CHECK: read-after-release 2: rejected, 'mxgpu.producer_commit' op expected to come after mxgpu.tma_store
// CHECK: read-after-release 3: rejected, 'mxgpu.tma_load' op expected to use the stage before its release
// CHECK-COUNT-2: read-after-release {{[0-9]+}}: rejected, 'mxgpu.mma' op expected to use the stage before its release
// CHECK: late-acquire 0: rejected, 'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops
// CHECK: shrink-ring 0: accepted
// CHECK: shrink-ring 1: rejected, 'mxgpu.ring' op 'overlap' requires a ring of 2 stages with one buffer in tensor memory, found 1 stages of 1 buffers
// CHECK: shrink-ring 2: accepted
// CHECK: drain-earlier 0: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release
// CHECK: drain-askew 0: rejected, 'mxgpu.load_accumulator' op expected to use the stage before its release
// CHECK-NOT: {{.}}

!a = memref<1024x1024xf8E4M3FN>
!s = memref<8x8x32x4x4xf8E8M0FNU>
func.func @tma_store(%a: !a, %as: !s, %b: !a, %bs: !s, %c: memref<1024x1024xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%c : memref<1024x1024xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 3, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 128>, epilogue = tma_store>}
  return
}
