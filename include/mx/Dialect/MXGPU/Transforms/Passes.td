//===- Passes.td - Passes on mxgpu -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_TRANSFORMS_PASSES
#define MX_DIALECT_MXGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def VerifyPipelinesPass
    : Pass<"mxgpu-verify-pipelines", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Prove that the rings of a kernel neither deadlock nor race";
  let description = [{
    Roles are structured loops over one work source, so that each ring is a
    marked graph with fixed tokens per iteration. The pass checks that

    - each ring has one role that produces and one that consumes;
    - both visit it in the same nest of loops, so that they take the same
      number of stages;
    - each stage is given back exactly once, in the iteration and block that
      took it, and in the order in which stages were taken;
    - operations of mxgpu take stages and buffers, and have them from where they
      were taken: no other value stands for them;
    - a produced stage is filled before it is committed: each field of a `tma`
      ring by one load that always runs, an accumulator by an MMA; where loops
      without iterations could run none, `producer_commit` and
      `load_accumulator` say so by `empty`;
    - all threads of a warp reach `load_accumulator` together;
    - no role waits, directly or through others, for something that it does
      itself only later.

    What it cannot model is an error. It changes nothing.
  }];
}

def AllocatePass : Pass<"mxgpu-allocate", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Place rings, scales and roles in a CTA's memories and warps";
  let description = [{
    Gives each ring its bytes of shared memory, columns of tensor memory and
    barriers, each `copy_scales` its columns, and each role its first warp and,
    where its threads wait for each other, a named barrier; sets the kernel's
    `smem_bytes` and `tmem_columns`, the warp that allocates these, and the
    registers of a thread at launch. Limits are those of the
    chip of the enclosing `gpu.module`. When something does not fit, the error
    lists who takes how much.
  }];
}

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES
