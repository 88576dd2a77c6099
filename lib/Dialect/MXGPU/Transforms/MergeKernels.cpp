//===- MergeKernels.cpp - One of kernels that are the same ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A matmul with several schedules has a kernel for each, and before each of
// those that read an operand from a workspace the same kernel that writes it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUMERGEKERNELS
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

/// What a kernel is called is no part of what it does.
static SmallVector<NamedAttribute> getOtherAttrs(KernelOp kernel) {
  return llvm::filter_to_vector(
      kernel->getAttrs(), [](NamedAttribute attribute) {
        return attribute.getName() != SymbolTable::getSymbolAttrName();
      });
}

/// Whether they are of one place of the program, which findings name, and do
/// the same.
static bool areSame(KernelOp a, KernelOp b) {
  return a.getLoc() == b.getLoc() && getOtherAttrs(a) == getOtherAttrs(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::None);
}

/// By launched name, the first kernel of the module that is the same.
static void findSame(gpu::GPUModuleOp module,
                     DenseMap<Attribute, SymbolRefAttr> &others,
                     SmallVectorImpl<KernelOp> &merged) {
  auto getName = [&](KernelOp kernel) {
    return SymbolRefAttr::get(module.getNameAttr(),
                              FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  };
  DenseMap<Location, SmallVector<KernelOp>> kept;
  for (auto kernel : module.getOps<KernelOp>()) {
    SmallVector<KernelOp> &here = kept[kernel.getLoc()];
    auto *same = llvm::find_if(
        here, [&](KernelOp other) { return areSame(other, kernel); });
    if (same == here.end()) {
      here.push_back(kernel);
      continue;
    }
    others[getName(kernel)] = getName(*same);
    merged.push_back(kernel);
  }
}

namespace {
struct MergeKernelsPass final
    : mxgpu::impl::MXGPUMergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override {
    DenseMap<Attribute, SymbolRefAttr> others;
    SmallVector<KernelOp> merged;
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
      findSame(module, others, merged);
    if (merged.empty())
      return;
    getOperation().walk([&](LaunchOp launch) {
      if (SymbolRefAttr same = others.lookup(launch.getKernelAttr()))
        launch.setKernelAttr(same);
    });
    for (KernelOp kernel : merged)
      kernel.erase();
  }
};
} // namespace
