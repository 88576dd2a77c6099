//===- Passes.td - Passes on mxgpu -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_TRANSFORMS_PASSES
#define MX_DIALECT_MXGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def MXGPUVerifyPipelines
    : Pass<"mxgpu-verify-pipelines", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Prove that the rings of a kernel neither deadlock nor race";
  let description = [{
    Roles are structured loops over one tile scheduler, so each ring is a marked
    graph with a fixed number of tokens per iteration. The pass checks that

    - each ring has one producer role and one consumer role;
    - both use it in the same nest of loops, so that they acquire the same
      number of stages;
    - each stage is handed back exactly once, in the iteration and block that
      acquired it, and in the order in which stages were acquired;
    - operations of mxgpu use stages and buffers directly as they were acquired,
      and not through other values;
    - a produced stage is filled before it is committed: each buffer of a
      `bulk_copy` ring by one load that always runs, an accumulator by an MMA;
      if loops may have no iterations, so that no MMA runs, `producer_commit`
      and `load_accumulator` have the operand `empty`;
    - all threads of a warp reach `load_accumulator` together;
    - no role waits, directly or through other roles, for something that it does
      itself only later.

    Kernels that it cannot model are an error. It changes nothing.
  }];
}

def MXGPUAllocate : Pass<"mxgpu-allocate", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Place rings, scales and roles in a CTA's memories and warps";
  let description = [{
    Gives each ring its bytes of shared memory, columns of tensor memory and
    barriers, each `copy_scales` its columns, and each role its first warp and,
    if its threads wait for each other, a named barrier. It sets the kernel's
    `smem_bytes` and `tmem_columns`, the warp that allocates the columns, and
    the registers of a thread at launch. Limits are those of the chip of the
    enclosing `gpu.module`. If something does not fit, the error lists how much
    each part takes.
  }];
}

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES
