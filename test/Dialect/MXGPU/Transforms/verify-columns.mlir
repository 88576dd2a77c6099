// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// What is read of an accumulator is its own, and read by warps as one.

// Up to the last column.
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!slot = !mxgpu.slot<!acc>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        scf.for %i = %c0 to %c128 step %c32 {
          %f = mxgpu.load_accumulator %d["d"] column(%i) : !slot -> vector<32xf32>
        }
        mxgpu.release %d : !slot
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !slot
      }
    }
  }
}

// -----

// Into the next slot.
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!slot = !mxgpu.slot<!acc>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        scf.for %i = %c24 to %c128 step %c32 {
          // expected-error @below {{'mxgpu.load_accumulator' op expected columns 0 to 127, found columns 24 to 151}}
          %f = mxgpu.load_accumulator %d["d"] column(%i) : !slot -> vector<32xf32>
        }
        mxgpu.release %d : !slot
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !slot
      }
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!slot = !mxgpu.slot<!acc>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on the column, found one that may depend on the thread}}
        %f = mxgpu.load_accumulator %d["d"] column(%t) : !slot -> vector<32xf32>
        mxgpu.release %d : !slot
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !slot
      }
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!slot = !mxgpu.slot<!acc>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on `empty`, found one that may depend on the thread}}
        %f = mxgpu.load_accumulator %d["d"] column(%c0) empty(%odd) : !slot -> vector<32xf32>
        mxgpu.release %d : !slot
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !slot
      }
    }
  }
}
