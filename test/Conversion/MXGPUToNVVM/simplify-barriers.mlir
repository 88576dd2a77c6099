// RUN: mx-opt %s --mxgpu-simplify-barriers --verify-roundtrip | FileCheck %s

// Removes repeated fences of the same kind and repeated waits for the same phase, unless memory is
// accessed in between. Merges arrivals at the same barrier.

!ring = !mxgpu.ring<2 x (a: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!stage = !mxgpu.stage<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // Arithmetic is not a memory access. Fences of other kinds stay, as do fences
  // after a store.
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

  // Two waits are equal if they agree in parity, barrier and visibility to a pair. The pass
  // does not compare waits across a store, a branch or the end of a branch.
  // CHECK-LABEL: mxgpu.kernel @waits(
  // CHECK:         %[[FULL:.*]], %[[EMPTY:.*]] = mxbar.stage_barriers
  // CHECK-NEXT:    mxbar.wait %[[FULL]] parity(%[[EVEN:.*]])
  // CHECK-NEXT:    mxbar.wait %[[FULL]] parity(%[[ODD:.*]])
  // CHECK-NEXT:    mxbar.wait %[[EMPTY]] parity(%[[ODD]])
  // CHECK-NEXT:    mxbar.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    mxbar.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    scf.if %{{.*}} {
  // CHECK-NEXT:      mxbar.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:    }
  // CHECK-NEXT:    mxbar.wait %[[EMPTY]] parity(%[[ODD]]) pair
  // CHECK-NEXT:  }
  mxgpu.kernel @waits(%some: i1, %m: memref<1xi32>, %x: i32) {
    %c0 = arith.constant 0 : index
    %even = arith.constant 0 : i32
    %odd = arith.constant 1 : i32
    %ring = mxbar.placed_ring "ring" offsets [0] stride(32) barriers(16) full(1) empty(1) : !ring
    mxgpu.role @only warps(1) {
      %stage = mxbar.get_stage %ring[0] : !ring
      %full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !stage
      mxbar.wait %full parity(%even)
      mxbar.wait %full parity(%even)
      mxbar.wait %full parity(%odd)
      mxbar.wait %empty parity(%odd)
      mxbar.wait %empty parity(%odd) pair
      memref.store %x, %m[%c0] : memref<1xi32>
      mxbar.wait %empty parity(%odd) pair
      scf.if %some {
        mxbar.wait %empty parity(%odd) pair
        mxbar.wait %empty parity(%odd) pair
      }
      mxbar.wait %empty parity(%odd) pair
    }
  }

  // Arrivals that announce bytes are not merged.
  // CHECK-LABEL: mxgpu.kernel @arrivals(
  // CHECK:         %[[FULL:.*]], %[[EMPTY:.*]] = mxbar.stage_barriers
  // CHECK-NEXT:    mxbar.arrive %[[FULL]] count(5) : !mxbar.barrier
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] : !mxbar.barrier
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] : !mxbar.barrier
  // CHECK-NEXT:    scf.if %{{.*}} {
  // CHECK-NEXT:      mxbar.arrive %[[EMPTY]] count(2) : !mxbar.barrier
  // CHECK-NEXT:    }
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] : !mxbar.barrier
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] expect(16) : !mxbar.barrier
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] expect(16) : !mxbar.barrier
  // CHECK-NEXT:    mxbar.arrive %[[EMPTY]] : !mxbar.barrier
  // CHECK-NEXT:  }
  mxgpu.kernel @arrivals(%some: i1, %m: memref<1xi32>, %x: i32) {
    %c0 = arith.constant 0 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(32) barriers(16) full(1) empty(1) : !ring
    mxgpu.role @only warps(1) {
      %stage = mxbar.get_stage %ring[0] : !ring
      %full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !stage
      mxbar.arrive %full : !mxbar.barrier
      mxbar.arrive %full : !mxbar.barrier
      mxbar.arrive %full count(3) : !mxbar.barrier
      mxbar.arrive %empty : !mxbar.barrier
      memref.store %x, %m[%c0] : memref<1xi32>
      mxbar.arrive %empty : !mxbar.barrier
      scf.if %some {
        mxbar.arrive %empty : !mxbar.barrier
        mxbar.arrive %empty : !mxbar.barrier
      }
      mxbar.arrive %empty : !mxbar.barrier
      mxbar.arrive %empty expect(16) : !mxbar.barrier
      mxbar.arrive %empty expect(16) : !mxbar.barrier
      mxbar.arrive %empty : !mxbar.barrier
    }
  }
}
