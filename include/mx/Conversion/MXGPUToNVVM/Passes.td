//===- Passes.td - Lower kernels to NVVM -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTONVVM_PASSES
#define MX_CONVERSION_MXGPUTONVVM_PASSES

include "mlir/Pass/PassBase.td"

def MXGPUUnrollFragments
    : Pass<"mxgpu-unroll-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Unroll loops over the columns of a fragment";
  let description = [{
    Loops over the columns of a tile have few iterations. Unrolling turns the
    column and staging stage numbers into constants. Loops in edge tiles stay
    loops to limit the code size. Loops over the columns of a fragment are
    always unrolled, because registers are not addressable. Loops that quantize
    are unrolled up to 128 elements per thread.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPULowerCoordinates
    : Pass<"mxgpu-lower-coordinates", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compute matrix coordinates of fragments";
  let description = [{
    Replaces `mxgpu.fragment_row` and `mxgpu.fragment_column` with arithmetic on
    the thread's index within its role, according to the fragment layout. The
    same index becomes the `thread` operand of `mxgpu.load_fragment`,
    `mxgpu.load_fragment_scales` and `mxgpu.store_shared` operations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPULowerMath : Pass<"mxgpu-lower-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Select target instructions for arithmetic";
  let description = [{
    Covers instructions that upstream's lowering does not emit. Results are
    unchanged.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def MXGPULowerWork : Pass<"mxgpu-lower-work", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower loops over work tiles and over K to scf";
  let description = [{
    `mxgpu.for_each_work_tile` becomes `scf.while`, with a body that computes
    the coordinates of a work tile from its number, or straight-line code if a
    CTA computes a single tile. `mxgpu.for_each_k` becomes `scf.for`.
    `mxgpu.tile_scheduler` and `mxgpu.next_work_tile` are removed. The role that
    distributes work tiles writes each work tile to the buffer of a stage, and
    the roles read the work tile from that buffer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::memref::MemRefDialect", "::mx::mxbar::MXBarDialect"];
}

def MXGPULowerRings : Pass<"mxgpu-lower-rings", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower acquires and releases of stages to waits and arrivals";
  let description = [{
    Assigns rings, scales and partial accumulators to shared and tensor memory,
    and replaces the stage operations of `mxgpu` by operations of `mxbar`. Each
    stage gets a barrier that completes a phase when the stage is full, and a
    barrier that completes a phase when it is empty. Loops of a role carry the
    next stage and the parity of its wait. A producer first waits for the phase
    before the first one. PTX treats that phase as complete, so all stages are
    initially empty (PTX ISA, mbarrier.test_wait).

    The ring's producer and consumer kinds determine the arrivals, expected
    bytes, tensor memory fences and elections. Proxy fences are already present
    (`mxgpu-insert-proxy-fences`). Each role ends by waiting for its
    asynchronous operations. Rings for bulk stores use bulk-copy groups instead
    of barriers.

    Requires `scf` loops, so `mxgpu-lower-work` must run first.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mx::mxbar::MXBarDialect"];
}

def MXGPUSimplifyBarriers
    : Pass<"mxgpu-simplify-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Remove redundant fences and waits, and merge arrivals";
  let description = [{
    Removes a fence if no memory access separates it from an earlier fence of
    the same kind. Removes the second of two waits for the same phase. Merges
    two arrivals at the same barrier into an arrival that counts twice.
  }];
}

def MXGPULowerKernels : Pass<"mxgpu-lower-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower kernels to functions with set-up, roles and tear-down";
  let description = [{
    Each `mxgpu.kernel` becomes an `llvm.func`: set-up of barriers and tensor
    memory, branches on the warp number to the roles, and tear-down. Joined
    kernels remain until `convert-mxgpu-to-nvvm`.

    A tensor map is passed as a `byval` array of 128 bytes, a memref as its
    pointer followed by an i64 for each dynamic size, and an index as i64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

def MXGPUResolveLocations
    : Pass<"mxgpu-resolve-locations", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Reduce the location of each operation to one source line";
  let description = [{
    A `.loc` directive names a single line without callers. An operation at
    `callsite("a.mlir":7:3 at "a.mlir":2:3)` moves to `"a.mlir":7:3`, the
    innermost line with a file; an operation at a fused location moves to the
    first line. The other lines become comments at the top of the PTX, stored in
    the module's `llvm.module_asm`:

    ```
    // .loc "a.mlir" 7 3 in main_matmul is also "a.mlir" 9 3, "a.mlir" 11 3
    ```
  }];
}

def ConvertMXGPUToNVVM
    : Pass<"convert-mxgpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower mxgpu and mxbar operations to NVVM";
  let description = [{
    Last pass on kernels, after `mxgpu-lower-kernels` has converted them to
    functions. Control flow in `scf`, arithmetic in `arith` and vectors in
    `vector` are left to upstream's conversions. Finally, joined kernels become
    a function that branches on the CTA number to a copy of each kernel, and
    private kernels are erased.
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
    `mxgpu.launch` becomes `gpu.launch_func` with the kernel's block size,
    shared memory and parameters, in the order of `convert-mxgpu-to-nvvm`.
    Tensor maps, passed by value, are encoded by the runtime function
    `mxTensorMapEncodeTiled`. The pass runs before `convert-mxgpu-to-nvvm`.

    Launches, allocations and copies use the default stream, which a function
    synchronizes once, before it returns. A kernel with
    `mxgpu.wait_dependencies` is launched programmatically (`mxNextLaunchFlags`
    of the runtime), so it may start before the previous kernel ends.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // MX_CONVERSION_MXGPUTONVVM_PASSES
