//===- Passes.td - Lower kernels to NVVM -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTONVVM_PASSES
#define MX_CONVERSION_MXGPUTONVVM_PASSES

include "mlir/Pass/PassBase.td"

def MXGPUUnrollFragments
    : Pass<"mxgpu-unroll-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Unroll the loops over the columns that a thread holds";
  let description = [{
    The loops over a tile's columns have few iterations. Once they are unrolled,
    columns are constants, and so are the stages that staged rows use. The path
    for tiles at the edge of a matrix is long enough already and stays a loop,
    unless it uses columns of a fragment: registers have no addresses. Loops
    that quantize are unrolled up to 128 elements of a thread.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPULowerCoordinates
    : Pass<"mxgpu-lower-coordinates", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compute the rows and columns that a thread holds";
  let description = [{
    `mxgpu.fragment_row` and `mxgpu.fragment_column` become arithmetic on the
    thread's number within its role, as the fragment's layout says.
    `mxgpu.load_fragment`, `mxgpu.load_fragment_scales` and `mxgpu.store_shared`
    of a fragment of a role are given that number.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPULowerMath : Pass<"mxgpu-lower-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Use the target's instructions for arithmetic";
  let description = [{
    Covers the instructions that upstream's lowering does not use. The results
    are the same.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def MXGPULowerWork : Pass<"mxgpu-lower-work", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn the loops over work tiles and over K into loops of scf";
  let description = [{
    `mxgpu.for_each_work_tile` becomes `scf.while`, whose body computes the
    coordinates of a work tile from its number, or straight-line code if a CTA
    has only one. `mxgpu.for_each_k` becomes `scf.for`. `mxgpu.tile_scheduler`
    and `mxgpu.next_work_tile` are removed: roles read the buffer of a work
    tile's stage by its address, and the role that hands out work tiles writes
    it the same way.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::memref::MemRefDialect", "::mx::mxbar::MXBarDialect"];
}

def MXGPULowerRings : Pass<"mxgpu-lower-rings", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn acquires and releases of stages into waits and arrivals";
  let description = [{
    Places rings, scales and partial accumulators in shared and tensor memory,
    and replaces what `mxgpu` says of stages by operations of `mxbar`. Each
    stage has a barrier whose phase completes when the stage is full, and
    another one for when it is empty. A role's loops carry the next stage and
    the parity to wait for. A producer starts with the phase before the first,
    which counts as complete, so all stages start empty (PTX ISA,
    mbarrier.test_wait). Arrivals, expected bytes, fences of tensor memory and
    elections follow from who fills and empties the ring; fences between proxies
    stand there already (`mxgpu-insert-proxy-fences`). At its end a role waits
    for the operations that it started. Rings for bulk stores use groups of
    copies instead of barriers.

    Requires kernels whose loops are those of scf (`mxgpu-lower-work`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mx::mxbar::MXBarDialect"];
}

def MXGPUSimplifyBarriers
    : Pass<"mxgpu-simplify-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Remove redundant fences and waits, and merge arrivals";
  let description = [{
    If there is no memory access between two fences of the same kind, or two
    waits for the same phase, the second one is removed. Two arrivals at the
    same barrier become one that counts for both.
  }];
}

def MXGPULowerKernels : Pass<"mxgpu-lower-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn kernels into functions with set-up, roles and tear-down";
  let description = [{
    Each `mxgpu.kernel` becomes an `llvm.func`: set-up of barriers and tensor
    memory, a chain of branches on the warp number for the roles, tear-down.

    Kernel parameters: a tensor map is a `byval` array of 128 bytes, a memref
    is its pointer followed by an i64 for each dynamic size, an index is i64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

def MXGPUResolveLocations
    : Pass<"mxgpu-resolve-locations", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give each operation one line of the program";
  let description = [{
    A `.loc` directive is one line without callers. An operation at
    `callsite("a.mlir":7:3 at "a.mlir":2:3)` moves to `"a.mlir":7:3`, the
    innermost line with a file, and an operation at a fused location to its first
    line. The other lines become comments at the top of the PTX, as text in the
    module's `llvm.module_asm`:

    ```
    // .loc "a.mlir" 7 3 in main_matmul is also "a.mlir" 9 3, "a.mlir" 11 3
    ```
  }];
}

def ConvertMXGPUToNVVM
    : Pass<"convert-mxgpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower mxgpu and mxbar operations to NVVM, one by one";
  let description = [{
    The last step for kernels, after `mxgpu-lower-kernels` has turned them into
    functions. Control flow stays in `scf`, arithmetic in `arith`, vectors in
    `vector`, for upstream's conversions.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertMXGPUHostToGPU
    : Pass<"convert-mxgpu-host-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower launches and tensor maps to gpu.launch_func and the runtime";
  let description = [{
    `mxgpu.launch` becomes `gpu.launch_func`, with the block size and the shared
    memory of the kernel and the kernel's parameters as `convert-mxgpu-to-nvvm`
    lays them out; tensor maps, which are passed by value, are encoded by the
    runtime's `mxTensorMapEncodeTiled`. It runs before `convert-mxgpu-to-nvvm`.

    Launches, allocations and copies go to the default stream, which a function
    waits for once, before it returns. A kernel with `mxgpu.wait_dependencies`
    is launched programmatically (`mxNextLaunchFlags` of the runtime): it may
    start while the previous kernel is still running.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // MX_CONVERSION_MXGPUTONVVM_PASSES
