// A pass that comes too soon says which one is missing.

// RUN: rm -rf %t && split-file %s %t
// RUN: not mx-opt %t/kernel.mlir --mxgpu-lower-rings 2>&1 | FileCheck %t/kernel.mlir
// RUN: not mx-opt %t/kernel.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/kernel.mlir
// RUN: not mx-opt %t/ring.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/ring.mlir
// RUN: not mx-opt %t/columns.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/columns.mlir
// RUN: not mx-opt %t/takes.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/takes.mlir
// RUN: not mx-opt %t/work.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/work.mlir
// RUN: not mx-opt %t/takes.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/takes.mlir --check-prefix=CONVERT
// RUN: not mx-opt %t/function.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/function.mlir
// RUN: not mx-opt %t/left.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/left.mlir
// RUN: not mx-opt %t/scales.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/scales.mlir
// RUN: not mx-opt %t/load.mlir --convert-mxgpu-to-nvvm 2>&1 | FileCheck %t/load.mlir
// RUN: not mx-opt %t/fragment.mlir --mxgpu-allocate --mxgpu-lower-rings 2>&1 | FileCheck %t/fragment.mlir
// RUN: not mx-opt %t/roles.mlir --mxgpu-lower-kernels 2>&1 | FileCheck %t/roles.mlir

//--- kernel.mlir
// CHECK: kernel.mlir:4:3: error: 'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() smem(0) {
    mxgpu.role @role warps(1) {
    }
  }
}

//--- ring.mlir
// CHECK: error: 'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() smem(0) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.init_barriers %ring full(1) empty(1) : !ring
    mxgpu.role @role warps(1) first_warp(0) {
    }
  }
}

//--- columns.mlir
// CHECK: error: 'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @kernel() smem(0) {
    %columns = mxgpu.tensor_memory
    mxgpu.role @role warps(1) first_warp(0) {
    }
  }
}

//--- takes.mlir
// CHECK: takes.mlir:10:20: error: 'mxgpu.producer_acquire' op expected to be lowered before kernels are: run mxgpu-lower-work and mxgpu-lower-rings first
// CHECK-NOT: error
// CONVERT: takes.mlir:7:3: error: 'mxgpu.kernel' op expected a function in its place: run mxgpu-lower-kernels first
// CONVERT-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() smem(256) {
    %ring = mxgpu.ring "ring" offsets [0] barriers(16) stride(128) : !ring
    mxgpu.role @produce warps(1) first_warp(0) {
      %stage, %x = mxgpu.producer_acquire %ring : !ring
      mxgpu.producer_commit %stage : !mxgpu.stage<!ring>
    }
    mxgpu.role @consume warps(1) first_warp(1) {
      %stage, %x = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %stage : !mxgpu.stage<!ring>
    }
  }
}

//--- work.mlir
// CHECK: error: 'mxgpu.tile_scheduler' op expected to be lowered before kernels are: run mxgpu-lower-work and mxgpu-lower-rings first
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel(%n: index) smem(0) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @role warps(1) first_warp(0) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
      }
    }
  }
}

//--- function.mlir
// CHECK: error: 'mxgpu.ring' op expected an allocated ring: run mxgpu-allocate first
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.func @function() {
    %ring = mxgpu.ring "ring" : !ring
    %stage = mxgpu.get_stage %ring[0] : !ring
    llvm.return
  }
}

//--- left.mlir
// CHECK: error: failed to legalize operation 'mxgpu.producer_acquire'
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.func @function() {
    %ring = mxgpu.ring "ring" offsets [0] barriers(16) stride(128) : !ring
    %stage, %x = mxgpu.producer_acquire %ring : !ring
    mxgpu.producer_commit %stage : !mxgpu.stage<!ring>
    llvm.return
  }
}

//--- scales.mlir
// CHECK: error: failed to legalize operation 'mxgpu.copy_scales'
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  llvm.func @function() {
    %ring = mxgpu.ring "ring" offsets [0] barriers(512) stride(640) : !ring
    %stage = mxgpu.get_stage %ring[0] : !ring
    %x = mxgpu.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
    %scales = mxgpu.copy_scales %x : !mxgpu.buffer<smem<512xi8>> -> !mxgpu.scales<128>
    llvm.return
  }
}

//--- load.mlir
// CHECK: error: 'mxgpu.tma_load' op expected a buffer of the stage that it fills
// CHECK-NOT: error
!ring = !mxgpu.ring<2 x (x: smem<256xi8>), producer = bulk_copy, consumer = mma_commit>
!map = !mxgpu.tensor_map<256xi8>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  llvm.func @function(%pointer: !llvm.ptr) {
    %map = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to !map
    %ring = mxgpu.ring "ring" offsets [0] barriers(256) stride(384) : !ring
    %stage = mxgpu.get_stage %ring[0] : !ring
    %x = mxgpu.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
    mxgpu.tma_load %map[] into %x for %stage : !map, !mxgpu.buffer<smem<256xi8>>, !mxgpu.stage<!ring>
    llvm.return
  }
}

//--- roles.mlir
// CHECK: error: 'mxgpu.kernel' op expected at least 1 role, found none
// CHECK-NOT: error
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() smem(0) {
  }
}

//--- fragment.mlir
// CHECK: error: 'mxgpu.load_fragment' op expected the number of the thread before rings are lowered: run mxgpu-lower-coordinates first
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
