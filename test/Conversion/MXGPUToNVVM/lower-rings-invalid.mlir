// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-assign-warps --mxgpu-lower-rings

// Stages may pass only through scf.for, scf.if and scf.while.

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @other(%n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @consume warps(1) {
      // expected-error @below {{'scf.execute_region' op expected scf.for, scf.if or scf.while around an operation that acquires a stage}}
      scf.execute_region {
        %stage, %work_tile = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %stage : !stage
        scf.yield
      }
    }
  }
}

// -----

// Work tiles must be lowered before rings.

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @work(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @work warps(2) {
      // expected-error @below {{'mxgpu.for_each_work_tile' op expected to be lowered before rings are: run mxgpu-lower-work first}}
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}

// -----

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @reduce(%n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @consume warps(1) {
      // expected-error @below {{'mxgpu.for_each_k' op expected to be lowered before rings are: run mxgpu-lower-work first}}
      mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 32 {
        %stage, %work_tile = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %stage : !stage
      }
    }
  }
}

// -----

// Rejects a ring without a consumer.

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @unused() {
    // expected-error @below {{'mxgpu.ring' op expected each CTA to run a role that waits for the stages and releases them, found none}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(1) {
      %stage, %work_tile = mxgpu.producer_acquire %ring : !ring
      mxgpu.producer_commit %stage : !stage
    }
  }
}

// -----

// Each CTA of a pair has its own stages, so each CTA needs a role that releases them.

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = bulk_copy, consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @leader_only() cluster(2) {
    // expected-error @below {{'mxgpu.ring' op expected each CTA to run a role that waits for the stages and releases them, found none}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      %stage, %x = mxgpu.producer_acquire %ring : !ring
      mxgpu.producer_commit %stage : !stage
    }
    mxgpu.role @consume warps(1) on_leader {
      %stage, %x = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %stage : !stage
    }
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @static(%n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 192] of(%n, %n, %n)
    mxgpu.role @work warps(2) {
      // expected-error @below {{'mxgpu.for_each_work_tile' op expected to be lowered before rings are: run mxgpu-lower-work first}}
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
      }
    }
  }
}

// -----

// Rejects scales of a buffer that is not a direct result of mxgpu.consumer_wait.

!in = !mxgpu.ring<2 x (sf: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @branch(%some: i1) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(1) elected {
      %stage, %sf = mxgpu.consumer_wait %in : !in
      %either = arith.select %some, %sf, %sf : !sf
      // expected-error @below {{'mxgpu.copy_scales' op expected a buffer of mxgpu.consumer_wait}}
      %scales = mxgpu.copy_scales %either : !sf -> !mxgpu.scales<128>
      mxgpu.consumer_release %stage : !mxgpu.stage<!in>
    }
  }
}
