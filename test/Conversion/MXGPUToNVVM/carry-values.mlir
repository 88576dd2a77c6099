// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-lower-rings --verify-roundtrip | FileCheck %s

// Control flow around stage acquisitions yields the current stage and parity in addition to its own
// values. lower-rings-invalid.mlir tests unsupported control flow.

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: mxgpu.kernel @branch(
  // CHECK:         mxgpu.role @produce
  // CHECK:           %[[FIRST:.*]] = mxbar.get_stage %{{.*}}[0]
  // CHECK:           %[[PARITY:.*]] = arith.constant 1 : i32
  // CHECK:           scf.if %{{.*}} -> (!threads_stage, i32) {
  // CHECK:             mxbar.wait %{{.*}} parity(%[[PARITY]])
  // CHECK:             %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance %[[FIRST]], %[[PARITY]]
  // CHECK:             scf.yield %[[NEXT]], %[[NEXT_PARITY]] :
  // CHECK-NEXT:      } else {
  // CHECK-NEXT:        scf.yield %[[FIRST]], %[[PARITY]] :
  // CHECK-NEXT:      }
  // The stage and parity precede the original result of the branch, and the use of that result is
  // updated.
  // CHECK:         mxgpu.role @consume
  // CHECK:           %[[FIRST:.*]] = mxbar.get_stage %{{.*}}[0]
  // CHECK:           %[[PARITY:.*]] = arith.constant 0 : i32
  // CHECK:           %[[ALL:.*]]:3 = scf.if %{{.*}} -> (!threads_stage, i32, i32) {
  // CHECK-NEXT:        scf.yield %[[FIRST]], %[[PARITY]], %{{.*}} :
  // CHECK-NEXT:      } else {
  // CHECK:             %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance
  // CHECK:             scf.yield %[[NEXT]], %[[NEXT_PARITY]], %{{.*}} :
  // CHECK:           memref.store %[[ALL]]#2
  mxgpu.kernel @branch(%some: i1, %out: memref<1xi32>) {
    %c0 = arith.constant 0 : index
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(1) {
      scf.if %some {
        %stage, %work_tile = mxgpu.producer_acquire %ring : !ring
        mxgpu.producer_commit %stage : !stage
      }
    }
    mxgpu.role @consume warps(1) {
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %x = scf.if %some -> i32 {
        scf.yield %c1 : i32
      } else {
        %stage, %work_tile = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %stage : !stage
        scf.yield %c2 : i32
      }
      memref.store %x, %out[%c0] : memref<1xi32>
    }
  }
  // Both regions of scf.while forward the stage and parity in addition to their own values.
  // CHECK-LABEL: mxgpu.kernel @while(
  // CHECK:         %[[FIRST:.*]] = mxbar.get_stage %{{.*}}[0]
  // CHECK:         scf.while (%[[STAGE:.*]] = %[[FIRST]], %[[PARITY:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : (!threads_stage, i32, i32) -> (!threads_stage, i32, i64) {
  // CHECK:           mxbar.wait %{{.*}} parity(%[[PARITY]])
  // CHECK:           %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance %[[STAGE]], %[[PARITY]]
  // CHECK:           scf.condition(%{{.*}}) %[[NEXT]], %[[NEXT_PARITY]], %{{.*}} :
  // CHECK:         ^bb0(%[[STAGE:.*]]: !threads_stage, %[[PARITY:.*]]: i32, %{{.*}}: i64):
  // CHECK:           scf.yield %[[STAGE]], %[[PARITY]], %{{.*}} :
  mxgpu.kernel @while(%limit: i32) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @consume warps(1) {
      %c0 = arith.constant 0 : i32
      %last = scf.while (%x = %c0) : (i32) -> i64 {
        %stage, %work_tile = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %stage : !stage
        %more = arith.cmpi ult, %x, %limit : i32
        %wide = arith.extui %x : i32 to i64
        scf.condition(%more) %wide : i64
      } do {
      ^bb0(%wide: i64):
        %x = arith.trunci %wide : i64 to i32
        scf.yield %x : i32
      }
    }
  }
  // The inner loop acquires no stage, so it gets no iteration arguments. The outer loop keeps its
  // attribute.
  // CHECK-LABEL: mxgpu.kernel @for(
  // CHECK:         %[[ALL:.*]]:3 = scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PARITY:.*]] = %{{.*}}, %{{.*}} = %c0) -> (!threads_stage, i32, index)
  // CHECK-NEXT:      scf.for %{{[^(]*}} {
  // CHECK:           %[[NEXT:.*]], %[[NEXT_PARITY:.*]] = mxbar.advance %[[STAGE]], %[[PARITY]]
  // CHECK:           scf.yield %[[NEXT]], %[[NEXT_PARITY]], %{{.*}} :
  // CHECK-NEXT:    } {marked}
  // CHECK-NEXT:    memref.store %[[ALL]]#2
  mxgpu.kernel @for(%n: index, %out: memref<1xindex>) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @consume warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %c0) -> (index) {
        scf.for %j = %c0 to %n step %c1 {
          memref.store %j, %out[%c0] : memref<1xindex>
        }
        %stage, %work_tile = mxgpu.consumer_wait %ring : !ring
        mxgpu.consumer_release %stage : !stage
        %next = arith.addi %so_far, %i : index
        scf.yield %next : index
      } {marked}
      memref.store %sum, %out[%c0] : memref<1xindex>
    }
  }
}
