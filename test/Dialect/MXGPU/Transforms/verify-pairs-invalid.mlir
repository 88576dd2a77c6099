// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Invalid rings and roles in kernels of CTA pairs.

// -----

// TEMPLATE pair
// SET consumer = mma_commit, scope = pair
// SET arguments = index) cluster(2)
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = ${consumer}>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: ${arguments} {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    // BLOCK ring
    // END
    %ring = mxgpu.ring "ring" : !ring
    // BLOCK load
    mxgpu.role @load warps(1) elected {
    // END
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %a = mxgpu.producer_acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
        mxgpu.producer_commit %s : !stage
      }
    }
    // BLOCK consume
    mxgpu.role @mma warps(1) elected on_leader {
    // END
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %a = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
      }
    }
  }
}

// -----

// CASES pair
// Rejects an MMA role of both CTAs, because the leader's tensor core multiplies for both.
// BLOCK consume
// kernel C31
// expected-error @below {{'mxgpu.role' op expected a role on_leader for mma_commit of ring "ring", found a role of both CTAs}}
mxgpu.role @mma warps(1) elected {

// Rejects a load role on only the leader, because the half of the other CTA is never loaded.
// BLOCK load
// kernel C31
// expected-error @below {{'mxgpu.role' op expected a role of both CTAs for bulk_copy of ring "ring", found a role on_leader}}
mxgpu.role @load warps(1) elected on_leader {

// Rejects a ring with scope = cta for an MMA of the pair.
// SET consumer = mma_commit
// BLOCK ring
// kernel C33
// expected-error @below {{'mxgpu.ring' op expected scope = pair in a kernel with cluster(2), found scope = cta}}

// Rejects a consumer role on only the leader for a ring with scope = cta.
// SET consumer = threads(32)
// BLOCK consume
// kernel C31
// expected-error @below {{'mxgpu.role' op expected a role of both CTAs for threads of ring "ring", found a role on_leader}}
mxgpu.role @read warps(1) on_leader {

// Rejects a ring with scope = pair in a kernel without CTA pairs.
// SET arguments = index)
// BLOCK ring
// kernel C33
// expected-error @below {{'mxgpu.ring' op expected scope = cta in a kernel with cluster(1), found scope = pair}}
// BLOCK consume
mxgpu.role @mma warps(1) elected {

// -----

// CASES
// Rejects a loop in which the two CTAs of a pair acquire different numbers of stages.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit, scope = pair>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) cluster(2) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %rank = mxgpu.cta_rank
    // expected-note @below {{the ring is shared by the pair}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // kernel C32
        // expected-error @below {{'mxgpu.for_each_k' op expected equally many iterations in both CTAs of a pair, found operands that depend on mxgpu.cta_rank}}
        mxgpu.for_each_k (%k, %extent, %first) from %start to %rank step 128 {
          %s, %a = mxgpu.producer_acquire %ring : !ring
          mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
          mxgpu.producer_commit %s : !stage
        }
      }
    }
    mxgpu.role @mma warps(1) elected on_leader {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %rank step 128 {
          %s, %a = mxgpu.consumer_wait %ring : !ring
          mxgpu.consumer_release %s : !stage
        }
      }
    }
  }
}
