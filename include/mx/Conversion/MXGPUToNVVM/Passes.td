//===- Passes.td - Lower kernels to NVVM -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTONVVM_PASSES
#define MX_CONVERSION_MXGPUTONVVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMXGPUToNVVMPass
    : Pass<"convert-mxgpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower allocated kernels to llvm.func with NVVM operations";
  let description = [{
    Each `mxgpu.kernel` becomes an `llvm.func`: set-up of barriers and tensor
    memory, one branch per role, tear-down. Control flow stays in `scf`,
    arithmetic in `arith`, vectors in `vector`, for upstream's conversions.

    Kernel parameters: a tensor map is a `byval` array of 128 bytes, a memref
    is its pointer followed by an i64 for each dynamic size, an index is i64.
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
