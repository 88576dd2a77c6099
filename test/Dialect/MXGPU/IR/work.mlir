// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Round-trips work tiles from cluster launch control, and split reductions.

// CHECK: [[$RING:!clc_ring]] = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
!groups = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>
gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @kernel
  mxgpu.kernel @kernel(%m: index, %n: index, %k: index) {
    // CHECK: %[[UNITS:.*]] = mxgpu.ring "work_tiles" : [[$RING]]
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    // CHECK: %[[WORK:.*]] = mxgpu.tile_scheduler clc(%[[UNITS]] : [[$RING]]) raster = hilbert tile [128, 64] split(3 step 256) of(
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = hilbert tile [128, 64] split(3 step 256) of(%m, %n, %k)
    // CHECK: mxgpu.tile_scheduler static raster = group_m(8) tile [128, 64] of(
    %other = mxgpu.tile_scheduler static raster = group_m(8) tile [128, 64] of(%m, %n, %k)
    mxgpu.role @schedule warps(1) elected {
      // CHECK: mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %[[WORK]] {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %request, %request_work_tile = mxgpu.producer_acquire %work_tiles : !ring
        mxgpu.producer_commit %request : !stage
        // CHECK: %[[STAGE:.*]], %[[UNIT:.*]] = mxgpu.consumer_wait %[[UNITS]] : [[$RING]]
        %answer, %answer_unit = mxgpu.consumer_wait %work_tiles : !ring
        // CHECK-NEXT: mxgpu.next_work_tile %[[UNIT]] : !{{.*}}
        mxgpu.next_work_tile %answer_unit : !work_tile
        // CHECK-NEXT: mxgpu.consumer_release %[[STAGE]] : !{{.*}}
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
  // Round-trips schedulers with an atomic counter, one work tile per CTA, and expert groups.
  // CHECK-LABEL: mxgpu.kernel @tickets(
  mxgpu.kernel @tickets(%n: index, %counter: memref<1xi32>, %offsets: memref<?xi64>) {
    // CHECK: %[[TICKETS:.*]] = mxgpu.ring "tickets" : !atomic_counter_ring
    %tickets = mxgpu.ring "tickets" : !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = atomic_counter, consumer = roles>
    // CHECK: mxgpu.tile_scheduler atomic_counter(%[[TICKETS]], %{{.*}} : !atomic_counter_ring, memref<1xi32>) raster = columns tile [256, 256] of(
    %scheduler = mxgpu.tile_scheduler atomic_counter(%tickets, %counter : !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = atomic_counter, consumer = roles>, memref<1xi32>) raster = columns tile [256, 256] of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler single raster = linear tile [128, 128] of(
    %single = mxgpu.tile_scheduler single raster = linear tile [128, 128] of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%{{.*}} : memref<?xi64>) of(
    %ragged = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%offsets : memref<?xi64>) of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%{{.*}} : memref<?xi64>) limit(%[[N:.*]]) of(
    %limited = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%offsets : memref<?xi64>) limit(%n) of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler single repeated raster = linear tile [128, 128] ragged(%{{.*}} : memref<?xi64>) limit(%[[N]]) of(
    %rest = mxgpu.tile_scheduler single repeated raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) limit(%n) of(%n, %n, %n)
    %groups = mxgpu.ring "groups" : !groups
    // CHECK: mxgpu.tile_scheduler groups(%{{.*}} : !groups_ring) raster = linear tile [128, 128] ragged(%{{.*}} : memref<?xi64>) of(
    %rows = mxgpu.tile_scheduler groups(%groups : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler groups(%{{.*}} : !groups_ring) raster = linear tile [128, 128] ragged(%{{.*}} : memref<?xi64>) stride(%{{.*}}) of(
    %masked = mxgpu.tile_scheduler groups(%groups : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) stride(%n) of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler groups(%{{.*}} : !groups_ring) raster = hilbert tile [128, 128] ragged(%{{.*}} : memref<?xi64>) over_reduction of(
    %reduction = mxgpu.tile_scheduler groups(%groups : !groups) raster = hilbert tile [128, 128] ragged(%offsets : memref<?xi64>) over_reduction of(%n, %n, %n)
    // CHECK: mxgpu.tile_scheduler single raster = linear tile [1, 1] ragged(%{{.*}} : memref<?xi64>) over_reduction of(
    %segment = mxgpu.tile_scheduler single raster = linear tile [1, 1] ragged(%offsets : memref<?xi64>) over_reduction of(%n, %n, %n)
    mxgpu.role @none warps(1) {
    }
  }
}
