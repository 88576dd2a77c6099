//===- MergeKernels.cpp - Merge equal kernels -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal layers of a model produce equal kernels. Schedules of a matmul that use
// the same workspace produce equal kernels that fill the workspace.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUMERGEKERNELS
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

static SmallVector<NamedAttribute> getOtherAttrs(KernelOp kernel) {
  return llvm::filter_to_vector(
      kernel->getAttrs(), [](NamedAttribute attribute) {
        return attribute.getName() != SymbolTable::getSymbolAttrName();
      });
}

/// Returns true if `a` and `b` differ at most in names and locations.
static bool areEqual(KernelOp a, KernelOp b) {
  return getOtherAttrs(a) == getOtherAttrs(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Returns a hash of the operations without their operands and results. Equal
/// kernels have equal hashes.
static llvm::hash_code hashOps(KernelOp kernel) {
  llvm::hash_code hash = hash_value(kernel.getFunctionType());
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

/// Fuses the locations of `kernel` and its operations with the locations of the
/// corresponding operations in `equal`.
static void fuseLocations(KernelOp kernel, ArrayRef<KernelOp> equal) {
  SmallVector<Operation *> ops;
  SmallVector<SmallVector<Location>> locations;
  kernel->walk([&](Operation *op) {
    ops.push_back(op);
    locations.push_back({op->getLoc()});
  });
  for (KernelOp other : equal) {
    SmallVector<Location> *to = locations.begin();
    other->walk([&](Operation *op) { (to++)->push_back(op->getLoc()); });
  }
  for (auto [op, fused] : llvm::zip_equal(ops, locations))
    op->setLoc(FusedLoc::get(op->getContext(), fused));
}

/// Returns the kernels of `module` to keep, each with the later equal kernels.
static llvm::MapVector<KernelOp, SmallVector<KernelOp>>
findEqual(gpu::GPUModuleOp module) {
  llvm::MapVector<KernelOp, SmallVector<KernelOp>> kept;
  DenseMap<size_t, SmallVector<KernelOp>> byHash;
  for (auto kernel : module.getOps<KernelOp>()) {
    SmallVector<KernelOp> &alike = byHash[hashOps(kernel)];
    auto *equal = llvm::find_if(
        alike, [&](KernelOp other) { return areEqual(other, kernel); });
    if (equal != alike.end()) {
      kept[*equal].push_back(kernel);
      continue;
    }
    alike.push_back(kernel);
    kept[kernel];
  }
  return kept;
}

namespace {
struct MergeKernelsPass final
    : mxgpu::impl::MXGPUMergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override {
    DenseMap<Attribute, SymbolRefAttr> replacements;
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>()) {
      auto getName = [&](KernelOp kernel) {
        return SymbolRefAttr::get(
            module.getNameAttr(),
            FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
      };
      for (auto &[kernel, equal] : findEqual(module)) {
        if (!equal.empty())
          fuseLocations(kernel, equal);
        for (KernelOp other : equal) {
          replacements[getName(other)] = getName(kernel);
          other.erase();
        }
      }
    }
    if (replacements.empty())
      return markAllAnalysesPreserved();
    getOperation().walk([&](LaunchOp launch) {
      if (SymbolRefAttr kept = replacements.lookup(launch.getKernelAttr()))
        launch.setKernelAttr(kept);
    });
  }
};
} // namespace
