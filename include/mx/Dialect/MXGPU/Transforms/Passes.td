//===- Passes.td - Passes on mxgpu -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_TRANSFORMS_PASSES
#define MX_DIALECT_MXGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def MXGPUMergeKernels : Pass<"mxgpu-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Merge equal kernels";
  let description = [{
    Of kernels of one `gpu.module` that differ at most in their names and
    locations, the first is kept, and launched instead of the others. The kernel
    and each operation in it get the fused location of their equals; a launch
    keeps its own. `mxgpu-resolve-locations` passes these lines on to the PTX.

    Equal layers of a model make equal kernels, and so does a matmul with a
    schedule for each of several ranges of sizes: each schedule with a workspace
    comes with the kernel that fills it.
  }];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXGPUOverlapEpilogues
    : Pass<"mxgpu-overlap-epilogues", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Release accumulators before their last columns are read";
  let description = [{
    Runs on kernels with a schedule of accumulators that overlap. The ring becomes
    two stages that overlap, the loop over columns two loops, and the release
    moves between them, after the shared columns:

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
    is divided as a whole; any other form is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPUAssignWarps
    : Pass<"mxgpu-assign-warps", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Assign warps and registers to roles";
  let description = [{
    Adds an `mxgpu.assign_warps` for each role to kernels without any. Roles
    whose instructions need whole warpgroups come first. If the schedule divides
    registers, so do all roles of whole warpgroups; these take its numbers in
    turn, and the other roles the last one.
  }];
}

def MXGPUPipelineMmas
    : Pass<"mxgpu-pipeline-mmas", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Keep matrix instructions under way over the steps of a loop";
  let description = [{
    Of loops over K in plain form: each `mxgpu.mma` whose completion is a wait
    group is followed by an `mxgpu.mma_wait` for its accumulator, none is pending
    after the last one, and then the stages that they have read are released.
    The pass pipelines them: the wait after an instruction is for the one `depth`
    before it, in this step or an earlier one, and the stages are released as
    many stages later as that spans steps (`deferred(n)`). After the loop an
    `mxgpu.mma_wait` with none pending finishes each accumulator, and an
    `mxgpu.consumer_tail` releases the rest.

    Instructions are kept under way only as far as each ring has stages for the
    steps that they span, and, where they read A from registers, no more than one
    step has beside the next: the others' registers are in use. Loops of another
    form do not change, those that are pipelined already among them.
  }];
  let options = [
    Option<"depth", "depth", "int64_t", /*default=*/"1",
           "Instructions under way when the wait after the next one ends">,
  ];
}

def MXGPUUnrollK : Pass<"mxgpu-unroll-k", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Unroll loops over K";
  let description = [{
    A loop over K becomes two: `factor` steps at a time, and a loop for the steps
    that are left, of which there are fewer than `factor`. Each step acquires and
    releases stages of its own, so that rings hold as many as before, and loops of
    all roles are unrolled alike, which `mxgpu-verify-pipelines` needs.

    Runs after `mxgpu-pipeline-mmas`: waits count instructions and releases count
    stages, so that what is under way from one step to the next stays so from one
    step of a body to the next.
  }];
  let options = [
    Option<"factor", "factor", "int64_t", /*default=*/"2",
           "Steps of a body; 1 changes nothing">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MXGPUVerifyPipelines
    : Pass<"mxgpu-verify-pipelines", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Prove that the rings of a kernel neither deadlock nor race";
  let description = [{
    Roles are structured loops over one tile scheduler, so each ring is a marked
    graph with a fixed number of tokens per iteration. The pass checks that both
    sides of a ring take as many stages in the same nest of loops, that a stage
    is filled before it is committed, and handed back once, after its last use,
    that no role waits for something that it does itself only later, and that
    warps are assigned without gaps, as their instructions need. The constraints
    are in docs/reference/KernelSpec.md.

    Kernels that it cannot model are an error. It changes nothing.
  }];
}

def MXGPUVerifyResources
    : Pass<"mxgpu-verify-resources", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Check that kernels fit the resources of a CTA";
  let description = [{
    Checks the bytes of shared memory, columns of tensor memory, named barriers,
    registers and matrix instructions of each kernel against the chip of the
    enclosing `gpu.module`. If something does not fit, the error lists how much
    each part takes. Changes nothing: `mxgpu-lower-rings` places what the pass
    has checked.
  }];
}

def MXGPUInsertProxyFences
    : Pass<"mxgpu-insert-proxy-fences", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Insert fences between threads and asynchronous accesses";
  let description = [{
    Threads access shared memory by the generic proxy; copies, matrix
    instructions and answers of cluster launch control by the async proxy.
    Barriers do not order one with the other (PTX ISA, Async proxy). From the
    operations on the buffers of each ring in shared memory the pass decides
    where `nvvm.fence.proxy` is needed:

    - before `producer_commit`, if threads write the stage and an asynchronous
      operation reads it;
    - before `consumer_release`, if threads read the stage and an asynchronous
      operation writes it, unless all that is computed from these reads comes
      before the release: no read is under way then;
    - before the first copy out of a stage for bulk stores, and before each of
      those by a warp for itself.

    Runs before `mxgpu-lower-rings`, which adds none.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES
