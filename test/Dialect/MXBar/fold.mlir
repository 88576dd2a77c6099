// RUN: mx-opt %s -allow-unregistered-dialect --canonicalize | FileCheck %s

// Canonicalizes mxbar.next_stage in a ring without barriers. If a chain of steps
// or a loop returns to its first stage, the first stage replaces the last one.

!ring = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!stage = !mxgpu.stage<!ring>

gpu.module @kernels {
  // Folds the successor of a constant stage. The successor of the last stage is stage 0.
  // CHECK-LABEL: mxgpu.kernel @known(
  // CHECK:         %[[STAGE:.*]] = mxbar.get_stage %{{.*}}[0]
  // CHECK-NEXT:    "test.use"(%[[STAGE]])
  // CHECK-NOT:     mxbar.next_stage
  mxgpu.kernel @known() {
    %c0 = arith.constant 0 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(4096) : !ring
    mxgpu.role @role warps(1) {
      %last = mxbar.get_stage %ring[2] : !ring
      %first = mxbar.next_stage %last : !stage
      "test.use"(%first) : (!stage) -> ()
    }
  }

  // Three or six steps return to the first stage, so the terminator of the region
  // uses the first stage. The steps stay for all other users, because the addresses
  // of the first stage would otherwise stay in registers. Two steps do not fold.
  // CHECK-LABEL: mxgpu.kernel @chain(
  // CHECK:         %[[ENDS:.*]]:2 = scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[OTHER:.*]] = %{{.*}})
  // CHECK-NEXT:      %[[A:.*]] = mxbar.next_stage %[[STAGE]]
  // CHECK-NEXT:      %[[B:.*]] = mxbar.next_stage %[[A]]
  // CHECK-NEXT:      %[[C:.*]] = mxbar.next_stage %[[B]]
  // CHECK-NEXT:      "test.use"(%[[C]])
  // CHECK-NEXT:      %[[BRANCH:.*]] = scf.if %{{.*}} {
  // CHECK:             scf.yield %[[OTHER]]
  // CHECK:           } else {
  // CHECK-NEXT:        %[[E:.*]] = mxbar.next_stage %[[OTHER]]
  // CHECK-NEXT:        %[[F:.*]] = mxbar.next_stage %[[E]]
  // CHECK-NEXT:        scf.yield %[[F]]
  // CHECK:           scf.yield %[[A]], %[[BRANCH]]
  mxgpu.kernel @chain(%n: index, %some: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(4096) : !ring
    mxgpu.role @role warps(1) {
      %first = mxbar.get_stage %ring[0] : !ring
      %ends:2 = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first, %other = %first) -> (!stage, !stage) {
        %a = mxbar.next_stage %stage : !stage
        %b = mxbar.next_stage %a : !stage
        %c = mxbar.next_stage %b : !stage
        "test.use"(%c) : (!stage) -> ()
        %branch = scf.if %some -> !stage {
          %d0 = mxbar.next_stage %other : !stage
          %d1 = mxbar.next_stage %d0 : !stage
          "test.use"(%d1) : (!stage) -> ()
          %d2 = mxbar.next_stage %d1 : !stage
          scf.yield %d2 : !stage
        } else {
          %e = mxbar.next_stage %other : !stage
          %f = mxbar.next_stage %e : !stage
          scf.yield %f : !stage
        }
        scf.yield %a, %branch : !stage, !stage
      }
    }
  }

  // Folds the results of six iterations with one step each and of three iterations
  // with two steps each. Does not fold if the trip count is 4 or unknown.
  // CHECK-LABEL: mxgpu.kernel @loops(
  // CHECK:         %[[FIRST:.*]] = mxbar.get_stage %{{.*}}[0]
  // CHECK:         scf.for {{.*}} to %c6
  // CHECK:         }
  // CHECK-NEXT:    "test.use"(%[[FIRST]])
  // CHECK:         scf.for {{.*}} to %c3
  // CHECK:         }
  // CHECK-NEXT:    "test.use"(%[[FIRST]])
  // CHECK:         %[[FOUR:.*]] = scf.for {{.*}} to %c4
  // CHECK:         "test.use"(%[[FOUR]])
  // CHECK:         %[[ANY:.*]] = scf.for {{.*}} to %arg0
  // CHECK:         "test.use"(%[[ANY]])
  mxgpu.kernel @loops(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(4096) : !ring
    mxgpu.role @role warps(1) {
      %first = mxbar.get_stage %ring[0] : !ring
      %after_c6 = scf.for %i = %c0 to %c6 step %c1 iter_args(%stage = %first) -> !stage {
        "test.use"(%stage) : (!stage) -> ()
        %next = mxbar.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      "test.use"(%after_c6) : (!stage) -> ()
      %after_c3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%stage = %first) -> !stage {
        "test.use"(%stage) : (!stage) -> ()
        %next = mxbar.next_stage %stage : !stage
        %after = mxbar.next_stage %next : !stage
        scf.yield %after : !stage
      }
      "test.use"(%after_c3) : (!stage) -> ()
      %after_c4 = scf.for %i = %c0 to %c4 step %c1 iter_args(%stage = %first) -> !stage {
        "test.use"(%stage) : (!stage) -> ()
        %next = mxbar.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      "test.use"(%after_c4) : (!stage) -> ()
      %after_n = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first) -> !stage {
        "test.use"(%stage) : (!stage) -> ()
        %next = mxbar.next_stage %stage : !stage
        scf.yield %next : !stage
      }
      "test.use"(%after_n) : (!stage) -> ()
    }
  }
}
