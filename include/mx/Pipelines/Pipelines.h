//===- Pipelines.h - Pass pipelines of mx -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are library functions so that other compilers can embed them; tools
// only parse flags.
//===----------------------------------------------------------------------===//

#ifndef MX_PIPELINES_PIPELINES_H
#define MX_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mx/Target/TargetInfo.h"

namespace mx {

/// First passes of all mx pipelines, before any folding: rejects missing sizes
/// and rewrites views that upstream folds incorrectly.
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
      llvm::cl::desc("compute what is quantized where it is quantized, and "
                     "finish matmuls where they are computed (the default)"),
      llvm::cl::init(true)};
  Option<bool> explain{
      *this, "explain",
      llvm::cl::desc(
          "print the choice of each schedule, its memory map and the "
          "reason to stderr"),
      llvm::cl::init(false)};
  Option<int64_t> maxSchedules{
      *this, "max-schedules",
      llvm::cl::desc("most schedules of a matmul whose rows, groups or "
                     "reduction no type knows"),
      llvm::cl::init(target::kMaxSchedules)};
  Option<std::string> tuned{
      *this, "tuned",
      llvm::cl::desc("table of measured schedules, which come before the "
                     "model's (docs/guide/Tuning.md)"),
      llvm::cl::init("")};
  Option<std::string> tunedGpu{
      *this, "tuned-gpu",
      llvm::cl::desc("the GPU whose entries of the table are taken (default: "
                     "the only one that is there for the chip)"),
      llvm::cl::init("")};
  Option<int64_t> unrollK{
      *this, "unroll-k",
      llvm::cl::desc("steps of a reduction that the body of a loop has in "
                     "kernels (default: 1)"),
      llvm::cl::init(1)};
  Option<bool> skipHostCode{
      *this, "skip-host-code",
      llvm::cl::desc("leave functions alone that are not mx's, as "
                     "mx-skip-host-code tells them (the default); otherwise "
                     "the memory of all functions is the device's"),
      llvm::cl::init(true)};
};

/// Lowers tensor functions with mx operations to host functions on memrefs in
/// device memory with `gpu.launch_func`, and a `gpu.module` of `llvm.func`
/// kernels.
void buildMXToNVVMPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// First passes of `mx-to-nvvm`: inlines calls and fuses operations as
/// `options` request. Later passes produce the same code from its output with
/// and without `fuse`.
void buildMXFusionPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// First passes of `mx-to-mxgpu`: rewrites matmuls to the forms for which
/// schedules are chosen.
void buildMXToMatmulsPipeline(mlir::OpPassManager &pm,
                              const MXToNVVMOptions &options);

/// First part of `mx-to-nvvm`: lowers to functions on memrefs that launch
/// allocated `mxgpu.kernel`s. Attributes keep the original types of arguments
/// and results.
void buildMXToMXGPUPipeline(mlir::OpPassManager &pm,
                            const MXToNVVMOptions &options);

/// Runs `mx-to-mxgpu`, then lowers host code to plans of the `mxplan` dialect,
/// which become manifests.
void buildMXToPlanPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// Lowers kernels, the second part of `mx-to-nvvm`. Host code must be lowered
/// already.
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
