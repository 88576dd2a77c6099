// If a pass runs too early, its error names the missing pass. A kernel with tensor memory cannot
// run again.

// RUN: rm -rf %t && split-file %s %t
// RUN: not mx-opt %t/takes.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/takes.mlir
// RUN: not mx-opt %t/work.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/work.mlir
// RUN: not mx-opt %t/takes.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/takes.mlir --check-prefix=CONVERT
// RUN: not mx-opt %t/again.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/again.mlir
// RUN: not mx-opt %t/left.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/left.mlir
// RUN: not mx-opt %t/fragment.mlir --mxgpu-lower-rings 2>&1 | FileCheck %t/fragment.mlir
// RUN: not mx-opt %t/roles.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/roles.mlir
// RUN: not mx-opt %t/warps.mlir --mxgpu-lower-rings 2>&1 | FileCheck %t/warps.mlir
// RUN: not mx-opt %t/warps.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/warps.mlir

//--- takes.mlir
// CHECK: takes.mlir:8:13: error: 'mxgpu.ring' op expected to be lowered before kernels are: run mxgpu-lower-work and mxgpu-lower-rings first
// CHECK-NOT: error
// CONVERT: takes.mlir:7:3: error: 'mxgpu.kernel' op expected kernels to be lowered to functions: run mxgpu-lower-kernels first
// CONVERT-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(1) {
      %stage, %x = mxgpu.producer_acquire %ring : !ring
      mxgpu.producer_commit %stage : !mxgpu.stage<!ring>
    }
    mxgpu.role @consume warps(1) {
      %stage, %x = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %stage : !mxgpu.stage<!ring>
    }
  }
}

//--- warps.mlir
// CHECK: warps.mlir:5:5: error: 'mxgpu.role' op expected an mxgpu.assign_warps for the role, found none: run mxgpu-assign-warps to assign warps to all roles
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @role warps(1) {
    }
  }
}

//--- work.mlir
// CHECK: error: 'mxgpu.tile_scheduler' op expected to be lowered before kernels are: run mxgpu-lower-work and mxgpu-lower-rings first
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel(%n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
      }
    }
  }
}

//--- left.mlir
// CHECK: error: failed to legalize operation 'mxgpu.ring'
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.func @function() {
    %ring = mxgpu.ring "ring" : !ring
    %stage, %x = mxgpu.producer_acquire %ring : !ring
    mxgpu.producer_commit %stage : !mxgpu.stage<!ring>
    llvm.return
  }
}

//--- roles.mlir
// CHECK: error: 'mxgpu.kernel' op expected at least 1 role, found none
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
  }
}

//--- fragment.mlir
// CHECK: error: 'mxgpu.load_fragment' op expected the thread number as an operand before rings are lowered: run mxgpu-lower-coordinates first
// CHECK-NOT: error
!in = !mxgpu.ring<1 x (a: smem<32x16xi8>), producer = bulk_copy, consumer = threads(32)>
!a = !mxgpu.buffer<smem<32x16xi8>>
!map = !mxgpu.tensor_map<32x16xi8>
!q = !mxgpu.fragment<32x16xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel(%map: !map) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @hold warps(1) {
      %s, %a = mxgpu.consumer_wait %in : !in
      %q = mxgpu.load_fragment %a at [%c0, %c0] : !a -> !q
      mxgpu.consumer_release %s : !mxgpu.stage<!in>
    }
    mxgpu.role @load warps(1) elected {
      %s, %a = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %map[%c0, %c0] into %a for %s : !map, !a, !mxgpu.stage<!in>
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
  }
}

//--- again.mlir
// CHECK: again.mlir:7:5: error: 'mxgpu.yield' op expected a kernel without tensor memory
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @kernel(%more: i1) {
    %tmem = mxbar.tensor_memory columns(256) slot(288) warp(0)
    mxgpu.role @role warps(1) {
    }
    mxgpu.yield %more : i1
  }
}
