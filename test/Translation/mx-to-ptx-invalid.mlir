// RUN: split-file %s %t
// RUN: not mx-translate --mx-to-ptx %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mx-translate --mx-to-ptx %examples/matmul.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mx-translate --mx-to-ptx %t/kernel.mlir 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not mx-translate --mx-to-ptx %t/nested.mlir 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not mx-translate --mx-to-ptx %t/untargeted.mlir 2>&1 | FileCheck %s --check-prefix=UNTARGETED
// RUN: not mx-translate --mx-to-ptx %t/two-targets.mlir 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not mx-translate --mx-to-ptx %t/unknown-chip.mlir 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mx-translate --mx-to-ptx %t/old-chip.mlir 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not mx-translate --mx-to-ptx %t/no-wgmma.mlir 2>&1 | FileCheck %s --check-prefix=WGMMA
// RUN: not mx-translate --mx-to-ptx %t/no-block-scale.mlir 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not mx-translate --mx-to-ptx %t/no-conversion.mlir 2>&1 | FileCheck %s --check-prefix=CONVERSION
// RUN: not mx-translate --mx-to-ptx %t/no-scales.mlir 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: not mx-translate --mx-to-ptx %t/release.mlir 2>&1 | FileCheck %s --check-prefix=RELEASE
// RUN: not mx-translate --mx-to-ptx %t/system.mlir 2>&1 | FileCheck %s --check-prefix=SYSTEM
// RUN: not mx-translate --mx-to-ptx %t/space.mlir 2>&1 | FileCheck %s --check-prefix=SPACE
// RUN: mx-translate --mx-to-ptx %t/two-modules.mlir | FileCheck %s --check-prefix=MODULES

// NONE: error: expected a gpu.module, found none: run mx-opt --mx-to-nvvm first

//--- none.mlir
module {
}

// KERNEL: kernel.mlir:2:3: error: 'mxgpu.kernel' op cannot be translated to PTX: run mx-opt --mx-to-nvvm first
// KERNEL-NOT: error:

//--- kernel.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @role warps(1) {
    }
  }
}

// NESTED: nested.mlir:3:10: error: 'arith.addi' op cannot be translated to PTX: run mx-opt --mx-to-nvvm first

//--- nested.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  llvm.func @f(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    llvm.return %0 : i32
  }
}

// UNTARGETED: untargeted.mlir:1:1: error: 'gpu.module' op expected one target, found 0

//--- untargeted.mlir
gpu.module @kernels {
}

// TWO: two-targets.mlir:1:1: error: 'gpu.module' op expected one target, found 2

//--- two-targets.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_100a">, #nvvm.target<chip = "sm_103a">] {
}

// Without the check, LLVM would compile for the oldest chip that LLVM supports.
// CHIP: unknown-chip.mlir:1:1: error: 'gpu.module' op unknown chip 'sm_101x': expected one of 'sm_100a', 'sm_100f', 'sm_103a', 'sm_90a'

//--- unknown-chip.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_101x">] {
}

// Without the check, LLVM would abort.
// OLD: old-chip.mlir:4:5: error: 'nvvm.tcgen05.alloc' op chip 'sm_90a' has no tcgen05 instructions: expected one of 'sm_100a', 'sm_100f', 'sm_103a'

//--- old-chip.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%slot: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.kernel} {
    %columns = llvm.mlir.constant(32 : i32) : i32
    nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
    llvm.return
  }
}

// WGMMA: no-wgmma.mlir:3:5: error: 'nvvm.wgmma.fence.aligned' op chip 'sm_120a' has no wgmma.mma_async: it has mma.sync.block_scale

//--- no-wgmma.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_120a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    llvm.return
  }
}

// SCALE: no-block-scale.mlir:3:10: error: 'nvvm.mma.block_scale' op chip 'sm_100a' has no mma.sync.block_scale: it has tcgen05.mma.block_scale

//--- no-block-scale.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%a: i32, %c: f32, %byte: i16) attributes {gpu.kernel, nvvm.kernel} {
    %d = nvvm.mma.block_scale A[%a, %a, %a, %a] B[%a, %a] C[%c, %c, %c, %c] scaleA[%a, %byte, %byte] scaleB[%a, %byte, %byte] {blockScaleFormat = #nvvm.block_scale_format<ue8m0>, kind = #nvvm.block_scale_kind<mxf8f6f4>, multiplicandAPtxType = #nvvm.mma_type<e4m3>, multiplicandBPtxType = #nvvm.mma_type<e4m3>, scaleVecSize = #nvvm.scale_vec_size<x1>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// CONVERSION: no-conversion.mlir:3:10: error: 'nvvm.convert.f32x2.to.f6x2' op chip 'sm_90a' has no conversions to or from 4- and 6-bit elements and f8E8M0FNU: generate the kernels with mx-opt --mx-to-nvvm=chip=sm_90a

//--- no-conversion.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%x: f32) attributes {gpu.kernel, nvvm.kernel} {
    %e = nvvm.convert.f32x2.to.f6x2 %x, %x : i16 (f6E2M3FN)
    llvm.return
  }
}

// SCALES: no-scales.mlir:3:10: error: 'nvvm.convert.f32x2.to.f8x2' op chip 'sm_90a' has no conversions

//--- no-scales.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%x: f32) attributes {gpu.kernel, nvvm.kernel} {
    %s = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E8M0FNU)
    llvm.return
  }
}

// LLVM drops the order and scope of an atomicrmw; mx-to-ptx-atomics.mlir contains
// the atomics that keep both.
// RELEASE: release.mlir:4:10: error: 'llvm.atomicrmw' op expected monotonic order and "device" or "block" scope, found release order and "device" scope: LLVM prints every atomicrmw as atom.relaxed.gpu; use llvm.inline_asm with the PTX instruction ("red.release.sys.global.add.u32"), or a monotonic atomicrmw between fences
// RELEASE-NOT: error:

//--- release.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%counter: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %0 = llvm.atomicrmw add %counter, %one syncscope("device") release : !llvm.ptr<1>, i32
    llvm.return
  }
}

// SYSTEM: system.mlir:4:10: error: 'llvm.atomicrmw' op expected monotonic order and "device" or "block" scope, found monotonic order and system scope:
// SYSTEM-NOT: error:

//--- system.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%flag: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %0 = llvm.atomicrmw xchg %flag, %one monotonic : !llvm.ptr<1>, i32
    llvm.return
  }
}

// All modules are printed.
// MODULES: .target sm_100a
// MODULES: .entry first(
// MODULES: .target sm_103a
// MODULES: .entry second(

//--- two-modules.mlir
gpu.module @a [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  llvm.func @first() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
gpu.module @b [#nvvm.target<chip = "sm_103a", features = "+ptx88">] {
  llvm.func @second() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// SPACE: space.mlir:3:5: error: 'llvm.atomicrmw' op expected an NVVM memory space, found '!llvm.ptr<2>'

//--- space.mlir
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.func @f(%p: !llvm.ptr<2>, %x: i32) {
    llvm.atomicrmw xchg %p, %x syncscope("block") monotonic : !llvm.ptr<2>, i32
    llvm.return
  }
}
