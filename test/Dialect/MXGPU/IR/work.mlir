// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Units of cluster launch control, and parts of the reduction.

// CHECK: [[$RING:!clc_ring]] = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!unit = !mxgpu.buffer<smem<16xi8>>
!groups = !mxgpu.ring<2 x (unit: smem<32xi8>), producer = groups, consumer = roles>
gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @kernel
  mxgpu.kernel @kernel(%m: index, %n: index, %k: index) {
    // CHECK: %[[UNITS:.*]] = mxgpu.ring "units" : [[$RING]]
    %units = mxgpu.ring "units" : !ring
    // CHECK: %[[WORK:.*]] = mxgpu.work_source clc(%[[UNITS]] : [[$RING]]) raster = hilbert tile [128, 64] split(3 step 256) of(
    %work = mxgpu.work_source clc(%units : !ring) raster = hilbert tile [128, 64] split(3 step 256) of(%m, %n, %k)
    // CHECK: mxgpu.work_source static raster = supergroup(8) tile [128, 64] of(
    %other = mxgpu.work_source static raster = supergroup(8) tile [128, 64] of(%m, %n, %k)
    mxgpu.role @schedule warps(1) elected {
      // CHECK: mxgpu.for_each_work (%slice, %row, %column, %start, %end) in %[[WORK]] {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %request, %request_unit = mxgpu.producer_acquire %units : !ring
        mxgpu.producer_commit %request : !stage
        // CHECK: %[[STAGE:.*]], %[[UNIT:.*]] = mxgpu.consumer_wait %[[UNITS]] : [[$RING]]
        %answer, %answer_unit = mxgpu.consumer_wait %units : !ring
        // CHECK-NEXT: mxgpu.next_unit %[[UNIT]] : !{{.*}}
        mxgpu.next_unit %answer_unit : !unit
        // CHECK-NEXT: mxgpu.consumer_release %[[STAGE]] : !{{.*}}
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
  // A counter instead of cluster launch control, and one unit for each CTA.
  // CHECK-LABEL: mxgpu.kernel @tickets(
  mxgpu.kernel @tickets(%n: index, %counter: memref<1xi32>, %offsets: memref<?xi64>) {
    // CHECK: %[[TICKETS:.*]] = mxgpu.ring "tickets" : !tickets_ring
    %tickets = mxgpu.ring "tickets" : !mxgpu.ring<2 x (unit: smem<16xi8>), producer = tickets, consumer = roles>
    // CHECK: mxgpu.work_source tickets(%[[TICKETS]], %{{.*}} : !tickets_ring, memref<1xi32>) raster = columns tile [256, 256] of(
    %work = mxgpu.work_source tickets(%tickets, %counter : !mxgpu.ring<2 x (unit: smem<16xi8>), producer = tickets, consumer = roles>, memref<1xi32>) raster = columns tile [256, 256] of(%n, %n, %n)
    // CHECK: mxgpu.work_source single raster = linear tile [128, 128] of(
    %single = mxgpu.work_source single raster = linear tile [128, 128] of(%n, %n, %n)
    // CHECK: mxgpu.work_source single raster = columns tile [128, 128] ragged(%{{.*}} : memref<?xi64>) of(
    %ragged = mxgpu.work_source single raster = columns tile [128, 128] ragged(%offsets : memref<?xi64>) of(%n, %n, %n)
    %groups = mxgpu.ring "groups" : !groups
    // CHECK: mxgpu.work_source groups(%{{.*}} : !groups_ring) raster = linear tile [128, 128] ragged(%{{.*}} : memref<?xi64>) of(
    %rows = mxgpu.work_source groups(%groups : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) of(%n, %n, %n)
    // CHECK: mxgpu.work_source groups(%{{.*}} : !groups_ring) raster = linear tile [128, 128] ragged(%{{.*}} : memref<?xi64>) stride(%{{.*}}) of(
    %masked = mxgpu.work_source groups(%groups : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi64>) stride(%n) of(%n, %n, %n)
    // CHECK: mxgpu.work_source groups(%{{.*}} : !groups_ring) raster = hilbert tile [128, 128] ragged(%{{.*}} : memref<?xi64>) over_reduction of(
    %reduction = mxgpu.work_source groups(%groups : !groups) raster = hilbert tile [128, 128] ragged(%offsets : memref<?xi64>) over_reduction of(%n, %n, %n)
    mxgpu.role @none warps(1) {
    }
  }
}
