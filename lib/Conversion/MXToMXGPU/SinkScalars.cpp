//===- SinkScalars.cpp - Scalar computation from host to kernels ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To pass a scalar that depends on an array element to a launch, the host would
// have to wait for the device. This pass lets the kernel load the element and
// compute the scalar at its start instead.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "mlir/IR/IRMapping.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXGPU/IR/LaunchArrays.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXSINKSCALARS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Equivalence of kernel and host loads
//===----------------------------------------------------------------------===//

/// Returns true if a kernel may write `array`.
static bool mayWrite(LaunchOp launch, Value array) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());
  // Arguments added by this pass, not yet in the launch, are only read.
  for (auto [operand, argument] :
       llvm::zip(launch.getArgs(), kernel.getBody().getArguments()))
    if (mayBe(operand, array) && mxgpu::mayWrite(argument))
      return true;
  return false;
}

/// Returns true if an operation neither frees nor writes `array`.
static bool leaves(Operation *op, Value array) {
  if (isMemoryEffectFree(op) || isa<memref::LoadOp, memref::AllocOp>(op))
    return true;
  if (auto launch = dyn_cast<LaunchOp>(op))
    return !mayWrite(launch, array);
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (mayBe(operand, array))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Returns true if the load yields the same value in the kernel as on the host.
static bool canLoadInKernel(memref::LoadOp load, LaunchOp launch) {
  Type type = load.getType();
  bool hasBytes =
      type.isIndex() || type.getIntOrFloatBitWidth() >= 16 || type.isInteger(8);
  Value array = findArray(load.getMemRef());
  if (!hasBytes || !array || load->getBlock() != launch->getBlock() ||
      !load->isBeforeInBlock(launch))
    return false;
  for (Operation *op = load->getNextNode(); op != launch;
       op = op->getNextNode())
    if (!leaves(op, array))
      return false;
  return !mayWrite(launch, array);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Returns true if the host can compute the indices of a load.
static bool hasKnownIndices(memref::LoadOp load) {
  return llvm::none_of(load.getIndices(), followsFromMemory);
}

/// Inserts a host bounds check of a sunk load with the CPU path's message.
static void requireElement(memref::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Value isInside;
  auto add = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, a, b);
    isInside =
        isInside ? arith::AndIOp::create(builder, loc, isInside, holds) : holds;
  };
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    add(arith::CmpIPredicate::sle, zero, index);
    add(arith::CmpIPredicate::slt, index,
        memref::DimOp::create(builder, loc, load.getMemRef(), dim));
  }
  if (isInside)
    RequireOp::create(builder, loc, isInside,
                      describeAccess(load, "out-of-bounds access"),
                      ValueRange());
}

/// Returns the operations that compute `argument` from loads. Returns an empty
/// set if the kernel cannot execute all of them.
static llvm::SetVector<Operation *> findSinkable(Value argument,
                                                 LaunchOp launch) {
  // Sizes stay on the host, which checks them and computes grids from them.
  if (!argument.getType().isIntOrFloat())
    return {};
  llvm::SetVector<Operation *> ops = findArithmetic(argument);
  bool reads = false;
  for (Operation *op : ops) {
    auto load = dyn_cast<memref::LoadOp>(op);
    reads |= bool(load);
    // GPUs cannot compute exact remainders.
    if (isa<arith::RemFOp>(op) ||
        (load && !(hasKnownIndices(load) && canLoadInKernel(load, launch))))
      return {};
  }
  return reads ? std::move(ops) : llvm::SetVector<Operation *>();
}

namespace {
/// Sinks scalars of a launch into its kernel, which no other launch may use.
class Sinker {
public:
  Sinker(LaunchOp launch, KernelOp kernel)
      : launch(launch), kernel(kernel),
        builder(OpBuilder::atBlockBegin(&kernel.getBody().front())),
        arguments(launch.getArgs()) {
    // Results of earlier kernels are visible only after the wait.
    for (auto wait : kernel.getBody().getOps<WaitDependenciesOp>())
      builder.setInsertionPointAfter(wait);
  }

  /// Sinks scalars and returns the host operations that the kernel now
  /// computes.
  llvm::SetVector<Operation *> run() {
    llvm::SetVector<Operation *> sunk;
    llvm::BitVector isSunk(arguments.size());
    for (auto [index, argument] : llvm::enumerate(launch.getArgs())) {
      llvm::SetVector<Operation *> ops = findSinkable(argument, launch);
      if (ops.empty() || isUsedBefore(kernel.getBody().getArgument(index)))
        continue;
      for (Operation *op : ops)
        clone(op);
      kernel.getBody().getArgument(index).replaceAllUsesWith(
          inKernel.lookup(argument));
      isSunk.set(index);
      sunk.insert(ops.begin(), ops.end());
    }
    if (sunk.empty())
      return sunk;
    isSunk.resize(arguments.size());
    (void)kernel.eraseArguments(isSunk);
    SmallVector<Value> kept;
    for (auto [index, argument] : llvm::enumerate(arguments))
      if (!isSunk.test(index))
        kept.push_back(argument);
    launch.getArgsMutable().assign(kept);
    return sunk;
  }

private:
  /// Returns true if the kernel uses an argument before the insertion point.
  bool isUsedBefore(BlockArgument argument) {
    Block *block = builder.getInsertionBlock();
    auto start = builder.getInsertionPoint();
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      Operation *inBlock = block->findAncestorOpInBlock(*user);
      return start == block->end() || inBlock->isBeforeInBlock(&*start);
    });
  }

  void clone(Operation *op) {
    if (inKernel.contains(op->getResult(0)))
      return;
    for (Value operand : op->getOperands())
      if (!inKernel.contains(operand))
        inKernel.map(operand, addArgument(operand));
    builder.clone(*op, inKernel);
  }

  Value addArgument(Value value) {
    unsigned index = arguments.size();
    (void)kernel.insertArgument(index, getParameterType(value.getType()),
                                DictionaryAttr(), value.getLoc());
    arguments.push_back(value);
    return kernel.getBody().getArgument(index);
  }

  LaunchOp launch;
  KernelOp kernel;
  OpBuilder builder;
  IRMapping inKernel;
  /// Arguments of the new launch.
  SmallVector<Value> arguments;
};

struct SinkScalarsPass final
    : mx::mxgpu::impl::MXSinkScalarsBase<SinkScalarsPass> {
  using MXSinkScalarsBase::MXSinkScalarsBase;

  void runOnOperation() override {
    SmallVector<LaunchOp> launches;
    llvm::DenseMap<Operation *, unsigned> counts;
    SymbolTableCollection symbols;
    auto getKernel = [&](LaunchOp launch) {
      return symbols.lookupNearestSymbolFrom<KernelOp>(launch,
                                                       launch.getKernelAttr());
    };
    getOperation().walk([&](LaunchOp launch) {
      launches.push_back(launch);
      ++counts[getKernel(launch)];
    });
    llvm::SetVector<Operation *> sunk;
    for (LaunchOp launch : launches) {
      KernelOp kernel = getKernel(launch);
      if (counts[kernel] == 1)
        sunk.insert_range(Sinker(launch, kernel).run());
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : llvm::to_vector(llvm::reverse(sunk)))
        if (op->use_empty()) {
          if (auto load = dyn_cast<memref::LoadOp>(op))
            requireElement(load);
          sunk.remove(op);
          op->erase();
          changed = true;
        }
    }
    if (!hostReads && failed(verifyReads()))
      signalPassFailure();
  }

  LogicalResult verifyReads() {
    WalkResult result =
        getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
          if (isa<gpu::GPUModuleOp>(op))
            return WalkResult::skip();
          if (!isa<memref::LoadOp>(op) || op->use_empty())
            return WalkResult::advance();
          op->emitOpError(
              "expected tensors to stay in device memory, where the host "
              "cannot read an element: return the tensor and pass the element "
              "to another function, or use a launch plan (mx-compile, "
              "mx-run), which can read elements");
          return WalkResult::interrupt();
        });
    return failure(result.wasInterrupted());
  }
};
} // namespace
