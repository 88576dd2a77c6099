// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Verifies cluster launch control: one role issues requests, and all roles consume
// the responses.

// -----

// TEMPLATE kernel
// SET arguments = %n: index
// SET schedule = mxgpu.role @schedule warps(1) elected
// SET scheduler = %scheduler
!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
!map = !mxgpu.tensor_map<128x16xi8>
!in = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    // BLOCK ring
    // END
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    // BLOCK roles
    // END
    ${schedule} {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in ${scheduler} {
        // BLOCK requests
        %request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
        mxgpu.producer_commit %request : !stage
        %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %answer_unit : !work_tile
        mxgpu.consumer_release %answer : !stage
        // END
      }
    }
  }
}

// -----

// CASES kernel roles
mxgpu.role @other warps(4) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
    mxgpu.next_work_tile %answer_unit : !work_tile
    mxgpu.consumer_release %answer : !stage
  }
}

// Rejects a role without a wait for the response before its next request.
// SET scheduler = %other
%other = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
mxgpu.role @other warps(4) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
    mxgpu.next_work_tile %answer_unit : !work_tile
    mxgpu.consumer_release %answer : !stage
  }
}
// BLOCK requests
%request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
// kernel C27
// expected-error @below {{'mxgpu.producer_commit' op expected the requesting role to consume the answer in the same iteration}}
mxgpu.producer_commit %request : !stage

// Rejects a wait for the response before the request.
// BLOCK requests
%answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
mxgpu.next_work_tile %answer_unit : !work_tile
mxgpu.consumer_release %answer : !stage
%request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
// kernel C27
// expected-error @below {{'mxgpu.producer_commit' op expected the requesting role to consume the answer in the same iteration}}
mxgpu.producer_commit %request : !stage

// BLOCK requests
%request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
mxgpu.producer_commit %request : !stage
%answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
mxgpu.next_work_tile %answer_unit : !work_tile
mxgpu.consumer_release %answer : !stage
// kernel C26
// expected-error @below {{'mxgpu.consumer_wait' op expected one mxgpu.consumer_wait of the ring in role "schedule", found another}}
%second, %second_unit = mxgpu.consumer_wait %work_tiles : !ring
mxgpu.consumer_release %second : !stage

// Rejects a role without a release of its response.
mxgpu.role @other warps(4) {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    // kernel C19
    // expected-error @below {{'mxgpu.consumer_wait' op expected the stage to be released by mxgpu.consumer_release, found none}}
    %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
    mxgpu.next_work_tile %answer_unit : !work_tile
  }
}

// Rejects a role without `elected`, because only one thread may issue requests.
// SET schedule = mxgpu.role @schedule warps(1)
// kernel C29
// expected-error @below {{'mxgpu.role' op expected an elected role for clc of ring "work_tiles"}}

// Rejects a deadlock: the request waits for a load, and the load follows the response.
// SET arguments = %map: !map, %n: index
mxgpu.role @load warps(1) elected {
  mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
    // expected-note @below {{which waits for this}}
    %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
    mxgpu.next_work_tile %answer_unit : !work_tile
    mxgpu.consumer_release %answer : !stage
    %a, %a_a = mxgpu.producer_acquire %in : !in
    mxgpu.tma_load %map[%n] into %a_a for %a : !map, !a, !in_stage
    // expected-note @below {{which waits for this}}
    mxgpu.producer_commit %a : !in_stage
  }
}
// BLOCK ring
%in = mxgpu.ring "in" : !in
// BLOCK requests
// kernel C25
// expected-error @below {{'mxgpu.consumer_wait' op expected not to wait for itself through other roles, found a deadlock}}
%a, %a_a = mxgpu.consumer_wait %in : !in
mxgpu.consumer_release %a : !in_stage
%request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
// expected-note @below {{which waits for this}}
mxgpu.producer_commit %request : !stage
%answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
mxgpu.next_work_tile %answer_unit : !work_tile
mxgpu.consumer_release %answer : !stage
