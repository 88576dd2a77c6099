//===- Pipelines.h - Pass pipelines of mx -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are library functions, so other compilers can embed them.
//===----------------------------------------------------------------------===//

#ifndef MX_PIPELINES_PIPELINES_H
#define MX_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mx/Target/TargetInfo.h"

namespace mx {

/// Builds the first passes of all mx pipelines. They run before any folding,
/// reject missing sizes and rewrite views that upstream folds incorrectly.
void buildMXBeginPipeline(mlir::OpPassManager &pm);

/// Bufferizes functions on tensors to functions on memrefs with identity
/// layouts. Scale tensors get their shape in memory.
void addBufferization(mlir::OpPassManager &pm);

struct MXToNVVMOptions : public mlir::PassPipelineOptions<MXToNVVMOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("GPU to compile for, e.g. sm_100a (the default)"),
      llvm::cl::init(target::kDefaultChip)};
  Option<bool> fuse{
      *this, "fuse",
      llvm::cl::desc(
          "fuse quantizers with the operations that compute their inputs, and "
          "matmuls with the operations that use their results (the default)"),
      llvm::cl::init(true)};
  Option<bool> overlap{
      *this, "overlap",
      llvm::cl::desc("run collectives beside the kernels that do not need them "
                     "(the default)"),
      llvm::cl::init(true)};
  Option<bool> explain{
      *this, "explain",
      llvm::cl::desc("print the schedule and memory map of each matmul, and "
                     "why other schedules were rejected"),
      llvm::cl::init(false)};
  Option<int64_t> maxSchedules{
      *this, "max-schedules",
      llvm::cl::desc("maximum number of schedules for a matmul with dynamic "
                     "rows, groups or reduction"),
      llvm::cl::init(target::kMaxSchedules)};
  Option<std::string> tuned{
      *this, "tuned",
      llvm::cl::desc("table of measured schedules, which take precedence over "
                     "the model's (docs/guide/Tuning.md)"),
      llvm::cl::init("")};
  Option<std::string> tunedGpu{
      *this, "tuned-gpu",
      llvm::cl::desc("GPU whose table entries are used (default: the only GPU "
                     "in the table for the chip)"),
      llvm::cl::init("")};
  Option<int64_t> unrollK{
      *this, "unroll-k",
      llvm::cl::desc("reduction steps per loop body in kernels (default: 1)"),
      llvm::cl::init(1)};
  Option<bool> peerStores{
      *this, "peer-stores",
      llvm::cl::desc("let kernels access windows of other ranks, where ranks "
                     "map them, as mx-peer-stores does"),
      llvm::cl::init(false)};
  Option<bool> skipHostCode{
      *this, "skip-host-code",
      llvm::cl::desc("leave functions without mx operations unchanged, as "
                     "mx-skip-host-code does (the default); otherwise all "
                     "functions use device memory"),
      llvm::cl::init(true)};
};

/// Lowers tensor functions with mx operations to host functions on device
/// memory with `gpu.launch_func`, and a `gpu.module` of `llvm.func` kernels.
void buildMXToNVVMPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// Builds the first passes of `mx-to-nvvm`. They inline calls and fuse
/// operations as `options` request. The later passes do not depend on `fuse`.
void buildMXFusionPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// Builds the first passes of `mx-to-mxgpu`, which make matmuls schedulable.
void buildMXToMatmulsPipeline(mlir::OpPassManager &pm,
                              const MXToNVVMOptions &options);

/// Builds the first part of `mx-to-nvvm`, down to functions on memrefs that
/// launch allocated `mxgpu.kernel`s. Attributes keep the original signatures.
void buildMXToMXGPUPipeline(mlir::OpPassManager &pm,
                            const MXToNVVMOptions &options);

/// Runs `mx-to-mxgpu`, then lowers host code to plans (the `mxplan` dialect).
void buildMXToPlanPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// Lowers kernels, the second part of `mx-to-nvvm`. Requires lowered host code.
void buildMXGPUToNVVMPipeline(mlir::OpPassManager &pm);

/// Lowers the output of `mx-to-nvvm` to the LLVM dialect, with embedded PTX
/// kernels and calls of the runtime's `mgpu*` functions.
void buildMXHostToLLVMPipeline(mlir::OpPassManager &pm);

/// Lowers tensor functions with mx operations to the LLVM dialect for the host
/// CPU (the reference path).
void buildMXToCPUPipeline(mlir::OpPassManager &pm);

void registerMXPipelines();

} // namespace mx

#endif // MX_PIPELINES_PIPELINES_H
