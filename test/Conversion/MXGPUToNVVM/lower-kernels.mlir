// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-lower-kernels --canonicalize --cse --verify-roundtrip | FileCheck %s

// Kernels become functions with a prologue that each CTA runs once.

!map = !mxgpu.tensor_map<16xi8>
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = bulk_copy, consumer = threads(128)>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // One thread initializes all barriers and fences the initialization before the CTA synchronizes.
  // The warp that fills tensor memory also allocates and frees it.
  // CHECK:       llvm.mlir.global external @mx_dynamic_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  // CHECK-LABEL: llvm.func @all(
  // CHECK-SAME:    %[[MAP:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
  // CHECK-SAME:    attributes {gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 192, 1, 1>}
  // CHECK:         %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared
  // CHECK:         %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0_i32
  // CHECK-NEXT:    scf.if %[[FIRST]] {
  // CHECK:           nvvm.prefetch tensormap, %[[MAP]]
  // CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][16]
  // CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %c1_i32
  // CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][24]
  // CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %c4_i32
  // CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][144]
  // CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %c1_i32
  // CHECK-COUNT-5:   nvvm.mbarrier.init
  // CHECK-NEXT:      nvvm.fence.mbarrier.init
  // CHECK:         nvvm.bar.warp.sync
  // CHECK:         %[[WARP:.*]] = arith.shrui %[[THREAD]], %c5_i32
  // CHECK:         %[[ALLOCATES:.*]] = arith.cmpi eq, %[[WARP]], %c5_i32
  // CHECK-NEXT:    scf.if %[[ALLOCATES]] {
  // CHECK:           %[[PLACE:.*]] = llvm.getelementptr %[[SHARED]][288]
  // CHECK-NEXT:      nvvm.tcgen05.alloc %[[PLACE]], %c256_i32
  // CHECK-NEXT:      nvvm.tcgen05.relinquish_alloc_permit
  // CHECK:         nvvm.tcgen05.fence <before>
  // CHECK-NEXT:    nvvm.barrier0
  // CHECK-NEXT:    nvvm.tcgen05.fence <after>
  // CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[SHARED]][288]
  // CHECK:         %[[COLUMN:.*]] = llvm.load %[[PLACE]]
  // The pass keeps rings, because a later pass lowers stage operations. Each branch runs one
  // role. A warp with an elected thread reconverges after its role.
  // CHECK:         mxbar.placed_ring "ring"
  // CHECK:         mxbar.placed_ring "acc"
  // CHECK:         %[[IS_LOAD:.*]] = arith.cmpi ult, %[[WARP]], %c1_i32
  // CHECK-NEXT:    scf.if %[[IS_LOAD]] {
  // CHECK-NEXT:      %[[ELECTED:.*]] = nvvm.elect.sync
  // CHECK-NEXT:      scf.if %[[ELECTED]] {
  // CHECK:             memref.store %[[COLUMN]]
  // CHECK:           nvvm.bar.warp.sync
  // CHECK-NEXT:    } else {
  // CHECK:           %[[AFTER_LOAD:.*]] = arith.subi %[[WARP]], %c1_i32
  // CHECK:           %[[IS_EPILOGUE:.*]] = arith.cmpi ult, %[[AFTER_LOAD]], %c4_i32
  // CHECK-NEXT:      scf.if %[[IS_EPILOGUE]] {
  // CHECK:             %[[NUMBER:.*]] = arith.subi %[[THREAD]], %c32_i32
  // CHECK:             %[[FIRST_LANE:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[NUMBER]], %c0_i32
  // CHECK:             %[[OF_WARP:.*]] = arith.index_castui %[[FIRST_LANE]]
  // CHECK:             %[[IN_ROLE:.*]] = arith.index_castui %[[NUMBER]]
  // CHECK:             memref.store %[[COLUMN]], %{{.*}}[%[[IN_ROLE]]]
  // CHECK:             scf.for
  // CHECK-NEXT:          memref.store %[[COLUMN]], %{{.*}}[%[[OF_WARP]]]
  // CHECK-NEXT:        }
  // CHECK-NEXT:      } else {
  // CHECK:             mxbar.get_stage
  // CHECK:         nvvm.tcgen05.fence <before>
  // CHECK-NEXT:    nvvm.barrier0
  // CHECK-NEXT:    nvvm.tcgen05.fence <after>
  // CHECK-NEXT:    scf.if %[[ALLOCATES]] {
  // CHECK:           %[[POINTER:.*]] = llvm.inttoptr %[[COLUMN]]
  // CHECK-NEXT:      nvvm.tcgen05.dealloc %[[POINTER]], %c256_i32
  // CHECK:         llvm.return
  mxgpu.kernel @all(%map: !map, %n: index, %to: memref<?xi32>) {
    %tmem = mxbar.tensor_memory columns(256) slot(288) warp(5)
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(4) : !ring
    %acc = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(256) full(1) empty(4) : !acc
    mxgpu.role @load warps(1) elected {
      memref.store %tmem, %to[%n] : memref<?xi32>
    }
    mxgpu.role @epilogue warps(4) {
      %thread = mxgpu.thread_id
      memref.store %tmem, %to[%thread] : memref<?xi32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %warp = mxgpu.thread_id of_warp
        memref.store %tmem, %to[%warp] : memref<?xi32>
      }
    }
    mxgpu.role @mma warps(1) elected {
      %stage = mxbar.get_stage %acc[1] : !acc
      %parity = arith.constant 0 : i32
      %full, %empty = mxbar.stage_barriers %acc, %stage : !acc, !acc_stage
      mxbar.wait %full parity(%parity)
    }
  }

  // The empty barriers of the two CTAs have different arrival counts. The CTAs synchronize after
  // they initialize barriers and before they exit, so each may use the other's barriers in between.
  // CHECK-LABEL: llvm.func @pair(
  // CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK:         %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
  // CHECK:         %[[LEADS:.*]] = arith.cmpi eq, %[[RANK]], %c0_i32
  // CHECK:         %[[COUNT:.*]] = arith.select %[[LEADS]], %c4_i32, %c3_i32
  // CHECK:         nvvm.mbarrier.init %{{.*}}, %c1_i32
  // CHECK:         nvvm.mbarrier.init %{{.*}}, %[[COUNT]]
  // CHECK:         nvvm.cluster.arrive
  // CHECK-NEXT:    nvvm.cluster.wait
  // CHECK-NEXT:    nvvm.barrier0
  // CHECK:         nvvm.read.ptx.sreg.cluster.ctarank
  // CHECK:         scf.if
  // CHECK:           memref.store
  // CHECK:         nvvm.cluster.arrive
  // CHECK-NEXT:    nvvm.cluster.wait
  // CHECK-NEXT:    llvm.return
  mxgpu.kernel @pair(%to: memref<?xi32>) cluster(2) {
    %c0 = arith.constant 0 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(4) other_empty(3) : !ring
    mxgpu.role @leading warps(1) on_leader {
      %c1 = arith.constant 1 : i32
      memref.store %c1, %to[%c0] : memref<?xi32>
    }
  }

  // A kernel without rings and tensor memory has no prologue.
  // CHECK-LABEL: llvm.func @bare(
  // CHECK-SAME:    nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 64, 1, 1>
  // CHECK-NOT:     nvvm.{{barrier|mbarrier|fence|bar|tcgen05}}
  // CHECK:         llvm.return
  mxgpu.kernel @bare(%to: memref<?xi32>) min_ctas(2) {
    %c0 = arith.constant 0 : index
    mxgpu.role @only warps(2) {
      %c1 = arith.constant 1 : i32
      memref.store %c1, %to[%c0] : memref<?xi32>
    }
  }

  // A kernel that repeats is a loop over CTAs. Each pass initializes the barriers and invalidates
  // them after all roles. Only the first pass waits for other kernels.
  // CHECK-LABEL: llvm.func @repeated(
  // CHECK-SAME:    , %[[MORE:[^:]*]]: i1)
  // CHECK:         %[[OWN:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         mxgpu.wait_dependencies
  // CHECK-NEXT:    scf.while (%[[CTA:.*]] = %[[OWN]])
  // CHECK:           nvvm.mbarrier.init %[[FULL:.*]], %c1_i32
  // CHECK:           nvvm.mbarrier.init %[[EMPTY:.*]], %c4_i32
  // CHECK:           nvvm.barrier0
  // CHECK:           memref.store %[[CTA]]
  // CHECK:           nvvm.barrier0
  // CHECK-NEXT:      scf.if
  // CHECK-COUNT-4:     nvvm.mbarrier.inval
  // CHECK:           %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[CTA]], %[[CTAS]]
  // CHECK-NEXT:      scf.condition(%[[MORE]]) %[[NEXT]]
  // CHECK:         llvm.return
  mxgpu.kernel @repeated(%to: memref<?xi32>, %more: i1) {
    %c0 = arith.constant 0 : index
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(4) : !ring
    mxgpu.wait_dependencies
    mxgpu.role @write warps(1) {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      memref.store %cta, %to[%c0] : memref<?xi32>
    }
    mxgpu.assign_warps @write from 0
    mxgpu.yield %more : i1
  }

  // A memref is passed as its pointer and its dynamic sizes, strides and offset.
  // CHECK-LABEL: llvm.func @parameters(
  // CHECK-SAME:    %{{[^:]*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[M:[^:]*]]: !llvm.ptr, %[[ROWS:[^:]*]]: i64, %[[STRIDE:[^:]*]]: i64, %[[OFFSET:[^:]*]]: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i1, %{{[^:]*}}: f32, %{{[^:]*}}: !llvm.ptr)
  // CHECK-DAG:     llvm.insertvalue %[[M]], %{{.*}}[1]
  // CHECK-DAG:     llvm.insertvalue %[[OFFSET]], %{{.*}}[2]
  // CHECK-DAG:     llvm.insertvalue %[[ROWS]], %{{.*}}[3, 0]
  // CHECK-DAG:     llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
  mxgpu.kernel @parameters(%map: !map, %m: memref<?x64xbf16, strided<[?, 1], offset: ?>>, %n: index, %i: i1, %f: f32, %to: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    mxgpu.role @only warps(1) {
      %x = memref.load %m[%n, %c0] : memref<?x64xbf16, strided<[?, 1], offset: ?>>
      %y = arith.extf %x : bf16 to f32
      scf.if %i {
        memref.store %f, %to[%c0] : memref<4xf32>
      }
      memref.store %y, %to[%c0] : memref<4xf32>
    }
  }

  // If roles redistribute registers, the kernel is launched with whole warpgroups. Each thread is
  // launched with the average of 208 and 56 registers, rounded up to a multiple of 8. Warps without
  // a role also set their register count.
  // CHECK-LABEL: llvm.func @registers(
  // CHECK-SAME:    nvvm.maxnreg = 136 : i32, nvvm.reqntid = array<i32: 256, 1, 1>
  // CHECK:         scf.if
  // CHECK-NEXT:      nvvm.setmaxregister {{ ?}}increase 208
  // CHECK:         } else {
  // CHECK:           scf.if
  // CHECK-NEXT:        nvvm.setmaxregister {{ ?}}decrease 56
  // CHECK-NEXT:        nvvm.elect.sync
  // CHECK:           } else {
  // CHECK-NEXT:        nvvm.setmaxregister {{ ?}}decrease 56
  mxgpu.kernel @registers(%to: memref<?xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    mxgpu.role @sum warps(4) {
      memref.store %c1, %to[%c0] : memref<?xi32>
    }
    mxgpu.role @load warps(1) elected {
      memref.store %c1, %to[%c0] : memref<?xi32>
    }
    mxgpu.assign_warps @sum from 0 registers(208)
    mxgpu.assign_warps @load from 4 registers(56)
  }
}
