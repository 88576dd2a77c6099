//===- VerifyMmas.cpp - Sums in registers are waited for ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An instruction whose completion is a wait group still reads its operands and
// writes its sums when the next operation begins. Until an mxgpu.mma_wait has
// waited for it, others leave both alone. Operands in registers are values, and
// nothing changes a value; they take registers until the wait.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static bool isStarted(Operation *op) {
  auto mma = dyn_cast<MmaOp>(op);
  return mma && mma.getKind().getFamily().completion ==
                    target::MmaCompletion::WaitGroup;
}

/// Instructions that are started between `mma` and an operation behind it in
/// its block, at least: groups finish in the order in which they are started
/// (PTX ISA, wgmma.wait_group).
static int64_t countLater(MmaOp mma, Operation *end) {
  int64_t later = 0;
  for (Operation *op = mma->getNextNode(); op != end; op = op->getNextNode())
    later += isStarted(op);
  return later;
}

/// Whether `mma` is finished after `wait`. From elsewhere, with none pending.
static bool finishes(MmaOp mma, MmaWaitOp wait) {
  if (!wait.getPending())
    return true;
  return mma->getBlock() == wait->getBlock() && mma->isBeforeInBlock(wait) &&
         static_cast<int64_t>(wait.getPending()) <= countLater(mma, wait);
}

/// Whether an operation of its block waits for `mma`, between it and `use`.
static bool isWaitedFor(MmaOp mma, Operation *use) {
  for (Operation *op = mma->getNextNode(); op && op != use;
       op = op->getNextNode())
    if (auto wait = dyn_cast<MmaWaitOp>(op); wait && finishes(mma, wait))
      return true;
  return false;
}

/// A stage goes back when nothing reads it any more.
static LogicalResult verifyOperands(MmaOp mma) {
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    if (!isa<BufferType>(operand.getType()))
      continue;
    Operation *take = operand.getDefiningOp();
    for (Operation *user : take->getResult(0).getUsers()) {
      if (!isa<ConsumerReleaseOp>(user) || user->getBlock() != take->getBlock())
        continue;
      if (mma->getBlock() == user->getBlock() && isWaitedFor(mma, user))
        continue;
      // kernel C49
      InFlightDiagnostic diag = mma.emitOpError(
          "expected an mxgpu.mma_wait with pending(0) in its block, between it "
          "and the release of the stage that it reads, found none");
      diag.attachNote(user->getLoc()) << "given back here";
      return diag;
    }
  }
  return success();
}

/// Sums are under way wherever they go, until a wait for them.
static LogicalResult verifySums(MmaOp mma) {
  llvm::SmallSetVector<Value, 4> values;
  values.insert(mma.getSums());
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto wait = dyn_cast<MmaWaitOp>(user)) {
        if (!finishes(mma, wait))
          values.insert(wait.getResult());
        continue;
      }
      // The next instruction takes them as they are.
      if (auto next = dyn_cast<MmaOp>(user);
          next && next.getKind() == mma.getKind())
        continue;
      auto loop = dyn_cast<ForEachKOp>(user->getParentOp());
      if (loop && isa<mxgpu::YieldOp>(user)) {
        values.insert(loop.getResult(use.getOperandNumber()));
        values.insert(loop.getRegionIterArgs()[use.getOperandNumber()]);
        continue;
      }
      // kernel C50
      InFlightDiagnostic diag = user->emitOpError(
          "expected sums that an mxgpu.mma_wait gave with pending(0), or with "
          "as many started in its block after them, found some that may still "
          "change");
      diag.attachNote(mma.getLoc()) << "this computes them";
      return diag;
    }
  return success();
}

LogicalResult mxgpu::verifyMmas(KernelOp kernel) {
  WalkResult result = kernel.walk([](MmaOp mma) {
    if (isStarted(mma) &&
        (failed(verifyOperands(mma)) || failed(verifySums(mma))))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
