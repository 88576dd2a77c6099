// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Invalid uses of per-warp stages.

// -----

// TEMPLATE staging
// SET role = @epilogue warps(4)
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
!fragment = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %yes: i1, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %x = vector.broadcast %v : f32 to vector<32xf32>
    // BLOCK above_ring
    // END
    %staging = mxgpu.ring "staging" : !ring
    // BLOCK above_role
    // END
    mxgpu.role ${role} {
      // BLOCK body
      scf.for %i = %c0 to %c128 step %c32 {
        %s, %c = mxgpu.producer_acquire %staging : !ring
        %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
        mxgpu.store_shared %rows, %c : !fragment, !c
        mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
        mxgpu.producer_commit %s : !stage
      }
      // END
    }
    // BLOCK below_role
    // END
  }
}

// -----

// CASES staging above_ring
// BLOCK body
// No write.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C54
  // expected-error @below {{'mxgpu.producer_acquire' op expected a mxgpu.store_shared of field "c", found none}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// No copy.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C54
  // expected-error @below {{'mxgpu.producer_acquire' op expected a mxgpu.tma_store of field "c", found none}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Nothing is released.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C19
  // expected-error @below {{'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found no use of it}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
}

// BLOCK body
// The copy precedes the write.
scf.for %i = %c0 to %c128 step %c32 {
  %s, %c = mxgpu.producer_acquire %staging : !ring
  // kernel C55
  // expected-error @below {{'mxgpu.tma_store' op expected to come after mxgpu.store_shared}}
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  // expected-note @below {{this is later}}
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// The copy follows the release.
scf.for %i = %c0 to %c128 step %c32 {
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  // kernel C55
  // expected-error @below {{'mxgpu.producer_commit' op expected to come after mxgpu.tma_store}}
  mxgpu.producer_commit %s : !stage
  // expected-note @below {{this is later}}
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
}

// BLOCK body
// Two stages at once: the second is acquired before the copy of the first.
scf.for %i = %c0 to %c128 step %c32 {
  // expected-note @below {{it is taken here}}
  %s, %s_c = mxgpu.producer_acquire %staging : !ring
  // kernel C56
  // expected-error @below {{'mxgpu.producer_acquire' op expected the stage before to be published first}}
  %t, %t_c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %s_c : !fragment, !c
  %others = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %others, %t_c : !fragment, !c
  mxgpu.tma_store %s_c to %map[%c0, %i] : !c, !map
  mxgpu.tma_store %t_c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
  mxgpu.producer_commit %t : !stage
}

// BLOCK body
// A part of a warp.
%thread = mxgpu.thread_id
%some = arith.cmpi ult, %thread, %n : index
scf.if %some {
  // kernel C51
  // expected-error @below {{'mxgpu.producer_acquire' op expected only loops and conditions that threads agree on around it, found scf.if}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Different trip counts per thread.
%thread = mxgpu.thread_id
scf.for %i = %c0 to %thread step %c32 {
  // kernel C52
  // expected-error @below {{'mxgpu.producer_acquire' op expected loops whose bounds threads agree on around it}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// A single thread for a whole warp.
// SET role = @epilogue warps(1) elected
// BLOCK above_role
// kernel C60
// expected-error @below {{'mxgpu.role' op expected whole warps, and 32 threads for ring "staging", found 32 threads in an elected role}}

// No producer.
// SET role = @idle warps(1)
// kernel C22
// expected-error @below {{'mxgpu.ring' op expected a role that produces its stages, found none}}
// BLOCK body

// BLOCK body
// A store outside the order of stores and copies.
scf.for %i = %c0 to %c128 step %c32 {
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
  // kernel C14
  // expected-error @below {{'arith.select' op expected only operations of mxgpu, and no loops, to take a stage or its buffers}}
  %late = arith.select %yes, %c, %c : !c
  %others = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %others, %late : !fragment, !c
}

// BLOCK body
// The first copy is overwritten.
%s, %c = mxgpu.producer_acquire %staging : !ring
%rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
// kernel C53
// expected-error @below {{'mxgpu.store_shared' op expected one of each field, found a second of "c"}}
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
mxgpu.producer_commit %s : !stage

// -----

// A warp's stage must be one buffer.
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>, d: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
!fragment = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %yes: i1, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %x = vector.broadcast %v : f32 to vector<32xf32>
    // kernel C57
    // expected-error @below {{'mxgpu.ring' op expected one field in a warp's own ring, found 2}}
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @epilogue warps(4) {
      %s, %c, %d = mxgpu.producer_acquire %staging : !ring
      %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
      mxgpu.store_shared %rows, %c : !fragment, !c
      mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
      mxgpu.producer_commit %s : !stage
    }
  }
}

// -----

// CASES staging body
// Only copies release the stages.
%s, %c = mxgpu.producer_acquire %staging : !ring
%rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
mxgpu.producer_commit %s : !stage
// kernel C58
// expected-error @below {{'mxgpu.consumer_wait' op expected a warp's own ring to be acquired, and emptied by tma_store}}
%t, %t_c = mxgpu.consumer_wait %staging : !ring

// Two roles share no warps.
// kernel C59
// expected-error @below {{'mxgpu.producer_acquire' op expected one role to use a warp's own ring, found another}}
%s, %c = mxgpu.producer_acquire %staging : !ring
%rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
mxgpu.producer_commit %s : !stage
// BLOCK below_role
mxgpu.role @other warps(4) {
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
  mxgpu.producer_commit %s : !stage
}
