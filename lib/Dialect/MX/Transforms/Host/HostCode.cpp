//===- HostCode.cpp - Separation of host code during pipelines ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream passes (bufferization, canonicalization, ...) transform all
// functions of a module, so host code is moved out while they run.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXSKIPHOSTCODE
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Classification of functions
//
// The operations of a function determine the memory space of its memrefs. Calls
// propagate the memory space.
//===----------------------------------------------------------------------===//

namespace {
/// Evidence for a function's memory space, ordered from weak to strong.
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
  // Unused tensor arguments are also evidence of device code.
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

//===----------------------------------------------------------------------===//
// Removing and restoring host code
//===----------------------------------------------------------------------===//

/// Returns true for kernels of mx, and false for kernels of other compilers.
static bool hasMXKernels(gpu::GPUModuleOp kernels) {
  return llvm::any_of(kernels.getOps(), [](Operation &op) {
    return op.getName().getDialectNamespace() == "mxgpu";
  });
}

static bool hasCode(Operation &op) {
  return llvm::any_of(op.getRegions(),
                      [](Region &region) { return !region.empty(); });
}

static StringAttr getSymbol(Operation *op) {
  return op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
}

namespace {

/// Host code outside the module.
class HostCode {
public:
  explicit HostCode(ModuleOp module)
      : module(module), aside(ModuleOp::create(module.getLoc())) {}
  /// Moves host code out of the module, if there is any.
  void takeOut();
  /// Inserts the host code before the output of the pipeline.
  LogicalResult putBack();

private:
  void showReferenced();
  LogicalResult resolve(Operation *op, SymbolTable &table);

  ModuleOp module;
  OwningOpRef<ModuleOp> aside;
  /// Private mx functions that host code calls.
  SmallVector<StringAttr> shown;
};

} // namespace

/// Returns all mx functions and kernels, with the declarations and globals that
/// they use.
static llvm::DenseSet<Operation *> findMX(ModuleOp module) {
  llvm::DenseSet<Operation *> functions = findDeviceFunctions(module);
  SmallVector<Operation *> roots(functions.begin(), functions.end());
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (hasMXKernels(kernels))
      roots.push_back(kernels);
  return findReachable(module, roots);
}

// Makes functions that host code calls public, because passes would otherwise
// treat them as unused.
void HostCode::showReferenced() {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && !function.isExternal() &&
        !SymbolTable::symbolKnownUseEmpty(function.getSymNameAttr(), *aside)) {
      shown.push_back(function.getSymNameAttr());
      function.setPublic();
    }
}

void HostCode::takeOut() {
  llvm::DenseSet<Operation *> mxOps = findMX(module);
  if (llvm::none_of(module.getOps(), [&](Operation &op) {
        return !mxOps.contains(&op) && hasCode(op);
      }))
    return;
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!mxOps.contains(&op))
      op.moveBefore(aside->getBody(), aside->getBody()->end());
  // Clone symbols that both parts use.
  for (Operation &op : *module.getBody())
    if (auto function = dyn_cast<func::FuncOp>(op);
        getSymbol(&op) && (!function || function.isExternal()) &&
        !SymbolTable::symbolKnownUseEmpty(getSymbol(&op), *aside))
      aside->getBody()->push_back(op.clone());
  showReferenced();
}

/// Resolves a symbol conflict between `op` and host code. Merges equal
/// operations. Otherwise renames the symbol that the pipeline created.
LogicalResult HostCode::resolve(Operation *op, SymbolTable &table) {
  StringAttr name = getSymbol(op);
  Operation *made = name ? table.lookup(name) : nullptr;
  if (!made)
    return success();
  if (OperationEquivalence::isEquivalentTo(
          op, made, OperationEquivalence::IgnoreLocations)) {
    table.erase(made);
    return success();
  }
  if (!hasCode(*made) && isa<FunctionOpInterface>(made)) {
    InFlightDiagnostic diagnostic =
        op->emitError() << "expected the declaration of '" << name.getValue()
                        << "' to match the declaration that mx functions "
                           "call, found a different declaration";
    diagnostic.attachNote(op->getLoc())
        << "declaration that mx functions call: " << *made;
    return diagnostic;
  }
  return table.renameToUnique(made, {});
}

LogicalResult HostCode::putBack() {
  for (StringAttr name : shown)
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      function.setPrivate();
  // Rename before insertion, because inserted operations would conflict with
  // symbol lookups.
  LogicalResult result = success();
  SymbolTable table(module);
  for (Operation &op : *aside->getBody())
    if (failed(resolve(&op, table)))
      result = failure();
  module.getBody()->getOperations().splice(module.getBody()->begin(),
                                           aside->getBody()->getOperations());
  return result;
}

namespace {

struct SkipHostCode final : mx::impl::MXSkipHostCodeBase<SkipHostCode> {
  using Base::Base;

  explicit SkipHostCode(llvm::function_ref<void(OpPassManager &)> populate) {
    populate(passes);
    llvm::raw_string_ostream text(pipeline);
    passes.printAsTextualPipeline(text);
  }

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(Base::initializeOptions(options, errorHandler)))
      return failure();
    FailureOr<OpPassManager> parsed = parsePassPipeline(pipeline);
    if (failed(parsed))
      return errorHandler("expected a pipeline, found '" + pipeline + "'");
    passes = std::move(*parsed);
    return success();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    HostCode host(getOperation());
    host.takeOut();
    LogicalResult result = runPipeline(passes, getOperation());
    if (failed(host.putBack()) || failed(result))
      signalPassFailure();
  }

private:
  OpPassManager passes{ModuleOp::getOperationName()};
};

} // namespace

std::unique_ptr<Pass>
mx::createMXSkipHostCode(llvm::function_ref<void(OpPassManager &)> populate) {
  return std::make_unique<SkipHostCode>(populate);
}
