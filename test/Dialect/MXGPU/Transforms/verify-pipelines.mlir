// RUN: mx-opt %s -split-input-file --mxgpu-verify-pipelines -o %t
// RUN: mx-opt %s -split-input-file -o %t.before
// RUN: cmp %t %t.before

// What is safe passes and is not changed; each kernel is the twin of one that
// is refused in verify-pipelines-invalid.mlir.

// A slot for each unit of work.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Loops in loops.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %ring : !ring
          mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
          mxgpu.publish %s : !slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %ring : !ring
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

// Bounds from inside the loops: the same arguments of corresponding loops.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          mxgpu.for_each_k (%l, %x, %f) from %k to %end step 32 {
            %s = mxgpu.acquire %ring : !ring
            mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
            mxgpu.publish %s : !slot
          }
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          mxgpu.for_each_k (%l, %x, %f) from %k to %end step 32 {
            %s = mxgpu.consume %ring : !ring
            mxgpu.release %s : !slot
          }
        }
      }
    }
  }
}

// -----

// A slot outside all loops.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      %s = mxgpu.acquire %ring : !ring
      mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
      mxgpu.publish %s : !slot
    }
    mxgpu.role @mma warps(1) elected {
      %s = mxgpu.consume %ring : !ring
      mxgpu.release %s : !slot
    }
  }
}

// -----

// Two fields.
!map = !mxgpu.tensor_map<128x16xi8>
!two = !mxgpu.ring<2 x (a: smem<128x16xi8>, b: smem<128x16xi8>), producer = tma, consumer = mma>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !two
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !two
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !mxgpu.slot<!two>
        mxgpu.tma_load %map[%n] into %s["b"] : !map, !mxgpu.slot<!two>
        mxgpu.publish %s : !mxgpu.slot<!two>
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !two
        mxgpu.release %s : !mxgpu.slot<!two>
      }
    }
  }
}

// -----

// A matmul: an accumulator for each unit, inputs for each step.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// An MMA that always runs needs no empty slots.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
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
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// Rings of one loop may be taken in any order: each holds a slot.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sx = mxgpu.acquire %x : !ring
        mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
        mxgpu.publish %sx : !slot
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
        %sx = mxgpu.consume %x : !ring
        mxgpu.release %sx : !slot
      }
    }
  }
}

// -----

// Slots that are held together.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sx = mxgpu.acquire %x : !ring
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        mxgpu.publish %sx : !slot
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.consume %y : !ring
        %sx = mxgpu.consume %x : !ring
        mxgpu.release %sx : !slot
        mxgpu.release %sy : !slot
      }
    }
  }
}

// -----

// Many slots of x for one of y, in one order.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %sx = mxgpu.acquire %x : !ring
          mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
          mxgpu.publish %sx : !slot
        }
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %sx = mxgpu.consume %x : !ring
          mxgpu.release %sx : !slot
        }
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
      }
    }
  }
}

// -----

// The producer may come first with y.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        mxgpu.publish %sy : !slot
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %sx = mxgpu.acquire %x : !ring
          mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
          mxgpu.publish %sx : !slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %sx = mxgpu.consume %x : !ring
          mxgpu.release %sx : !slot
        }
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
      }
    }
  }
}

// -----

// Whole loops in one order.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sx = mxgpu.acquire %x : !ring
        mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
        mxgpu.publish %sx : !slot
      }
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sx = mxgpu.consume %x : !ring
        mxgpu.release %sx : !slot
      }
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
      }
    }
  }
}

// -----

// It waits for a reply to what it has sent.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!reply = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(1)>
!reply_slot = !mxgpu.slot<!reply>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %reply = mxgpu.ring "reply" : !reply
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
        %r = mxgpu.consume %reply : !reply
        mxgpu.release %r : !reply_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %reply : !reply
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !reply_slot
        mxgpu.release %s : !in_slot
        mxgpu.publish %d : !reply_slot
      }
    }
  }
}

// -----

// Rows on their way through a warp's own slots.
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = tma_store, scope = warp>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %x = vector.broadcast %v : f32 to vector<32xf32>
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @epilogue warps(4) {
      scf.for %i = %c0 to %c128 step %c32 {
        %s = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// What threads of one role leave for those of another.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.store_shared %x, %s["x"] at [%row, %column] : vector<4xf32>, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        %y = mxgpu.load_shared %s["x"] at [%row, %column] : !slot -> vector<32xf32>
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Two roles read what one copy loads: the ring waits for the threads of both.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = tma, consumer = threads(96)>
!slot = !mxgpu.slot<!ring>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %map: !map) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%row, %column] into %s["x"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @rows warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
    mxgpu.role @columns warps(2) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}
