// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// What is read of an accumulator is its own, and read by warps as one.

// Up to the last column.
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        scf.for %i = %c0 to %c128 step %c32 {
          %f_fragment = mxgpu.load_accumulator %d_d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
          %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        }
        mxgpu.consumer_release %d : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !stage
      }
    }
  }
}

// -----

// Into the next stage.
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        scf.for %i = %c24 to %c128 step %c32 {
          // expected-error @below {{'mxgpu.load_accumulator' op expected columns 0 to 127, found columns 24 to 151}}
          %f_fragment = mxgpu.load_accumulator %d_d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
          %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        }
        mxgpu.consumer_release %d : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !stage
      }
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on the column, found one that may depend on the thread}}
        %f_fragment = mxgpu.load_accumulator %d_d column(%t) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.consumer_release %d : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !stage
      }
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on `empty`, found one that may depend on the thread}}
        %f_fragment = mxgpu.load_accumulator %d_d column(%c0) empty(%odd) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.consumer_release %d : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !stage
      }
    }
  }
}
