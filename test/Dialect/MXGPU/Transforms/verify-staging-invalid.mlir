// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Slots of a warp's own that are used wrongly.

// Nothing is written.
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
        // expected-error @below {{'mxgpu.acquire' op expected a mxgpu.store_shared of field "c", found none}}
        %s = mxgpu.acquire %staging : !ring
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// Nothing is copied.
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
        // expected-error @below {{'mxgpu.acquire' op expected a mxgpu.tma_store of field "c", found none}}
        %s = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// Nothing is given back.
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
        // expected-error @below {{'mxgpu.acquire' op expected the slot to be given back by mxgpu.publish, found no use of it}}
        %s = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
      }
    }
  }
}

// -----

// The copy comes before what it copies.
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
        // expected-error @below {{'mxgpu.tma_store' op expected to come after mxgpu.store_shared}}
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
        // expected-note @below {{this is later}}
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// The copy comes when the slot is given away.
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
        // expected-error @below {{'mxgpu.publish' op expected to come after mxgpu.tma_store}}
        mxgpu.publish %s : !slot
        // expected-note @below {{this is later}}
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
      }
    }
  }
}

// -----

// Two slots at a time: the copy of the first has not started when the second is taken.
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
        // expected-note @below {{it is taken here}}
        %s = mxgpu.acquire %staging : !ring
        // expected-error @below {{'mxgpu.acquire' op expected the slot before to be published first}}
        %t = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.store_shared %x, %t["c"] : vector<32xf32>, !slot
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
        mxgpu.tma_store %t["c"] to %map[%c0, %i] : !slot, !map
        mxgpu.publish %s : !slot
        mxgpu.publish %t : !slot
      }
    }
  }
}

// -----

// Part of a warp.
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
      %thread = mxgpu.thread_id
      %some = arith.cmpi ult, %thread, %n : index
      scf.if %some {
        // expected-error @below {{'mxgpu.acquire' op expected only loops and conditions that threads agree on around it, found scf.if}}
        %s = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.tma_store %s["c"] to %map[%c0, %c0] : !slot, !map
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// Each thread its own number of times.
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
      %thread = mxgpu.thread_id
      scf.for %i = %c0 to %thread step %c32 {
        // expected-error @below {{'mxgpu.acquire' op expected loops whose bounds threads agree on around it}}
        %s = mxgpu.acquire %staging : !ring
        mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !slot
        mxgpu.tma_store %s["c"] to %map[%c0, %i] : !slot, !map
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// One thread for a whole warp.
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
    // expected-error @below {{'mxgpu.role' op expected whole warps, and 32 threads for ring "staging", found 32 threads in an elected role}}
    mxgpu.role @epilogue warps(1) elected {
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

// Nobody.
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = tma_store, scope = warp>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %x = vector.broadcast %v : f32 to vector<32xf32>
    // expected-error @below {{'mxgpu.ring' op expected a role that produces its slots, found none}}
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @idle warps(1) {
    }
  }
}
