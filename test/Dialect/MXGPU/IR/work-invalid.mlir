// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE kernel
// SET arguments = %n: index, %offsets: memref<?xi32>
// SET attributes = 
!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
!work_tiles = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments})${attributes} {
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
// tile_scheduler C1
// expected-error @below {{'mxgpu.tile_scheduler' op expected 2 tile sizes, found 1}}
%work = mxgpu.tile_scheduler static raster = linear tile [128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
}

// tile_scheduler C2
// expected-error @below {{'mxgpu.tile_scheduler' op expected tile sizes of at least 1, found 0}}
%work = mxgpu.tile_scheduler static raster = linear tile [128, 0] of(%n, %n, %n)
mxgpu.role @role warps(1) {
}

%work = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  // expected-error @below {{expected 5 arguments, found 2}}
  mxgpu.for_each_work_tile (%row, %column) in %work {
  }
}

%work = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  // shared C8
  // expected-error @below {{'mxgpu.for_each_work_tile' op expected body arguments of types ('index', 'index', 'index', 'index', 'index'), found ('index')}}
  "mxgpu.for_each_work_tile"(%work) ({
  ^body(%e: index):
  }) : (!mxgpu.tile_scheduler) -> ()
}

// SET arguments = %yes: i1, %n: index
%a = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
%b = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%n, %n, %n)
%work = arith.select %yes, %a, %b : !mxgpu.tile_scheduler
mxgpu.role @role warps(1) {
  // for_each_work_tile C1
  // expected-error @below {{'mxgpu.for_each_work_tile' op expected a tile scheduler defined in the kernel}}
  mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %work {
  }
}

// tile_scheduler C4
// expected-error @below {{'mxgpu.tile_scheduler' op expected at most 1024 splits of the reduction, found 1025}}
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] split(1025 step 128) of(%n, %n, %n)
mxgpu.role @role warps(1) {
}

// tile_scheduler C3
// expected-error @below {{'mxgpu.tile_scheduler' op expected both 'splits' and 'split_step', or neither}}
%scheduler = "mxgpu.tile_scheduler"(%n, %n, %n) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, tile = array<i64: 128, 128>, raster = #mxgpu.raster<linear>, splits = 2 : i64} : (index, index, index) -> !mxgpu.tile_scheduler
mxgpu.role @role warps(1) {
}

// -----

// CASES
// Rejects a ring for operands as the ring of a tile scheduler.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %ring = mxgpu.ring "ring" : !ring
    // tile_scheduler C5
    // expected-error @below {{'mxgpu.tile_scheduler' op expected a ring with producer clc or groups, found bulk_copy}}
    %scheduler = mxgpu.tile_scheduler clc(%ring : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
    }
  }
}

// Rejects a 32-byte buffer, because a response takes 16 bytes.
// ring C7
// expected-error @below {{expected 1 buffer of 16 bytes filled by clc, found 1 buffers, the first with 32 bytes}}
!ring = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = clc, consumer = roles>

// -----

// CASES kernel body
%work_tiles = mxgpu.ring "work_tiles" : !ring
%scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  // for_each_work_tile C2
  // expected-error @below {{'mxgpu.for_each_work_tile' op expected mxgpu.next_work_tile in the loop body, found none}}
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
  }
}

%work_tiles = mxgpu.ring "work_tiles" : !ring
%scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
    mxgpu.next_work_tile %work_tile : !work_tile
    // next_work_tile C2
    // expected-error @below {{'mxgpu.next_work_tile' op expected one mxgpu.next_work_tile in the loop, found a second}}
    mxgpu.next_work_tile %work_tile : !work_tile
    mxgpu.consumer_release %stage : !stage
  }
}

%work_tiles = mxgpu.ring "work_tiles" : !ring
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
    // next_work_tile C1
    // expected-error @below {{'mxgpu.next_work_tile' op expected a tile scheduler with a ring, found a static tile scheduler}}
    mxgpu.next_work_tile %work_tile : !work_tile
    mxgpu.consumer_release %stage : !stage
  }
}

%work_tiles = mxgpu.ring "work_tiles" : !ring
%other = mxgpu.ring "other" : !ring
%scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %stage, %work_tile = mxgpu.consumer_wait %other : !ring
    // next_work_tile C3
    // expected-error @below {{'mxgpu.next_work_tile' op expected a buffer of the tile scheduler's ring}}
    mxgpu.next_work_tile %work_tile : !work_tile
    mxgpu.consumer_release %stage : !stage
  }
}

// Rejects a response consumed before the loop, because every iteration would read the same response.
%work_tiles = mxgpu.ring "work_tiles" : !ring
%scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) {
  %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    // next_work_tile C4
    // expected-error @below {{'mxgpu.next_work_tile' op expected mxgpu.consumer_wait in the same block}}
    mxgpu.next_work_tile %work_tile : !work_tile
  }
  mxgpu.consumer_release %stage : !stage
}

// -----

// CASES
!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    mxgpu.role @role warps(1) {
      %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
      // next_work_tile C5
      // expected-error @below {{'mxgpu.next_work_tile' op expected to be in the body of mxgpu.for_each_work_tile}}
      mxgpu.next_work_tile %work_tile : !work_tile
      mxgpu.consumer_release %stage : !stage
    }
  }
}

!work_tiles = !mxgpu.ring<1 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %counter: memref<1xi32>) {
    %work_tiles = mxgpu.ring "work_tiles" : !work_tiles
    // tile_scheduler C5
    // expected-error @below {{'mxgpu.tile_scheduler' op expected a ring with producer atomic_counter, found clc}}
    %scheduler = mxgpu.tile_scheduler atomic_counter(%work_tiles, %counter : !work_tiles, memref<1xi32>) raster = linear tile [128, 128] of(%n, %n, %n)
  }
}

!work_tiles = !mxgpu.ring<1 x (work_tile: smem<16xi8>), producer = atomic_counter, consumer = roles>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %counter: memref<2xi32>) {
    %work_tiles = mxgpu.ring "work_tiles" : !work_tiles
    // tile_scheduler C6
    // expected-error @below {{'mxgpu.tile_scheduler' op expected a counter of type memref<1xi32>, found 'memref<2xi32>'}}
    %scheduler = mxgpu.tile_scheduler atomic_counter(%work_tiles, %counter : !work_tiles, memref<2xi32>) raster = linear tile [128, 128] of(%n, %n, %n)
  }
}

// -----

// CASES kernel body
// tile_scheduler C8
// expected-error @below {{'mxgpu.tile_scheduler' op 'ragged' requires a ring with producer groups, or 'single'}}
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %n)

// SET arguments = %n: index, %offsets: memref<?xi16>
// tile_scheduler C7
// expected-error @below {{'mxgpu.tile_scheduler' op expected offsets of rank 1 with i32 or i64 elements, found 'memref<?xi16>'}}
%scheduler = mxgpu.tile_scheduler single raster = linear tile [128, 128] ragged(%offsets : memref<?xi16>) of(%n, %n, %n)

// expected-error @below {{expected static, single, clc, groups or atomic_counter, found other}}
%scheduler = mxgpu.tile_scheduler other raster = linear tile [128, 128] of(%n, %n, %n)

// tile_scheduler C8
// expected-error @below {{'mxgpu.tile_scheduler' op 'ragged' requires a ring with producer groups, or 'single'}}
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) over_reduction of(%n, %n, %n)

%work_tiles = mxgpu.ring "work_tiles" : !work_tiles
// tile_scheduler C11
// expected-error @below {{'mxgpu.tile_scheduler' op expert groups require 'ragged' with offsets}}
%scheduler = mxgpu.tile_scheduler groups(%work_tiles : !work_tiles) raster = linear tile [128, 128] of(%n, %n, %n)

%work_tiles = mxgpu.ring "work_tiles" : !work_tiles
// tile_scheduler C10
// expected-error @below {{'mxgpu.tile_scheduler' op 'ragged' does not support 'split'}}
%scheduler = mxgpu.tile_scheduler groups(%work_tiles : !work_tiles) raster = linear tile [128, 128] split(2 step 128) ragged(%offsets : memref<?xi32>) of(%n, %n, %n)

// SET attributes = cluster_splits(4)
// tile_scheduler C12
// expected-error @below {{'mxgpu.tile_scheduler' op expected a static scheduler with 4 splits, as in the kernel, found 2}}
%scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] split(2 step 128) of(%n, %n, %n)

// tile_scheduler C9
// expected-error @below {{'mxgpu.tile_scheduler' op 'stride' requires ragged rows and a ring with producer groups}}
%scheduler = mxgpu.tile_scheduler single raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) stride(%n) of(%n, %n, %n)

// tile_scheduler C13
// expected-error @below {{'mxgpu.tile_scheduler' op 'limit' requires 'single' and ragged rows}}
%scheduler = mxgpu.tile_scheduler single raster = linear tile [128, 128] limit(%n) of(%n, %n, %n)

// tile_scheduler C13
// expected-error @below {{'mxgpu.tile_scheduler' op 'limit' requires 'single' and ragged rows}}
%scheduler = mxgpu.tile_scheduler single raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) limit(%n) over_reduction of(%n, %n, %n)

// tile_scheduler C14
// expected-error @below {{'mxgpu.tile_scheduler' op 'repeated' requires 'limit' and a linear raster}}
%scheduler = mxgpu.tile_scheduler single repeated raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %n)

// tile_scheduler C14
// expected-error @below {{'mxgpu.tile_scheduler' op 'repeated' requires 'limit' and a linear raster}}
%scheduler = mxgpu.tile_scheduler single repeated raster = columns tile [128, 128] ragged(%offsets : memref<?xi32>) limit(%n) of(%n, %n, %n)

// yield C2
// expected-error @below {{'mxgpu.yield' op expected a condition of type i1 in a kernel}}
mxgpu.yield %n : index

// SET attributes = cluster(2)
%true = arith.constant true
// yield C3
// expected-error @below {{'mxgpu.yield' op expected a kernel without clusters and divided registers}}
mxgpu.yield %true : i1

// Rejects the buffer of a request instead of a response.
%work_tiles = mxgpu.ring "work_tiles" : !ring
%scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @role warps(1) elected {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %stage, %work_tile = mxgpu.producer_acquire %work_tiles : !ring
    // next_work_tile C6
    // expected-error @below {{'mxgpu.next_work_tile' op expected a buffer of mxgpu.consumer_wait}}
    mxgpu.next_work_tile %work_tile : !work_tile
  }
}
