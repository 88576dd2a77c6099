// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-overlap-epilogues

// Rejects epilogues that the pass cannot split at the end of the shared columns.

// -----

// TEMPLATE kernel
// SET ring = 1 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128)
!acc = !mxgpu.ring<${ring}>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x256xf32>>
!fragment = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
gpu.module @kernels {
  // BLOCK above
  // END
  mxgpu.kernel @kernel(%n: index, %whole: i1, %out: memref<?x256xf32>)
      schedule(<tile = [128, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 64>, raster = linear, epilogue = direct>) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %c192 = arith.constant 192 : index
    %c256 = arith.constant 256 : index
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%n, %n, %n)
    // BLOCK ring
    %acc = mxgpu.ring "acc" : !acc
    // END
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK wait
        %s, %d = mxgpu.consumer_wait %acc : !acc
        // END
        // BLOCK read
        // END
        // BLOCK release
        mxgpu.consumer_release %s : !stage
        // END
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        // BLOCK produce
        %s, %d = mxgpu.producer_acquire %acc : !acc
        mxgpu.producer_commit %s : !stage
        // END
      }
    }
  }
}

// -----

// CASES kernel read
// BLOCK above
// expected-error @below {{'mxgpu.kernel' op expected an epilogue that waits once for an accumulator, reads all its columns in one loop or in one scf.if with loops, in steps that divide the overlap, and releases the accumulator, found another form: use a schedule without overlap}}
// BLOCK ring
%acc = mxgpu.ring "acc" : !mxgpu.ring<1 x (d: smem<128x256xf32>), producer = bulk_copy, consumer = threads(128)>
// BLOCK wait
// BLOCK release
// BLOCK produce

// BLOCK ring
%acc = mxgpu.ring "acc" : !acc
// expected-error @below {{'mxgpu.ring' op expected an epilogue}}
%other = mxgpu.ring "other" : !acc

// SET ring = 2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 128
// BLOCK ring
// expected-error @below {{'mxgpu.ring' op expected an epilogue}}
%acc = mxgpu.ring "acc" : !acc

// SET ring = 1 x (d: tmem<128x64xf32>), producer = mma_commit, consumer = threads(128)
// BLOCK ring
// expected-error @below {{'mxgpu.ring' op expected an epilogue}}
%acc = mxgpu.ring "acc" : !acc
// BLOCK wait
// BLOCK release

// BLOCK ring
// expected-error @below {{'mxgpu.ring' op expected an epilogue}}
%acc = mxgpu.ring "acc" : !acc
// BLOCK wait
// BLOCK release

// BLOCK wait
// expected-error @below {{'mxgpu.consumer_wait' op expected an epilogue}}
%s, %d = mxgpu.consumer_wait %acc : !acc
%s2, %d2 = mxgpu.consumer_wait %acc : !acc
mxgpu.consumer_release %s2 : !stage

// BLOCK release
mxgpu.consumer_release %s deferred(1) : !stage
// expected-error @below {{'mxgpu.consumer_tail' op expected an epilogue}}
mxgpu.consumer_tail %acc : !acc

// Rejects an already split epilogue.
scf.for %i = %c0 to %c256 step %c32 {
  // expected-error @below {{'mxgpu.epilogue_column' op expected an epilogue}}
  %at = mxgpu.epilogue_column %s, %i : !stage
  %f = mxgpu.load_accumulator %d column(%at) : !d -> !fragment
}

// BLOCK release
// expected-error @below {{'mxgpu.consumer_release' op expected an epilogue}}
mxgpu.consumer_release %s : !stage
mxgpu.consumer_release %s : !stage

scf.for %i = %c0 to %c256 step %c32 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}
scf.for %i = %c0 to %c256 step %c32 {
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

// expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
%f = mxgpu.load_accumulator %d column(%c0) : !d -> !fragment

scf.for %i = %c0 to %c256 step %c32 {
  %twice = arith.addi %i, %i : index
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%twice) : !d -> !fragment
}

// Rejects a loop without the first columns.
scf.for %i = %c32 to %c256 step %c32 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

// Rejects a loop without the last columns.
scf.for %i = %c0 to %c192 step %c32 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

scf.for %i = %c0 to %n step %c32 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

// Rejects a loop over only a part of the shared columns.
scf.for %i = %c0 to %c32 step %c32 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

// Rejects a step over both shared columns and other columns.
scf.for %i = %c0 to %c256 step %c128 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

scf.for %i = %c0 to %c256 step %c48 {
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}

scf.for %i = %c0 to %c128 step %c32 {
  %gate = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  %at = arith.addi %i, %c96 : index
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %up = mxgpu.load_accumulator %d column(%at) : !d -> !fragment
}

scf.for %i = %c0 to %c256 step %c32 {
  %at = arith.addi %i, %c256 : index
  // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
  %f = mxgpu.load_accumulator %d column(%at) : !d -> !fragment
}

// Rejects branches over different columns. The pass visits the uses in reverse, so the error names the first loop.
scf.if %whole {
  scf.for %i = %c0 to %c256 step %c32 {
    // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
} else {
  scf.for %i = %c0 to %c128 step %c32 {
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
}

// BLOCK wait
// expected-error @below {{'mxgpu.consumer_wait' op expected an epilogue}}
%s, %d = mxgpu.consumer_wait %acc : !acc

// BLOCK wait
// expected-error @below {{'mxgpu.consumer_wait' op expected an epilogue}}
%s, %d = mxgpu.consumer_wait %acc : !acc
mxgpu.consumer_release %s : !stage
scf.for %i = %c0 to %c256 step %c32 {
  %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
}
// BLOCK release

// Rejects a branch whose loop carries values.
scf.if %whole {
  %sum = scf.for %i = %c0 to %c256 step %c32 iter_args(%last = %c0) -> index {
    // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
    scf.yield %i : index
  }
}

%chosen = scf.if %whole -> index {
  scf.for %i = %c0 to %c256 step %c32 {
    // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
  scf.yield %c0 : index
} else {
  scf.yield %c32 : index
}

// Rejects a store, because the split epilogue would execute the store twice.
scf.if %whole {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{'memref.store' op expected an epilogue}}
  memref.store %one, %out[%c0, %c0] : memref<?x256xf32>
  scf.for %i = %c0 to %c256 step %c32 {
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
}

scf.for %j = %c0 to %n step %c32 {
  scf.for %i = %c0 to %c256 step %c32 {
    // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
}

scf.for %j = %c0 to %c256 step %c32 {
  %g = mxgpu.load_accumulator %d column(%j) : !d -> !fragment
  scf.for %i = %c0 to %c256 step %c32 {
    // expected-error @below {{'mxgpu.load_accumulator' op expected an epilogue}}
    %f = mxgpu.load_accumulator %d column(%i) : !d -> !fragment
  }
}
