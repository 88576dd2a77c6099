// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Invalid uses of staging buffers shared by all threads of a role.

// -----

// TEMPLATE write
// SET field = 512xf8E8M0FNU
// SET threads = 64
// SET arguments = %b: i8
!ring = !mxgpu.ring<1 x (f: smem<${field}>), producer = threads(${threads}), consumer = bulk_store>
!stage = !mxgpu.stage<!ring>
!f = !mxgpu.buffer<smem<${field}>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%m: memref<?x?x32x4x4xf8E8M0FNU>, %i: index, ${arguments}) {
    %f = arith.bitcast %b : i8 to f8E8M0FNU
    %out = mxgpu.ring "out" : !ring
    // BLOCK role
    // END
    mxgpu.role @write warps(2) {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES write body
// Rejects a stage without a store.
// kernel C62
// expected-error @below {{'mxgpu.producer_acquire' op expected a store into field "f", found none}}
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %s : !stage

// Rejects a stage without a copy.
// kernel C63
// expected-error @below {{'mxgpu.producer_acquire' op expected 1 copy of field "f", found 0}}
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.producer_commit %s : !stage

// Rejects a write after the copy, because the copy may miss the write.
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
// expected-note @below {{this copies the stage}}
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
// kernel C67
// expected-error @below {{'mxgpu.store_scale' op expected to come before the copies from its stage}}
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.producer_commit %s : !stage

// Rejects a stage without a release.
// kernel C18
// expected-error @below {{'mxgpu.producer_acquire' op expected the stage to be released once by mxgpu.producer_commit, found 0 commits}}
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>

// Rejects a conditional copy.
// SET arguments = %b: i8, %c: i1
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
scf.if %c {
  // kernel C64
  // expected-error @below {{'mxgpu.bulk_store' op expected the copy and mxgpu.producer_commit to be in the block that acquires the stage}}
  mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
}
mxgpu.producer_commit %s : !stage

// Rejects a ring with a larger thread count than its role.
// SET threads = 128
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %s : !stage
// BLOCK role
// kernel C30
// expected-error @below {{'mxgpu.role' op expected 128 threads for ring "out", found 64}}

// Rejects a conditional acquire, because some threads may not take part.
// SET arguments = %b: i8, %c: i1
scf.if %c {
  // kernel C16
  // expected-error @below {{'mxgpu.producer_acquire' op expected to be nested only in mxgpu loops, found scf.if}}
  %s, %s_f = mxgpu.producer_acquire %out : !ring
  mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
  mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
  mxgpu.producer_commit %s : !stage
}

// Rejects a copy whose condition differs between threads.
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
%thread = mxgpu.thread_id
%c = arith.cmpi ult, %thread, %i : index
// kernel C66
// expected-error @below {{'mxgpu.bulk_store' op expected a uniform condition}}
mxgpu.bulk_store %s_f to %m[%i, %i] when(%c) : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %s : !stage

// Rejects a copy of only one of two tiles.
// SET field = 1x2x512xf8E8M0FNU
// kernel C63
// expected-error @below {{'mxgpu.producer_acquire' op expected 2 copies of field "f", found 1}}
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.bulk_store %s_f tile(0) to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %s : !stage

// Rejects a ring acquired in two places.
// kernel C61
// expected-error @below {{'mxgpu.producer_acquire' op expected a ring for tma_store to be acquired in one place only}}
%t, %t_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %t_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.bulk_store %t_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %t : !stage
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>
mxgpu.producer_commit %s : !stage

// Rejects a copy after the release.
%s, %s_f = mxgpu.producer_acquire %out : !ring
mxgpu.store_scale %f, %s_f at [%i, %i] : f8E8M0FNU, !f
mxgpu.producer_commit %s : !stage
// kernel C65
// expected-error @below {{'mxgpu.bulk_store' op expected to come before mxgpu.producer_commit}}
mxgpu.bulk_store %s_f to %m[%i, %i] : !f, memref<?x?x32x4x4xf8E8M0FNU>

// -----

// CASES
// Rejects copies of two panels in which one strip is copied twice and another is never copied.
!ring = !mxgpu.ring<1 x (q: smem<2x16x128xi8, sw128>), producer = threads(64), consumer = bulk_store>
!stage = !mxgpu.stage<!ring>
!q = !mxgpu.buffer<smem<2x16x128xi8, sw128>>
!map = !mxgpu.tensor_map<8x128xi8, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %i: index, %b: i8) {
    %q = vector.broadcast %b : i8 to vector<32xi8>
    %out = mxgpu.ring "out" : !ring
    mxgpu.role @write warps(2) {
      %s, %s_q = mxgpu.producer_acquire %out : !ring
      mxgpu.store_shared %q, %s_q at [%i, %i] : vector<32xi8>, !q
      mxgpu.tma_store %s_q box(0) to %map[%i, %i] : !q, !map
      mxgpu.tma_store %s_q box(2) to %map[%i, %i] : !q, !map
      mxgpu.tma_store %s_q box(1) to %map[%i, %i] : !q, !map
      // kernel C68
      // expected-error @below {{'mxgpu.tma_store' op expected each box to be copied once, found box 2 of "q" copied twice}}
      mxgpu.tma_store %s_q box(2) to %map[%i, %i] : !q, !map
      mxgpu.producer_commit %s : !stage
    }
  }
}
