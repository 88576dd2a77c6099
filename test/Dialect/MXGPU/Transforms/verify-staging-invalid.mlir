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
// Rejects a stage without a store.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C54
  // expected-error @below {{'mxgpu.producer_acquire' op expected a mxgpu.store_shared of field "c", found none}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Rejects a stage without a copy.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C54
  // expected-error @below {{'mxgpu.producer_acquire' op expected a mxgpu.tma_store of field "c", found none}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Rejects a stage without a release.
scf.for %i = %c0 to %c128 step %c32 {
  // kernel C19
  // expected-error @below {{'mxgpu.producer_acquire' op expected the stage to be released by mxgpu.producer_commit, found none}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
}

// BLOCK body
// Rejects a copy before the store.
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
// Rejects a copy after the release.
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
// Rejects a second acquire before the copy of the first stage.
scf.for %i = %c0 to %c128 step %c32 {
  // expected-note @below {{previous stage acquired here}}
  %s, %s_c = mxgpu.producer_acquire %staging : !ring
  // kernel C56
  // expected-error @below {{'mxgpu.producer_acquire' op expected the previous stage to be published first}}
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
// Rejects an acquire by only some threads of a warp.
%thread = mxgpu.thread_id
%some = arith.cmpi ult, %thread, %n : index
scf.if %some {
  // kernel C51
  // expected-error @below {{'mxgpu.producer_acquire' op expected to be nested only in loops and in scf.if with uniform conditions, found scf.if}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Rejects an acquire by only some lanes of a warp.
%lane = gpu.lane_id
%by_lane = arith.cmpi ult, %lane, %n : index
scf.if %by_lane {
  // kernel C51
  // expected-error @below {{'mxgpu.producer_acquire' op expected to be nested only in loops and in scf.if with uniform conditions, found scf.if}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// BLOCK body
// Rejects a loop whose trip count differs between threads.
%thread = mxgpu.thread_id
scf.for %i = %c0 to %thread step %c32 {
  // kernel C52
  // expected-error @below {{'mxgpu.producer_acquire' op expected uniform bounds of the enclosing loops}}
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
}

// Rejects an elected role, because the ring requires a whole warp.
// SET role = @epilogue warps(1) elected
// BLOCK above_role
// kernel C60
// expected-error @below {{'mxgpu.role' op expected a role of whole warps, and 32 producer threads for ring "staging", found 32 threads in an elected role}}

// Rejects a ring without a producer.
// SET role = @idle warps(1)
// kernel C22
// expected-error @below {{'mxgpu.ring' op expected a role that produces its stages, found none}}
// BLOCK body

// BLOCK body
// Rejects a store through arith.select after the release.
scf.for %i = %c0 to %c128 step %c32 {
  %s, %c = mxgpu.producer_acquire %staging : !ring
  %rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %rows, %c : !fragment, !c
  mxgpu.tma_store %c to %map[%c0, %i] : !c, !map
  mxgpu.producer_commit %s : !stage
  // kernel C14
  // expected-error @below {{'arith.select' op expected stages and their buffers to be used only by mxgpu operations without regions}}
  %late = arith.select %yes, %c, %c : !c
  %others = mxgpu.from_rows %x : vector<32xf32> -> !fragment
  mxgpu.store_shared %others, %late : !fragment, !c
}

// BLOCK body
// Rejects a second store into the same field.
%s, %c = mxgpu.producer_acquire %staging : !ring
%rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
// kernel C53
// expected-error @below {{'mxgpu.store_shared' op expected one op of this kind for each field, found a second op for field "c"}}
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
mxgpu.producer_commit %s : !stage

// -----

// Rejects a warp ring with two fields.
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
    // expected-error @below {{'mxgpu.ring' op expected one field in a ring with scope = warp, found 2}}
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
// Rejects mxgpu.consumer_wait, because only copies consume the stages.
%s, %c = mxgpu.producer_acquire %staging : !ring
%rows = mxgpu.from_rows %x : vector<32xf32> -> !fragment
mxgpu.store_shared %rows, %c : !fragment, !c
mxgpu.tma_store %c to %map[%c0, %c0] : !c, !map
mxgpu.producer_commit %s : !stage
// kernel C58
// expected-error @below {{'mxgpu.consumer_wait' op expected a ring with scope = warp to be used only by mxgpu.producer_acquire, because mxgpu.tma_store empties its stages}}
%t, %t_c = mxgpu.consumer_wait %staging : !ring

// Rejects a second role, because the buffers belong to the warps of a single role.
// kernel C59
// expected-error @below {{'mxgpu.producer_acquire' op expected one role to use a ring with scope = warp, found a second role}}
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
