//===- Passes.td - Passes on mxgpu -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_TRANSFORMS_PASSES
#define MX_DIALECT_MXGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def MXGPUMergeKernels : Pass<"mxgpu-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Merge equal kernels";
  let description = [{
    Keeps the first of several kernels in a `gpu.module` that differ at most in
    names and locations, and redirects launches to it. The kernel and its
    operations receive the fused locations of all equal kernels; launches keep
    theirs. `mxgpu-resolve-locations` writes these locations to the PTX.

    Equal layers of a model produce equal kernels. So do the schedule cases of a
    matmul with dynamic sizes: each case with a workspace brings its own kernel
    to fill the workspace.
  }];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXGPUJoinLaunches : Pass<"mxgpu-join-launches", "::mlir::ModuleOp"> {
  let summary = "Join launches of small independent kernels";
  let description = [{
    Replaces launches of independent kernels in a block by a launch of an
    `mxgpu.kernel` with `joined` kernels:

    ```mlir
    mxgpu.launch @kernels::@dx grid(%a) args(%dy, %w, %dx : ...)
    mxgpu.launch @kernels::@dw grid(%b) args(%dy_t, %x, %dw : ...)
    ```

    becomes

    ```mlir
    %both = arith.addi %a, %b : index
    mxgpu.launch @kernels::@dx_and_dw grid(%both)
      args(%a, %dy, %w, %dx, %dy_t, %x, %dw : ...)
    ```

    Kernels without other launches become private. Only launches with at most
    1024 work tiles in total are joined: a launch costs a few microseconds,
    which larger kernels hide.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "::mx::target::kDefaultChip",
           "GPU whose number of SMs stands for unknown numbers of work tiles">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mx::mxgpu::MXGPUDialect"];
}

def MXGPUOverlapEpilogues
    : Pass<"mxgpu-overlap-epilogues", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Release accumulators before their last columns are read";
  let description = [{
    Rewrites kernels whose schedules use overlapping accumulators. The
    accumulator ring becomes two overlapping stages, the loop over columns
    becomes two loops, and the release moves between these loops, after the
    shared columns:

    ```mlir
    %stage, %d = mxgpu.consumer_wait %acc : !ring
    scf.for %column = %c0 to %c256 step %c32 { ... }
    mxgpu.consumer_release %stage : !stage
    ```

    becomes

    ```mlir
    %stage, %d = mxgpu.consumer_wait %acc : !ring_with_overlap
    scf.for %place = %c0 to %c64 step %c32 {
      %column = mxgpu.epilogue_column %stage, %place : !stage_with_overlap
      ...
    }
    mxgpu.consumer_release %stage : !stage_with_overlap
    scf.for %place = %c64 to %c256 step %c32 { ... }
    ```

    Iterations of the loop must commute. An `scf.if` with loops in both branches
    is split as a whole; other forms are an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPUAssignWarps
    : Pass<"mxgpu-assign-warps", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Assign warps and registers to roles";
  let description = [{
    Adds an `mxgpu.assign_warps` for each role of a kernel that contains none.
    Roles whose instructions need whole warpgroups get the first warps. If the
    schedule divides registers, all roles that consist of whole warpgroups get
    the first warps and the schedule's register counts, in order. Other roles
    get the last register count.
  }];
}

def MXGPUPipelineMmas
    : Pass<"mxgpu-pipeline-mmas", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Overlap matrix instructions of successive loop iterations";
  let description = [{
    Expects loops over K in a plain form: each `mxgpu.mma` with wait group
    completion is followed by an `mxgpu.mma_wait` for its accumulator, the last
    wait leaves no MMA pending, and the stages are released afterwards.

    The pass replaces each wait with a wait for the instruction before, in this
    or the previous iteration, and defers the releases by one iteration
    (`deferred(1)`). After the loop an `mxgpu.mma_wait` completes each
    accumulator, and an `mxgpu.consumer_tail` releases the remaining stages.

    A loop is unchanged if a ring has a single stage, or if its only instruction
    reads A from registers, because the next iteration reuses live registers.
    Other loops, including pipelined loops, are unchanged.
  }];
}

def MXGPUUnrollK : Pass<"mxgpu-unroll-k", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Unroll loops over K";
  let description = [{
    Sets `unroll` of all loops over K, so that `mxgpu-lower-work` emits a loop
    with `factor` steps per iteration and a loop for the remaining steps. Each
    step acquires and releases its own stages, so the sizes of rings are
    unchanged.
  }];
  let options = [
    Option<"factor", "factor", "int64_t", /*default=*/"2",
           "Steps per iteration; 1 disables unrolling">,
  ];
}

def MXGPUVerifyPipelines
    : Pass<"mxgpu-verify-pipelines", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Prove that the rings of a kernel neither deadlock nor race";
  let description = [{
    Models the roles as structured loops over one tile scheduler, which makes
    each ring a marked graph with a fixed number of tokens per iteration. The
    pass checks that both sides of a ring take equally many stages in the same
    loop nest, that a stage is filled before its commit and released once, after
    its last use, that no role waits for its own later actions, and that warps
    are assigned without gaps, as instructions require
    (docs/reference/KernelSpec.md).

    Kernels outside this model are rejected. The pass does not modify the IR.
  }];
}

def MXGPUVerifyResources
    : Pass<"mxgpu-verify-resources", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Check that kernels fit the resources of a CTA";
  let description = [{
    Checks shared memory, tensor memory, named barriers, registers and matrix
    instructions of each kernel against the chip of the enclosing `gpu.module`.
    Errors list the share of each part. The pass does not modify the IR;
    `mxgpu-lower-rings` assigns the checked addresses.
  }];
}

def MXGPUInsertProxyFences
    : Pass<"mxgpu-insert-proxy-fences", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Insert fences between threads and asynchronous accesses";
  let description = [{
    Threads access shared memory through the generic proxy; copies, matrix
    instructions and responses of cluster launch control use the async proxy.
    Barriers do not order accesses of different proxies (PTX ISA, Async proxy).
    The pass inserts `nvvm.fence.proxy` based on the accesses to each ring in
    shared memory:

    - before `producer_commit`, if threads write the stage and an asynchronous
      operation reads it;
    - before `consumer_release`, if threads read the stage and an asynchronous
      operation writes it, unless every value computed from these reads is
      available before the release, which means that no read is in flight;
    - before the first copy from a staging buffer of bulk stores, or before each
      copy if every warp copies for itself.

    Runs before `mxgpu-lower-rings`, which adds no proxy fences.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES
