// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Slots for stores that all threads of a role share, used wrongly.

// Nothing is written.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index) {
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      // expected-error @below {{'mxgpu.acquire' op expected a store into field "f", found none}}
      %s = mxgpu.acquire %out : !ring
      mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// Nothing is copied.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      // expected-error @below {{'mxgpu.acquire' op expected 1 copy of field "f", found 0}}
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// What is written late may be missed.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      // expected-note @below {{a copy}}
      mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      // expected-error @below {{'mxgpu.store_scale' op expected to come before the copies from its slot}}
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// The slot is never given away.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      // expected-error @below {{'mxgpu.acquire' op expected the slot to be given back once by mxgpu.publish, found 0 times}}
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
    }
  }
}

// -----

// Copies that threads do not start together.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8, %c: i1) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      scf.if %c {
        // expected-error @below {{'mxgpu.bulk_store' op expected to be in the block that takes the slot, and publish with it}}
        mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      }
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// Threads that wait for more than there are.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(128), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    // expected-error @below {{'mxgpu.role' op expected 128 threads for ring "out", found 64}}
    mxgpu.role @write warps(2) {
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// A thread that comes late, or not at all.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8, %c: i1) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      scf.if %c {
        // expected-error @below {{'mxgpu.acquire' op expected only mxgpu loops around it, found scf.if}}
        %s = mxgpu.acquire %out : !ring
        mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
        mxgpu.bulk_store %s["f"] to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

// Threads that do not agree would not copy together.
!ring = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      %thread = mxgpu.thread_id
      %c = arith.cmpi ult, %thread, %i : index
      // expected-error @below {{'mxgpu.bulk_store' op expected a condition that threads agree on}}
      mxgpu.bulk_store %s["f"] to %m[%i, %i] when(%c) : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// One of two tiles is not copied.
!ring = !mxgpu.ring<1 x (f: smem<1x2x512xf8E8M0FNU>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, %b: i8) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      // expected-error @below {{'mxgpu.acquire' op expected 2 copies of field "f", found 1}}
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_scale %f, %s["f"] at [%i, %i] : f8E8M0FNU, !slot
      mxgpu.bulk_store %s["f"] part(0) to %m[%i, %i] : !slot, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.publish %s : !slot
    }
  }
}

// -----

// Strips of two panels; one is copied twice, another not at all.
!ring = !mxgpu.ring<1 x (q: smem<2x16x128xi8, sw128>), producer = threads(64), consumer = tma_store>
!slot = !mxgpu.slot<!ring>
!map = !mxgpu.tensor_map<8x128xi8, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %i: index, %b: i8) {
    %q = vector.broadcast %b : i8 to vector<32xi8>
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      %s = mxgpu.acquire %out : !ring
      mxgpu.store_shared %q, %s["q"] at [%i, %i] : vector<32xi8>, !slot
      mxgpu.tma_store %s["q"] part(0) to %map[%i, %i] : !slot, !map
      mxgpu.tma_store %s["q"] part(2) to %map[%i, %i] : !slot, !map
      mxgpu.tma_store %s["q"] part(1) to %map[%i, %i] : !slot, !map
      // expected-error @below {{'mxgpu.tma_store' op expected one copy of each part, found part 2 of "q" a second time}}
      mxgpu.tma_store %s["q"] part(2) to %map[%i, %i] : !slot, !map
      mxgpu.publish %s : !slot
    }
  }
}
