//===- Pipelines.h - Pass pipelines of mx -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The pipelines are library functions, so that another compiler can put them
// into its own; tools only parse flags.
//
//===----------------------------------------------------------------------===//

#ifndef MX_PIPELINES_PIPELINES_H
#define MX_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mx/Target/TargetInfo.h"

namespace mx {

/// What all pipelines of mx begin with, before anything folds: sizes that are
/// not there are refused, and views that upstream folds wrongly are rewritten.
void buildMXBeginPipeline(mlir::OpPassManager &pm);

/// Functions on tensors -> functions on memrefs with identity layouts, whose
/// scale tensors have the shapes that they have in memory.
void addBufferization(mlir::OpPassManager &pm);

/// Options of `mx-to-nvvm` and `mx-to-mxgpu`.
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

/// Tensor functions with mx operations -> host functions on memrefs that hold
/// device memory, with `gpu.launch_func`, and one `gpu.module` of `llvm.func`
/// kernels.
void buildMXToNVVMPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// How `mx-to-nvvm` begins: functions without calls, whose operations are fused
/// as `options` say. What it leaves compiles to the same with or without
/// `fuse`.
void buildMXFusionPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// How `mx-to-mxgpu` begins: functions whose matmuls are those that schedules
/// are chosen for.
void buildMXToMatmulsPipeline(mlir::OpPassManager &pm,
                              const MXToNVVMOptions &options);

/// The first part of `mx-to-nvvm`: functions on memrefs that launch allocated
/// `mxgpu.kernel`s. Attributes say what arguments and results were.
void buildMXToMXGPUPipeline(mlir::OpPassManager &pm,
                            const MXToNVVMOptions &options);

/// `mx-to-mxgpu`, and then what the host does as plans of the `mxplan` dialect,
/// which become manifests.
void buildMXToPlanPipeline(mlir::OpPassManager &pm,
                           const MXToNVVMOptions &options);

/// The kernels' part of `mx-to-nvvm`, after what the host does was lowered.
void buildMXGPUToNVVMPipeline(mlir::OpPassManager &pm);

/// What `mx-to-nvvm` leaves -> the LLVM dialect with the kernels embedded as
/// PTX and calls to the runtime's `mgpu*` functions.
void buildMXHostToLLVMPipeline(mlir::OpPassManager &pm);

/// Tensor functions with mx operations -> the LLVM dialect for the host CPU:
/// the reference path.
void buildMXToCPUPipeline(mlir::OpPassManager &pm);

/// Makes the pipelines known to the pass registry.
void registerMXPipelines();

} // namespace mx

#endif // MX_PIPELINES_PIPELINES_H
