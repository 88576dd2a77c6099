// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// TEMPLATE pipeline
// SET map = 128x16xi8
// SET consumer = mma_commit
// SET maps = %map: !map
// SET loader = @load warps(1) elected
// SET load_loop = mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
// SET reader = @mma warps(1) elected
// SET read_loop = mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
!map = !mxgpu.tensor_map<${map}>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = ${consumer}>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(${maps}, %yes: i1, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    // BLOCK above_ring
    // END
    %ring = mxgpu.ring "ring" : !ring
    // BLOCK above_load
    // END
    mxgpu.role ${loader} {
      ${load_loop}
        // BLOCK load
        %s, %a = mxgpu.producer_acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
        mxgpu.producer_commit %s : !stage
        // END
      }
    }
    // BLOCK above_read
    // END
    mxgpu.role ${reader} {
      ${read_loop}
        // BLOCK read
        %s, %a = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
        // END
      }
    }
    // BLOCK below_read
    // END
  }
}

// -----

// TEMPLATE unequal
// USE pipeline above_ring
// kernel C24
// expected-error @below {{'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops}}
// BLOCK load
// expected-note @below {{acquired here}}
%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage
// BLOCK read
// expected-note @below {{consumed here}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage

// -----

// TEMPLATE threads
// USE pipeline read
// SET consumer = threads(32)
// SET reader = @read warps(1)

// -----

// Rejects a stage without a release.
// USE pipeline load
// kernel C19
// expected-error @below {{'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found none}}
%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage

// -----

// CASES pipeline read
// kernel C19
// expected-error @below {{'mxgpu.consumer_wait' op expected the stage to be released by mxgpu.consumer_release, found none}}
%s, %a = mxgpu.consumer_wait %ring : !ring

// Rejects two releases of a stage.
%s, %a = mxgpu.consumer_wait %ring : !ring
// expected-note @below {{first release here}}
mxgpu.consumer_release %s : !stage
// kernel C18
// expected-error @below {{'mxgpu.consumer_release' op expected the stage to be released once, found a second release}}
mxgpu.consumer_release %s : !stage

// Rejects a release in an inner loop.
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  // kernel C20
  // expected-error @below {{'mxgpu.consumer_release' op expected to be in the block that takes the stage}}
  mxgpu.consumer_release %s : !stage
}

// -----

// Rejects a load into a stage after its release.
// USE pipeline load
%s, %a = mxgpu.producer_acquire %ring : !ring
// expected-note @below {{released here}}
mxgpu.producer_commit %s : !stage
// kernel C21
// expected-error @below {{'mxgpu.tma_load' op expected to use the stage before its release}}
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage

// -----

// CASES pipeline read
// Rejects a conditional wait.
scf.if %yes {
  // kernel C16
  // expected-error @below {{'mxgpu.consumer_wait' op expected to be nested only in mxgpu loops, found scf.if}}
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// SET read_loop = scf.for %i = %n to %n step %n {
// kernel C16
// expected-error @below {{'mxgpu.consumer_wait' op expected to be nested only in mxgpu loops, found scf.for}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage

// -----

// TEMPLATE kernel
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
!two = !mxgpu.ring<2 x (a: smem<128x16xi8>, b: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %yes: i1, %n: index) {
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
// Rejects a ring without a consumer or without a producer.
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
// kernel C22
// expected-error @below {{'mxgpu.ring' op expected a role that consumes its stages, found none}}
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @load warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a = mxgpu.producer_acquire %ring : !ring
    mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
    mxgpu.producer_commit %s : !stage
  }
}

%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
// kernel C22
// expected-error @below {{'mxgpu.ring' op expected a role that produces its stages, found none}}
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @mma warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %s : !stage
  }
}

%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
// kernel C22
// expected-error @below {{'mxgpu.ring' op expected a role that produces its stages, found none}}
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @idle warps(1) elected {
}

// -----

// CASES pipeline above_ring
// Rejects a second producer role.
// SET reader = @load2 warps(1) elected
// BLOCK load
// expected-note @below {{here}}
%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage
// BLOCK read
// kernel C17
// expected-error @below {{'mxgpu.producer_acquire' op expected one role with mxgpu.producer_acquire of the ring, found a second role}}
%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage
// BLOCK below_read
mxgpu.role @mma warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %s : !stage
  }
}

// BLOCK read
// expected-note @below {{here}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage
// BLOCK below_read
mxgpu.role @mma2 warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    // kernel C17
    // expected-error @below {{'mxgpu.consumer_wait' op expected one role with mxgpu.consumer_wait of the ring, found a second role}}
    %t, %t_a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %t : !stage
  }
}

// -----

// Rejects the same role as producer and consumer of a ring.
// USE kernel body
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
// kernel C23
// expected-error @below {{'mxgpu.ring' op expected different roles to produce and consume the ring, found "both" twice}}
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @both warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a = mxgpu.producer_acquire %ring : !ring
    mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
    mxgpu.producer_commit %s : !stage
    %t, %t_a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %t : !stage
  }
}

// -----

// CASES unequal read
// Rejects a consumer that waits for two stages for each stage that its producer acquires.
// expected-note @below {{consumed here}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage
%t, %t_a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %t : !stage

// Rejects a consumer with one loop more than its producer.
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  // expected-note @below {{consumed here}}
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// Rejects loops with different steps.
// BLOCK load
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  // expected-note @below {{acquired here}}
  %s, %a = mxgpu.producer_acquire %ring : !ring
  mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
  mxgpu.producer_commit %s : !stage
}
// BLOCK read
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 {
  // expected-note @below {{consumed here}}
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// Rejects loops with different ends.
// BLOCK load
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  // expected-note @below {{acquired here}}
  %s, %a = mxgpu.producer_acquire %ring : !ring
  mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
  mxgpu.producer_commit %s : !stage
}
// BLOCK read
mxgpu.for_each_k (%k, %extent, %first) from %start to %row step 128 {
  // expected-note @below {{consumed here}}
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// Rejects loops over different tile schedulers.
// SET read_loop = mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %other {
// expected-note @below {{consumed here}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage
// BLOCK above_ring
%other = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%n, %n, %n)
// kernel C24
// expected-error @below {{'mxgpu.ring' op expected producer and consumer to take equally many stages in the same loops}}

// Rejects loops of different kinds.
// SET load_loop = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 {
// expected-note @below {{consumed here}}
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage

// Rejects inner loops starting at different arguments of the outer loops.
// BLOCK load
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  mxgpu.for_each_k (%k2, %extent2, %first2) from %k to %end step 128 {
    // expected-note @below {{acquired here}}
    %s, %a = mxgpu.producer_acquire %ring : !ring
    mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
    mxgpu.producer_commit %s : !stage
  }
}
// BLOCK read
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  mxgpu.for_each_k (%k2, %extent2, %first2) from %extent to %end step 128 {
    // expected-note @below {{consumed here}}
    %s, %a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %s : !stage
  }
}

// Rejects a second consumer role outside the loop of the first.
// SET consumer = threads(64)
// SET reader = @rows warps(1)
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage
// BLOCK below_read
mxgpu.role @columns warps(1) {
  // expected-note @below {{consumed here}}
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// -----

// CASES pipeline above_ring
// Rejects a role without `elected`, because only one thread may issue copies.
// SET loader = @load warps(1)
// BLOCK above_load
// kernel C29
// expected-error @below {{'mxgpu.role' op expected an elected role for bulk_copy of ring "ring"}}

// SET reader = @mma warps(4)
// BLOCK above_read
// kernel C29
// expected-error @below {{'mxgpu.role' op expected an elected role for mma_commit of ring "ring"}}

// -----

// Rejects a field without a load.
// USE kernel body
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
%ring = mxgpu.ring "ring" : !two
mxgpu.role @load warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a, %b = mxgpu.producer_acquire %ring : !two
    mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !mxgpu.stage<!two>
    // kernel C38
    // expected-error @below {{'mxgpu.producer_commit' op expected a load into field "b" before the commit, found none}}
    mxgpu.producer_commit %s : !mxgpu.stage<!two>
  }
}
mxgpu.role @mma warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a, %b = mxgpu.consumer_wait %ring : !two
    mxgpu.consumer_release %s : !mxgpu.stage<!two>
  }
}

// -----

// CASES pipeline load
// Rejects two loads of a field, and a load in a loop.
%s, %a = mxgpu.producer_acquire %ring : !ring
// kernel C35
// expected-error @below {{'mxgpu.tma_load' op expected one load of each field, found a second load of "a"}}
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
mxgpu.tma_load %map[%n, %n] into %a for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage

%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  // kernel C34
  // expected-error @below {{'mxgpu.tma_load' op expected to be in the block that takes the stage}}
  mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
}
mxgpu.producer_commit %s : !stage

// -----

// TEMPLATE accumulate
// SET load_k = %start to %end
// SET epilogue = @epilogue warps(4)
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        mxgpu.for_each_k (%k, %extent, %first) from ${load_k} step 128 {
          %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
          mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
          mxgpu.producer_commit %s : !in_stage
        }
        // BLOCK second_load
        // END
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK mma
        %none = arith.cmpi eq, %start, %end : index
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
          %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
          mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
          mxgpu.consumer_release %s : !in_stage
        }
        mxgpu.producer_commit %d empty(%none) : !acc_stage
        // END
      }
    }
    // BLOCK above_epilogue
    // END
    mxgpu.role ${epilogue} {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK epilogue
        %none = arith.cmpi eq, %start, %end : index
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        %f_fragment = mxgpu.load_accumulator %d_d column(%n) empty(%none) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.consumer_release %d : !acc_stage
        // END
      }
    }
  }
}

// -----

// CASES accumulate second_load
// BLOCK mma
// Rejects an accumulator without an MMA.
%d, %d_d = mxgpu.producer_acquire %acc : !acc
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
  mxgpu.consumer_release %s : !in_stage
}
// kernel C41
// expected-error @below {{'mxgpu.producer_commit' op expected an mma into field "d" before the commit, found none}}
mxgpu.producer_commit %d : !acc_stage
// BLOCK epilogue
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%f_fragment = mxgpu.load_accumulator %d_d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// BLOCK mma
// Rejects an accumulator written only in a loop, because the loop may not run.
%d, %d_d = mxgpu.producer_acquire %acc : !acc
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
  // expected-note @below {{this is in a loop}}
  mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
  mxgpu.consumer_release %s : !in_stage
}
// kernel C42
// expected-error @below {{'mxgpu.producer_commit' op expected `empty`, because the loops around the MMA may not run, found none}}
mxgpu.producer_commit %d : !acc_stage
// BLOCK epilogue
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%f_fragment = mxgpu.load_accumulator %d_d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// Rejects a K loop without an MMA, because each of the two K loops may be the only loop to run.
// SET load_k = %start to %n
mxgpu.for_each_k (%k, %extent, %first) from %n to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
  mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
  mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
  mxgpu.producer_commit %s : !in_stage
}
// BLOCK mma
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%empty = arith.cmpi eq, %start, %end : index
mxgpu.for_each_k (%k, %extent, %first) from %start to %n step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
  mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
  mxgpu.consumer_release %s : !in_stage
}
// kernel C75
// expected-error @below {{'mxgpu.for_each_k' op expected an mma into field "d" in each loop over K before the commit, found none}}
mxgpu.for_each_k (%k, %extent, %first) from %n to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  mxgpu.consumer_release %s : !in_stage
}
mxgpu.producer_commit %d empty(%empty) : !acc_stage
// BLOCK epilogue
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%empty = arith.cmpi eq, %start, %end : index
%f_fragment = mxgpu.load_accumulator %d_d column(%n) empty(%empty) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// -----

// Rejects an MMA in a branch.
// USE accumulate mma
%none = arith.cmpi eq, %start, %end : index
%d, %d_d = mxgpu.producer_acquire %acc : !acc
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
  scf.if %none {
    // kernel C40
    // expected-error @below {{'mxgpu.mma' op expected only loops between the MMA and the acquire of its accumulator, found scf.if}}
    mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
  }
  mxgpu.consumer_release %s : !in_stage
}
mxgpu.producer_commit %d empty(%none) : !acc_stage

// -----

// CASES accumulate above_epilogue
// BLOCK epilogue
%d, %d_d = mxgpu.consumer_wait %acc : !acc
// kernel C43
// expected-error @below {{'mxgpu.load_accumulator' op expected `empty`, because the stage may be published empty, found none}}
%f_fragment = mxgpu.load_accumulator %d_d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// BLOCK epilogue
// Rejects a load reached by only some threads of a warp.
%none = arith.cmpi eq, %start, %end : index
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%thread = mxgpu.thread_id
%some = arith.cmpi ult, %thread, %n : index
scf.if %some {
  // kernel C44
  // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on the condition of the enclosing scf.if, found a condition that may depend on the thread}}
  %f_fragment = mxgpu.load_accumulator %d_d column(%n) empty(%none) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
  %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
}
mxgpu.consumer_release %d : !acc_stage

// Rejects roles with a different thread count than the ring.
// SET epilogue = @epilogue warps(8)
// kernel C30
// expected-error @below {{'mxgpu.role' op expected 128 threads for ring "acc", found 256}}

// SET epilogue = @epilogue warps(1) elected
// kernel C30
// expected-error @below {{'mxgpu.role' op expected 128 threads for ring "acc", found 1}}

// -----

// CASES kernel body
// Rejects a deadlock: the producer fills all stages of x before it commits y, but the
// consumer waits for y before it releases x.
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
%x = mxgpu.ring "x" : !ring
%y = mxgpu.ring "y" : !ring
mxgpu.role @load warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
      // kernel C25
      // expected-error @below {{'mxgpu.producer_acquire' op expected not to wait for itself through other roles, found a deadlock}}
      %sx, %sx_a = mxgpu.producer_acquire %x : !ring
      mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
      mxgpu.producer_commit %sx : !stage
    }
    %sy, %sy_a = mxgpu.producer_acquire %y : !ring
    mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
    // expected-note @below {{which waits for this}}
    mxgpu.producer_commit %sy : !stage
  }
}
mxgpu.role @mma warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    // expected-note @below {{which waits for this}}
    %sy, %sy_a = mxgpu.consumer_wait %y : !ring
    mxgpu.consumer_release %sy : !stage
    mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
      %sx, %sx_a = mxgpu.consumer_wait %x : !ring
      // expected-note @below {{which waits for this}}
      mxgpu.consumer_release %sx : !stage
    }
  }
}

// Rejects a deadlock between roles with their loops in opposite orders.
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
%x = mxgpu.ring "x" : !ring
%y = mxgpu.ring "y" : !ring
mxgpu.role @load warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    // kernel C25
    // expected-error @below {{'mxgpu.producer_acquire' op expected not to wait for itself through other roles, found a deadlock}}
    %sx, %sx_a = mxgpu.producer_acquire %x : !ring
    mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
    mxgpu.producer_commit %sx : !stage
  }
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %sy, %sy_a = mxgpu.producer_acquire %y : !ring
    mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
    // expected-note @below {{which waits for this}}
    mxgpu.producer_commit %sy : !stage
  }
}
mxgpu.role @mma warps(1) elected {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    // expected-note @below {{which waits for this}}
    %sy, %sy_a = mxgpu.consumer_wait %y : !ring
    mxgpu.consumer_release %sy : !stage
  }
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %sx, %sx_a = mxgpu.consumer_wait %x : !ring
    // expected-note @below {{which waits for this}}
    mxgpu.consumer_release %sx : !stage
  }
}

// -----

// CASES
// Rejects a deadlock: the load role waits for a reply before it sends the data.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!reply = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(1)>
!reply_stage = !mxgpu.stage<!reply>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %reply = mxgpu.ring "reply" : !reply
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // kernel C25
        // expected-error @below {{'mxgpu.consumer_wait' op expected not to wait for itself through other roles, found a deadlock}}
        %r, %r_d = mxgpu.consumer_wait %reply : !reply
        mxgpu.consumer_release %r : !reply_stage
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        // expected-note @below {{which waits for this}}
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %reply : !reply
        // expected-note @below {{which waits for this}}
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        // expected-note @below {{which waits for this}}
        mxgpu.producer_commit %d : !reply_stage
      }
    }
  }
}

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>, y: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x, %s_y = mxgpu.producer_acquire %ring : !ring
        mxgpu.store_shared %x, %s_x at [%row, %column] : vector<4xf32>, !x
        // kernel C39
        // expected-error @below {{'mxgpu.producer_commit' op expected a store into field "y" before the commit, found none}}
        mxgpu.producer_commit %s : !stage
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x, %s_y = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
      }
    }
  }
}

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    // kernel C30
    // expected-error @below {{'mxgpu.role' op expected 64 threads for ring "ring", found 32}}
    mxgpu.role @produce warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x = mxgpu.producer_acquire %ring : !ring
        mxgpu.store_shared %x, %s_x at [%row, %column] : vector<4xf32>, !x
        mxgpu.producer_commit %s : !stage
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
      }
    }
  }
}

// -----

// CASES pipeline above_ring
// Rejects consumer roles with a different total thread count than the ring.
// SET consumer = threads(64)
// SET reader = @rows warps(1)
// BLOCK above_read
// kernel C30
// expected-error @below {{'mxgpu.role' op expected 64 threads for ring "ring", found 96}}
// BLOCK below_read
mxgpu.role @columns warps(2) {
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
    %s, %a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %s : !stage
  }
}

// -----

// CASES threads read
// Rejects a buffer selected by an operation of another dialect.
%s, %a = mxgpu.consumer_wait %ring : !ring
// kernel C14
// expected-error @below {{'arith.select' op expected stages and their buffers to be used only by mxgpu operations without regions}}
%either = arith.select %yes, %a, %a : !a
%x = mxgpu.load_shared %either at [%n, %n] : !a -> vector<16xi8>
mxgpu.consumer_release %s : !stage

// Rejects a buffer carried by a loop.
%s, %a = mxgpu.consumer_wait %ring : !ring
// kernel C14
// expected-error @below {{'scf.for' op expected stages and their buffers to be used only by mxgpu operations without regions}}
%last = scf.for %i = %n to %n step %n iter_args(%b = %a) -> (!a) {
  scf.yield %b : !a
}
mxgpu.consumer_release %s : !stage

// Rejects a buffer yielded by a branch.
%s, %a = mxgpu.consumer_wait %ring : !ring
%same = scf.if %yes -> !a {
  // kernel C14
  // expected-error @below {{'scf.yield' op expected stages and their buffers to be used only by mxgpu operations without regions}}
  scf.yield %a : !a
} else {
  scf.yield %a : !a
}
mxgpu.consumer_release %s : !stage

// Rejects a buffer used by an unknown operation.
%s, %a = mxgpu.consumer_wait %ring : !ring
// kernel C14
// expected-error @below {{'mystery.use' op expected stages and their buffers to be used only by mxgpu operations without regions}}
"mystery.use"(%s) : (!stage) -> ()
mxgpu.consumer_release %s : !stage

// Rejects a buffer without a stage.
%s, %a = mxgpu.consumer_wait %ring : !ring
// expected-note @below {{defined here}}
%b = ub.poison : !a
// kernel C15
// expected-error @below {{'mxgpu.load_shared' op expected the result of mxgpu.producer_acquire or mxgpu.consumer_wait, found another value of type '!mxgpu.buffer<smem<128x16xi8>>'}}
%x = mxgpu.load_shared %b at [%n, %n] : !a -> vector<16xi8>
mxgpu.consumer_release %s : !stage

// -----

// CASES pipeline above_ring
// Rejects a load into a box whose number is not constant.
// SET map = 64x16xi8
// BLOCK load
%s, %a = mxgpu.producer_acquire %ring : !ring
// kernel C36
// expected-error @below {{'mxgpu.tma_load' op expected a constant box index}}
mxgpu.tma_load %map[%n] into %a box(%n) for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage

// Rejects boxes of different sizes in one field.
// SET map = 64x16xi8
// SET maps = %map: !map, %other: !mxgpu.tensor_map<32x16xi8>
// BLOCK load
%s, %a = mxgpu.producer_acquire %ring : !ring
%c0 = arith.constant 0 : index
%c2 = arith.constant 2 : index
// kernel C37
// expected-error @below {{'mxgpu.tma_load' op expected boxes of the same size in "a", found '!mxgpu.tensor_map<64x16xi8>'}}
mxgpu.tma_load %map[%n] into %a box(%c0) for %s : !map, !a, !stage
mxgpu.tma_load %other[%n] into %a box(%c2) for %s : !mxgpu.tensor_map<32x16xi8>, !a, !stage
mxgpu.producer_commit %s : !stage

// -----

// Rejects an elected role, because a single thread cannot search the expert groups.
!ring = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<32xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%offsets: memref<?xi64>, %n: index) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler groups(%work_tiles : !ring) raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) of(%n, %n, %n)
    // kernel C28
    // expected-error @below {{'mxgpu.role' op expected a role with 1 warp and without 'elected' for groups of ring "work_tiles"}}
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
        mxgpu.producer_commit %request : !stage
        %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %answer_unit : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}
