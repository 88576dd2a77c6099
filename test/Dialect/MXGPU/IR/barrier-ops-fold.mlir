// RUN: mx-opt %s --canonicalize | FileCheck %s

// Stages without barriers are numbers that a chain of steps, or a loop, may come back
// to: then they are known.

!ring = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>

gpu.module @kernels {
  // The stage after one that is known is known; the first follows the last.
  // CHECK-LABEL: mxgpu.kernel @known(
  // CHECK:         %[[STAGE:.*]] = mxgpu.get_stage %{{.*}}[0]
  // CHECK-NEXT:    %[[NUMBER:.*]] = mxgpu.stage_number %[[STAGE]]
  // CHECK-NEXT:    memref.store %[[NUMBER]]
  // CHECK-NOT:     mxgpu.next_stage
  mxgpu.kernel @known(%out: memref<1xi32>) {
    %c0 = arith.constant 0 : index
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %last = mxgpu.get_stage %ring[2] : !ring
      %first = mxgpu.next_stage %last : !stage
      %number = mxgpu.stage_number %first : !stage
      memref.store %number, %out[%c0] : memref<1xi32>
    }
  }

  // Three steps, or six, lead back to a stage, known or not: the end of a region is
  // told so. Between them each step stays: the first stage by another name would keep
  // its addresses in registers until then. Two steps lead elsewhere.
  // CHECK-LABEL: mxgpu.kernel @chain(
  // CHECK:         %[[ENDS:.*]]:2 = scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[OTHER:.*]] = %{{.*}})
  // CHECK-NEXT:      %[[A:.*]] = mxgpu.next_stage %[[STAGE]]
  // CHECK-NEXT:      %[[B:.*]] = mxgpu.next_stage %[[A]]
  // CHECK-NEXT:      %[[C:.*]] = mxgpu.next_stage %[[B]]
  // CHECK-NEXT:      %[[NUMBER:.*]] = mxgpu.stage_number %[[C]]
  // CHECK-NEXT:      memref.store %[[NUMBER]]
  // CHECK-NEXT:      %[[BRANCH:.*]] = scf.if %{{.*}} {
  // CHECK:             scf.yield %[[OTHER]]
  // CHECK:           } else {
  // CHECK-NEXT:        %[[E:.*]] = mxgpu.next_stage %[[OTHER]]
  // CHECK-NEXT:        %[[F:.*]] = mxgpu.next_stage %[[E]]
  // CHECK-NEXT:        scf.yield %[[F]]
  // CHECK:           scf.yield %[[A]], %[[BRANCH]]
  mxgpu.kernel @chain(%out: memref<1xi32>, %n: index, %some: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %first = mxgpu.get_stage %ring[0] : !ring
      %ends:2 = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first, %other = %first) -> (!stage, !stage) {
        %a = mxgpu.next_stage %stage : !stage
        %b = mxgpu.next_stage %a : !stage
        %c = mxgpu.next_stage %b : !stage
        %number = mxgpu.stage_number %c : !stage
        memref.store %number, %out[%c0] : memref<1xi32>
        %branch = scf.if %some -> !stage {
          %d0 = mxgpu.next_stage %other : !stage
          %d1 = mxgpu.next_stage %d0 : !stage
          %last = mxgpu.stage_number %d1 : !stage
          memref.store %last, %out[%c0] : memref<1xi32>
          %d2 = mxgpu.next_stage %d1 : !stage
          scf.yield %d2 : !stage
        } else {
          %e = mxgpu.next_stage %other : !stage
          %f = mxgpu.next_stage %e : !stage
          scf.yield %f : !stage
        }
        scf.yield %a, %branch : !stage, !stage
      }
    }
  }

  // Six rounds of one step, and three of two steps, end at the stage with which they
  // began. Four rounds do not, and of n rounds nothing is known.
  // CHECK-LABEL: mxgpu.kernel @loops(
  // CHECK:         %[[FIRST:.*]] = mxgpu.get_stage %{{.*}}[0]
  // CHECK:         scf.for {{.*}} to %c6
  // CHECK:         }
  // CHECK-NEXT:    %[[NUMBER:.*]] = mxgpu.stage_number %[[FIRST]]
  // CHECK-NEXT:    memref.store %[[NUMBER]]
  // CHECK:         scf.for {{.*}} to %c3
  // CHECK:         }
  // CHECK-NEXT:    %[[NUMBER:.*]] = mxgpu.stage_number %[[FIRST]]
  // CHECK-NEXT:    memref.store %[[NUMBER]]
  // CHECK:         %[[FOUR:.*]] = scf.for {{.*}} to %c4
  // CHECK:         %[[NUMBER:.*]] = mxgpu.stage_number %[[FOUR]]
  // CHECK:         memref.store %[[NUMBER]]
  // CHECK:         %[[ANY:.*]] = scf.for {{.*}} to %arg1
  // CHECK:         %[[NUMBER:.*]] = mxgpu.stage_number %[[ANY]]
  // CHECK:         memref.store %[[NUMBER]]
  mxgpu.kernel @loops(%out: memref<1xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %first = mxgpu.get_stage %ring[0] : !ring
      %after_c6 = scf.for %i = %c0 to %c6 step %c1 iter_args(%stage = %first) -> !stage {
        %number = mxgpu.stage_number %stage : !stage
        memref.store %number, %out[%c0] : memref<1xi32>
        %next = mxgpu.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      %number_c6 = mxgpu.stage_number %after_c6 : !stage
      memref.store %number_c6, %out[%c0] : memref<1xi32>
      %after_c3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%stage = %first) -> !stage {
        %number = mxgpu.stage_number %stage : !stage
        memref.store %number, %out[%c0] : memref<1xi32>
        %next = mxgpu.next_stage %stage : !stage
        %after = mxgpu.next_stage %next : !stage
        scf.yield %after : !stage
      }
      %number_c3 = mxgpu.stage_number %after_c3 : !stage
      memref.store %number_c3, %out[%c0] : memref<1xi32>
      %after_c4 = scf.for %i = %c0 to %c4 step %c1 iter_args(%stage = %first) -> !stage {
        %number = mxgpu.stage_number %stage : !stage
        memref.store %number, %out[%c0] : memref<1xi32>
        %next = mxgpu.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      %number_c4 = mxgpu.stage_number %after_c4 : !stage
      memref.store %number_c4, %out[%c0] : memref<1xi32>
      %after_n = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first) -> !stage {
        %number = mxgpu.stage_number %stage : !stage
        memref.store %number, %out[%c0] : memref<1xi32>
        %next = mxgpu.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      %number_n = mxgpu.stage_number %after_n : !stage
      memref.store %number_n, %out[%c0] : memref<1xi32>
    }
  }
}
