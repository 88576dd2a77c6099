// RUN: mx-opt %s --mxgpu-simplify-barriers --verify-roundtrip | FileCheck %s

// A second fence of a kind goes, as does a second wait for a phase, if nothing
// touches memory between the two; arrivals at one barrier become one.

!ring = !mxgpu.ring<2 x (a: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // Arithmetic is no access. Other kinds stay, and so does what follows a store.
  // CHECK-LABEL: mxgpu.kernel @fences(
  // CHECK:         nvvm.tcgen05.fence <after>
  // CHECK-NEXT:    arith.addi
  // CHECK-NEXT:    nvvm.tcgen05.fence <before>
  // CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
  // CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  // CHECK-NEXT:  }
  mxgpu.kernel @fences(%m: memref<1xi32>, %x: i32) {
    %c0 = arith.constant 0 : index
    mxgpu.role @only warps(1) {
      nvvm.tcgen05.fence <after>
      %y = arith.addi %x, %x : i32
      nvvm.tcgen05.fence <after>
      nvvm.tcgen05.fence <before>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
      memref.store %y, %m[%c0] : memref<1xi32>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
    }
  }

  // Another parity, another barrier, and what is visible to a pair, are other waits; a
  // store, a branch and its end begin anew.
  // CHECK-LABEL: mxgpu.kernel @waits(
  // CHECK:         %[[FULL:.*]], %[[EMPTY:.*]] = mxgpu.stage_barriers
  // CHECK-NEXT:    mxgpu.wait %[[FULL]] parity(%[[EVEN:.*]])
  // CHECK-NEXT:    mxgpu.wait %[[FULL]] parity(%[[ODD:.*]])
  // CHECK-NEXT:    mxgpu.wait %[[EMPTY]] parity(%[[ODD]])
  // CHECK-NEXT:    mxgpu.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    mxgpu.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    scf.if %{{.*}} {
  // CHECK-NEXT:      mxgpu.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    }
  // CHECK-NEXT:    mxgpu.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:  }
  mxgpu.kernel @waits(%some: i1, %m: memref<1xi32>, %x: i32) {
    %c0 = arith.constant 0 : index
    %even = arith.constant 0 : i32
    %odd = arith.constant 1 : i32
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @only warps(1) {
      %stage = mxgpu.get_stage %ring[0] : !ring
      %full, %empty = mxgpu.stage_barriers %ring, %stage : !ring, !stage
      mxgpu.wait %full parity(%even)
      mxgpu.wait %full parity(%even)
      mxgpu.wait %full parity(%odd)
      mxgpu.wait %empty parity(%odd)
      mxgpu.wait %empty parity(%odd) pair
      memref.store %x, %m[%c0] : memref<1xi32>
      mxgpu.wait %empty parity(%odd) pair
      scf.if %some {
        mxgpu.wait %empty parity(%odd) pair
        mxgpu.wait %empty parity(%odd) pair
      }
      mxgpu.wait %empty parity(%odd) pair
    }
  }

  // An arrival that announces bytes is one by itself.
  // CHECK-LABEL: mxgpu.kernel @arrivals(
  // CHECK:         %[[FULL:.*]], %[[EMPTY:.*]] = mxgpu.stage_barriers
  // CHECK-NEXT:    mxgpu.arrive %[[FULL]] count(5) : !mxgpu.barrier
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] : !mxgpu.barrier
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] : !mxgpu.barrier
  // CHECK-NEXT:    scf.if %{{.*}} {
  // CHECK-NEXT:      mxgpu.arrive %[[EMPTY]] count(2) : !mxgpu.barrier
  // CHECK-NEXT:    }
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] : !mxgpu.barrier
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] expect(16) : !mxgpu.barrier
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] expect(16) : !mxgpu.barrier
  // CHECK-NEXT:    mxgpu.arrive %[[EMPTY]] : !mxgpu.barrier
  // CHECK-NEXT:  }
  mxgpu.kernel @arrivals(%some: i1, %m: memref<1xi32>, %x: i32) {
    %c0 = arith.constant 0 : index
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @only warps(1) {
      %stage = mxgpu.get_stage %ring[0] : !ring
      %full, %empty = mxgpu.stage_barriers %ring, %stage : !ring, !stage
      mxgpu.arrive %full : !mxgpu.barrier
      mxgpu.arrive %full : !mxgpu.barrier
      mxgpu.arrive %full count(3) : !mxgpu.barrier
      mxgpu.arrive %empty : !mxgpu.barrier
      memref.store %x, %m[%c0] : memref<1xi32>
      mxgpu.arrive %empty : !mxgpu.barrier
      scf.if %some {
        mxgpu.arrive %empty : !mxgpu.barrier
        mxgpu.arrive %empty : !mxgpu.barrier
      }
      mxgpu.arrive %empty : !mxgpu.barrier
      mxgpu.arrive %empty expect(16) : !mxgpu.barrier
      mxgpu.arrive %empty expect(16) : !mxgpu.barrier
      mxgpu.arrive %empty : !mxgpu.barrier
    }
  }
}
