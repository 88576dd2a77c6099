//===- Passes.td - Lower kernels to NVVM -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTONVVM_PASSES
#define MX_CONVERSION_MXGPUTONVVM_PASSES

include "mlir/Pass/PassBase.td"

def UnrollFragmentsPass
    : Pass<"mxgpu-unroll-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Unroll the loops over the columns that a thread holds";
  let description = [{
    The loops over a tile's columns run a few times. Without them columns are
    constants, and so are the stages that staged rows take. The way of tiles at
    the edge of a matrix is long as it is, and stays a loop, unless it takes
    columns of a fragment: registers have no addresses.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerCoordinatesPass
    : Pass<"mxgpu-lower-coordinates", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compute the rows and columns that a thread holds";
  let description = [{
    `mxgpu.fragment_row` and `mxgpu.fragment_column` become arithmetic on the
    thread's number within its role, as the fragment's layout says.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerMathPass : Pass<"mxgpu-lower-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give arithmetic the instructions that the target has for it";
  let description = [{
    Where upstream's lowering does not take them. The results are the same.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def LowerWorkPass : Pass<"mxgpu-lower-work", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn the loops over units of work and over K into loops of scf";
  let description = [{
    `mxgpu.for_each_work_tile` becomes `scf.while`, in whose body the unit's tile is
    computed from its number, or straight code where a CTA has one unit;
    `mxgpu.for_each_k` becomes `scf.for`. `mxgpu.tile_scheduler` and
    `mxgpu.next_work_tile` are gone: the buffer of a unit's stage is read, and
    written by the role that hands out units, by its address.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect"];
}

def LowerRingsPass : Pass<"mxgpu-lower-rings", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn takes and gives of stages into waits and arrivals";
  let description = [{
    Each stage has a barrier whose phase completes when it is full, and one for
    when it is empty. A role's loops carry the stage that it takes next and the
    parity that it waits for there; a producer begins with the phase before the
    first, which is complete from the start, so that all stages begin empty
    (PTX ISA, mbarrier.test_wait). Arrivals, expected bytes, fences and elections
    follow from who fills and empties the ring; at its end a role waits for
    what it started. Rings for bulk stores have groups of copies in place of
    barriers.

    Wants allocated kernels, whose loops are those of scf (`mxgpu-lower-work`).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def SimplifyBarriersPass
    : Pass<"mxgpu-simplify-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Remove fences and waits that say nothing new, and merge arrivals";
  let description = [{
    Of two fences of one kind, or two waits for one phase, with nothing between
    them that touches memory the second one goes. Two arrivals at one barrier
    become one that counts for both.
  }];
}

def LowerKernelsPass : Pass<"mxgpu-lower-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn kernels into functions with set-up, roles and tear-down";
  let description = [{
    Each `mxgpu.kernel` becomes an `llvm.func`: set-up of barriers and tensor
    memory, a chain of branches on the warp for the roles, tear-down.

    Kernel parameters: a tensor map is a `byval` array of 128 bytes, a memref
    is its pointer followed by an i64 for each dynamic size, an index is i64.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::memref::MemRefDialect"];
}

def ConvertMXGPUToNVVMPass
    : Pass<"convert-mxgpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower operations of mxgpu, one by one, to NVVM";
  let description = [{
    The last step of kernels: `mxgpu-lower-kernels` has made functions of them.
    Control flow stays in `scf`, arithmetic in `arith`, vectors in `vector`, for
    upstream's conversions.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertMXGPUHostToGPUPass
    : Pass<"convert-mxgpu-host-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower launches and tensor maps to gpu.launch_func and the runtime";
  let description = [{
    `mxgpu.launch` becomes `gpu.launch_func`, with the block size and the
    shared memory of the kernel and the kernel's parameters as
    `convert-mxgpu-to-nvvm` lays them out; tensor maps, which are passed by
    value, are encoded by the runtime's `mxTensorMapEncodeTiled`. Runs before
    `convert-mxgpu-to-nvvm`.

    Launches, allocations and copies go to the default stream, which a function
    waits for once, before it returns. A kernel with `mxgpu.wait_dependencies`
    is launched programmatically (`mxNextLaunchFlags` of the runtime): it may
    begin while the one before it still runs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // MX_CONVERSION_MXGPUTONVVM_PASSES
