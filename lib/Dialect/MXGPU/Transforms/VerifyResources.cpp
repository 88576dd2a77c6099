//===- VerifyResources.cpp - Resource limits of a CTA ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the memory, named barriers and registers of a kernel with the limits
// of the chip. Memory addresses and barrier numbers follow from the order of
// the operations in the kernel.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUVERIFYRESOURCES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

const target::TargetInfo *mxgpu::getTargetInfo(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr() || module.getTargetsAttr().empty()) {
    op->emitOpError("expected a gpu.module with a target, found none");
    return nullptr;
  }
  auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(module.getTargetsAttr()[0]);
  if (!nvvm) {
    op->emitOpError("expected a target #nvvm.target, found ")
        << module.getTargetsAttr()[0];
    return nullptr;
  }
  std::string error;
  const target::TargetInfo *info =
      target::lookupKernelTarget(nvvm.getChip().str(), error);
  if (!info)
    op->emitOpError() << error;
  return info;
}

namespace {

/// Fails and lists all items of `memory` if they exceed the limit.
LogicalResult check(KernelOp kernel, const Memory &memory, int64_t available,
                    StringRef unitOfSize, const target::TargetInfo &target) {
  if (memory.getUsed() <= available)
    return success();
  InFlightDiagnostic diag =
      kernel.emitOpError("expected at most ")
      << available << ' ' << unitOfSize << " on " << target.chip << ", found "
      << memory.getUsed()
      << ": use a smaller tile, fewer stages, or fewer values at a time";
  for (const MemoryItem &item : memory.getItems())
    diag.attachNote() << item.describe() << ": " << item.getTotal();
  return diag;
}

struct VerifyResourcesPass final
    : mxgpu::impl::MXGPUVerifyResourcesBase<VerifyResourcesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      const target::TargetInfo *target = getTargetInfo(kernel);
      if (!target || failed(verifyMmas(kernel, *target)) ||
          failed(verifyBuffers(kernel, *target)) ||
          failed(verifyBarriers(kernel)) ||
          failed(verifyRegisters(kernel, *target)))
        return signalPassFailure();
      if (!kernel.getMinCtas())
        continue;
      std::string error = target::checkResidency(*target, *kernel.getMinCtas(),
                                                 kernel.getNumThreads());
      if (!error.empty()) {
        kernel.emitOpError(error);
        return signalPassFailure();
      }
    }
  }

  /// Fails unless the chip supports the kernel's matrix instructions.
  static LogicalResult verifyMmas(KernelOp kernel,
                                  const target::TargetInfo &target) {
    WalkResult result = kernel.walk([&](MmaOp mma) {
      std::string why = mma.getKind().checkTarget(target);
      if (why.empty())
        return WalkResult::advance();
      mma.emitOpError(why);
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult verifyBuffers(KernelOp kernel,
                                     const target::TargetInfo &target) {
    MemoryLayout layout = placeMemory(kernel).layout;
    if (std::string why = target::checkTcgen05(target);
        layout.tmemSlot && !why.empty())
      return kernel.emitOpError(why);
    return failure(failed(check(kernel, layout.tmem, target.tmemColumns,
                                "columns of tensor memory", target)) ||
                   failed(check(kernel, layout.smem, target.smemPerCta,
                                "bytes of shared memory", target)));
  }

  /// Fails unless each role that synchronizes its threads has a named barrier.
  static LogicalResult verifyBarriers(KernelOp kernel) {
    for (auto role : kernel.getBody().getOps<RoleOp>())
      if (int64_t number = role.getNamedBarrier();
          number >= target::kNamedBarriers && role.needsBarrier())
        return role.emitOpError("expected a role that synchronizes its threads "
                                "to be among the first ")
               << target::kNamedBarriers - 1
               << " roles, because the others have no named barrier, found "
                  "role number "
               << number;
    return success();
  }

  /// Checks the registers per thread at launch, the average over all roles.
  static LogicalResult verifyRegisters(KernelOp kernel,
                                       const target::TargetInfo &target) {
    int64_t launched = kernel.getLaunchRegisters().value_or(0);
    int64_t most =
        std::min<int64_t>(target.registersPerThread,
                          target.registersPerSm / kernel.getNumThreads());
    if (launched > most)
      return kernel.emitOpError("expected at most ")
             << most << " registers per thread on average, the limit of "
             << target.chip << " for " << kernel.getNumThreads()
             << " threads, found " << launched;
    return success();
  }
};

} // namespace
