//===- HostCode.cpp - Which functions are not mx's ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a function does says where its memory is; calls carry that on.
//
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mx;

namespace {
/// What the operations of a function say about it, the strongest last.
enum class Evidence { none, parallel, managesDevice, tensors };
} // namespace

static Evidence getEvidence(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "mx" || dialect == "mxgpu" ||
      llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    return Evidence::tensors;
  if (dialect == "gpu")
    return Evidence::managesDevice;
  if (dialect == "linalg" ||
      isa<scf::ParallelOp, scf::ForallOp, affine::AffineParallelOp>(op))
    return Evidence::parallel;
  return Evidence::none;
}

static Evidence getEvidence(func::FuncOp function) {
  Evidence evidence = Evidence::none;
  // An argument that nothing uses says it too.
  if (llvm::any_of(function.getFunctionType().getInputs(),
                   [](Type type) { return isa<TensorType>(type); }))
    return Evidence::tensors;
  function.walk(
      [&](Operation *op) { evidence = std::max(evidence, getEvidence(op)); });
  return evidence;
}

llvm::DenseSet<Operation *> mx::findDeviceFunctions(ModuleOp module) {
  llvm::DenseSet<Operation *> device;
  SmallVector<func::FuncOp> pending;
  DenseMap<Operation *, SmallVector<func::FuncOp>> callees, callers;
  DenseMap<Operation *, Evidence> evidence;
  auto add = [&](func::FuncOp function) {
    if (device.insert(function).second)
      pending.push_back(function);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Evidence found = evidence[function] = getEvidence(function);
    if (found == Evidence::tensors || found == Evidence::parallel)
      add(function);
    function.walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return;
      callees[function].push_back(callee);
      callers[callee].push_back(function);
    });
  }
  while (!pending.empty()) {
    func::FuncOp function = pending.pop_back_val();
    for (func::FuncOp callee : callees.lookup(function))
      add(callee);
    for (func::FuncOp caller : callers.lookup(function))
      if (evidence.lookup(caller) != Evidence::managesDevice)
        add(caller);
  }
  return device;
}

bool mx::isArithmetic(func::FuncOp function) {
  auto isMemory = [](Type type) {
    return isa<BaseMemRefType, TensorType, LLVM::LLVMPointerType>(type);
  };
  auto isElsewhere = [](func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    return !callee || callee.isExternal();
  };
  if (llvm::any_of(function.getArgumentTypes(), isMemory))
    return false;
  WalkResult result = function.walk([&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    bool isOther = llvm::any_of(op->getResultTypes(), isMemory) ||
                   isa<LLVM::LLVMDialect, gpu::GPUDialect>(op->getDialect()) ||
                   (call && isElsewhere(call));
    return isOther ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

llvm::DenseSet<Operation *> mx::findReachable(ModuleOp module,
                                              ArrayRef<Operation *> roots) {
  llvm::DenseSet<Operation *> reached(roots.begin(), roots.end());
  SmallVector<Operation *> pending(roots);
  while (!pending.empty()) {
    auto uses = SymbolTable::getSymbolUses(pending.pop_back_val());
    if (!uses)
      continue;
    for (const SymbolTable::SymbolUse &use : *uses)
      if (Operation *op =
              module.lookupSymbol(use.getSymbolRef().getRootReference());
          op && reached.insert(op).second)
        pending.push_back(op);
  }
  return reached;
}

void mx::eraseUnreachable(ModuleOp module, ArrayRef<func::FuncOp> entries) {
  SmallVector<Operation *> roots(entries.begin(), entries.end());
  llvm::DenseSet<Operation *> reached = findReachable(module, roots);
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!reached.contains(&op))
      op.erase();
}
