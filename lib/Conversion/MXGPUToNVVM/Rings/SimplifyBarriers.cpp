//===- SimplifyBarriers.cpp - Fences, waits and arrivals that say nothing -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Looks along each block for two operations of a kind with nothing between them
// that touches memory: what the second one orders, the first one has ordered.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUSIMPLIFYBARRIERS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// Fences of one thread, which a second of the same kind adds nothing to.
static bool isFence(Operation *op) {
  return isa<NVVM::FenceProxyOp, NVVM::Tcgen05FenceOp>(op);
}

/// Whether `later`, with only operations that touch no memory since `earlier`,
/// says nothing new.
static bool isRedundant(Operation *earlier, Operation *later) {
  if (!isFence(later) && !isa<WaitOp>(later))
    return false;
  return OperationEquivalence::isEquivalentTo(
      earlier, later, OperationEquivalence::IgnoreLocations);
}

/// Lets `later` arrive for both, if they arrive at one barrier.
static bool merge(Operation *earlier, Operation *later) {
  auto first = dyn_cast<ArriveOp>(earlier), second = dyn_cast<ArriveOp>(later);
  if (!first || !second || first.getBarrier() != second.getBarrier() ||
      first.getBytes() || second.getBytes())
    return false;
  second.setCount(first.getCount() + second.getCount());
  first.erase();
  return true;
}

static void simplify(Block &block) {
  Operation *last = nullptr; // that touched memory
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.getNumRegions()) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          simplify(inner);
      last = nullptr;
      continue;
    }
    if (isMemoryEffectFree(&op))
      continue;
    if (last && isRedundant(last, &op)) {
      op.erase();
      continue;
    }
    if (last)
      merge(last, &op);
    last = &op;
  }
}

namespace {
struct SimplifyBarriersPass final
    : mx::mxgpu::impl::MXGPUSimplifyBarriersBase<SimplifyBarriersPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (Block &block : kernel.getBody())
        simplify(block);
  }
};
} // namespace
