// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file --mxgpu-verify-pipelines -o %t
// RUN: mx-opt %t.mlir -split-input-file -o %t.before
// RUN: cmp %t %t.before

// Accepts safe kernels and leaves them unchanged. Each kernel corresponds to a rejected
// kernel in verify-pipelines-invalid.mlir.

// -----

// TEMPLATE pipeline
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    // BLOCK rings
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    // END
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK load
        // END
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK read
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %sx, %sx_a = mxgpu.consumer_wait %x : !ring
          mxgpu.consumer_release %sx : !stage
        }
        %sy, %sy_a = mxgpu.consumer_wait %y : !ring
        mxgpu.consumer_release %sy : !stage
        // END
      }
    }
  }
}

// -----

// CASES pipeline load
// Each work tile uses one stage.
%s, %a = mxgpu.producer_acquire %ring : !ring
mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
mxgpu.producer_commit %s : !stage
// BLOCK rings
%ring = mxgpu.ring "ring" : !ring
// BLOCK read
%s, %a = mxgpu.consumer_wait %ring : !ring
mxgpu.consumer_release %s : !stage

// The loops are nested.
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %a = mxgpu.producer_acquire %ring : !ring
  mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
  mxgpu.producer_commit %s : !stage
}
// BLOCK rings
%ring = mxgpu.ring "ring" : !ring
// BLOCK read
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %a = mxgpu.consumer_wait %ring : !ring
  mxgpu.consumer_release %s : !stage
}

// The bounds of the inner loops are the same arguments of corresponding outer loops.
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  mxgpu.for_each_k (%l, %x, %f) from %k to %end step 32 {
    %s, %a = mxgpu.producer_acquire %ring : !ring
    mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
    mxgpu.producer_commit %s : !stage
  }
}
// BLOCK rings
%ring = mxgpu.ring "ring" : !ring
// BLOCK read
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  mxgpu.for_each_k (%l, %x, %f) from %k to %end step 32 {
    %s, %a = mxgpu.consumer_wait %ring : !ring
    mxgpu.consumer_release %s : !stage
  }
}

// A loop that acquires one stage of each ring may acquire the rings in any order.
%sx, %sx_a = mxgpu.producer_acquire %x : !ring
mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
mxgpu.producer_commit %sx : !stage
%sy, %sy_a = mxgpu.producer_acquire %y : !ring
mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
mxgpu.producer_commit %sy : !stage
// BLOCK read
%sy, %sy_a = mxgpu.consumer_wait %y : !ring
mxgpu.consumer_release %sy : !stage
%sx, %sx_a = mxgpu.consumer_wait %x : !ring
mxgpu.consumer_release %sx : !stage

// The producer holds a stage of each ring at the same time.
%sx, %sx_a = mxgpu.producer_acquire %x : !ring
%sy, %sy_a = mxgpu.producer_acquire %y : !ring
mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
mxgpu.producer_commit %sx : !stage
mxgpu.producer_commit %sy : !stage
// BLOCK read
%sy, %sy_a = mxgpu.consumer_wait %y : !ring
%sx, %sx_a = mxgpu.consumer_wait %x : !ring
mxgpu.consumer_release %sx : !stage
mxgpu.consumer_release %sy : !stage

// Both roles use several stages of x before each stage of y.
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %sx, %sx_a = mxgpu.producer_acquire %x : !ring
  mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
  mxgpu.producer_commit %sx : !stage
}
%sy, %sy_a = mxgpu.producer_acquire %y : !ring
mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
mxgpu.producer_commit %sy : !stage

// The producer may fill y before x.
%sy, %sy_a = mxgpu.producer_acquire %y : !ring
mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
mxgpu.producer_commit %sy : !stage
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %sx, %sx_a = mxgpu.producer_acquire %x : !ring
  mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
  mxgpu.producer_commit %sx : !stage
}

// -----

// CASES
// The stage is used outside all loops.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      %s, %a = mxgpu.producer_acquire %ring : !ring
      mxgpu.tma_load %map[%n] into %a for %s : !map, !a, !stage
      mxgpu.producer_commit %s : !stage
    }
    mxgpu.role @mma warps(1) elected {
      %s, %a = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %s : !stage
    }
  }
}

// -----

// TEMPLATE matmul
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
        // BLOCK load
        // END
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK multiply
        // END
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK epilogue
        // END
      }
    }
  }
}

// -----

// CASES matmul load
// A matmul uses one accumulator per work tile and one input stage per K step.
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
  mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
  mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
  mxgpu.producer_commit %s : !in_stage
}
// BLOCK multiply
%none = arith.cmpi eq, %start, %end : index
%d, %d_d = mxgpu.producer_acquire %acc : !acc
mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
  %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
  %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
  mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
  mxgpu.consumer_release %s : !in_stage
}
mxgpu.producer_commit %d empty(%none) : !acc_stage
// BLOCK epilogue
%none = arith.cmpi eq, %start, %end : index
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%f_fragment = mxgpu.load_accumulator %d_d column(%n) empty(%none) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// An unconditional MMA writes every accumulator stage before the stage is published.
%s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
mxgpu.producer_commit %s : !in_stage
// BLOCK multiply
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
%sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
mxgpu.consumer_release %s : !in_stage
mxgpu.producer_commit %d : !acc_stage
// BLOCK epilogue
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%f_fragment = mxgpu.load_accumulator %d_d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
mxgpu.consumer_release %d : !acc_stage

// -----

// CASES
// Both roles run their whole loops in the same order.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!stage = !mxgpu.stage<!ring>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %sx, %sx_a = mxgpu.producer_acquire %x : !ring
        mxgpu.tma_load %map[%n] into %sx_a for %sx : !map, !a, !stage
        mxgpu.producer_commit %sx : !stage
      }
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %sy, %sy_a = mxgpu.producer_acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy_a for %sy : !map, !a, !stage
        mxgpu.producer_commit %sy : !stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %sx, %sx_a = mxgpu.consumer_wait %x : !ring
        mxgpu.consumer_release %sx : !stage
      }
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %sy, %sy_a = mxgpu.consumer_wait %y : !ring
        mxgpu.consumer_release %sy : !stage
      }
    }
  }
}

// The load role sends the data before it waits for the reply.
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
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
        %r, %r_d = mxgpu.consumer_wait %reply : !reply
        mxgpu.consumer_release %r : !reply_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %reply : !reply
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !reply_stage
      }
    }
  }
}

// Each warp stages its rows through its own buffers.
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %x = vector.broadcast %v : f32 to vector<32xf32>
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @epilogue warps(4) {
      scf.for %i = %c0 to %c128 step %c32 {
        %s, %c = mxgpu.producer_acquire %staging : !ring
        %rows1 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows1, %c : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
        mxgpu.producer_commit %s : !stage
      }
    }
  }
}

// The threads of one role fill the stages, and the threads of another role read them.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x = mxgpu.producer_acquire %ring : !ring
        mxgpu.store_shared %x, %s_x at [%row, %column] : vector<4xf32>, !x
        mxgpu.producer_commit %s : !stage
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_x = mxgpu.consumer_wait %ring : !ring
        %y = mxgpu.load_shared %s_x at [%row, %column] : !x -> vector<32xf32>
        mxgpu.consumer_release %s : !stage
      }
    }
  }
}

// Two roles read the same copies, so the ring counts the threads of both roles.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = bulk_copy, consumer = threads(96)>
!stage = !mxgpu.stage<!ring>
!x = !mxgpu.buffer<smem<32x32xf32, sw128>>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %map: !map) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %x = mxgpu.producer_acquire %ring : !ring
        mxgpu.tma_load %map[%row, %column] into %x for %s : !map, !x, !stage
        mxgpu.producer_commit %s : !stage
      }
    }
    mxgpu.role @rows warps(1) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %x = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
      }
    }
    mxgpu.role @columns warps(2) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %x = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %s : !stage
      }
    }
  }
}
