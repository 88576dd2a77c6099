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
  return mma && mma.getKind().getRoles().completion ==
                    target::MmaCompletion::WaitGroup;
}

/// Instructions that are started between two operations of a block, at least:
/// groups finish in the order in which they are started (PTX ISA,
/// wgmma.wait_group).
static int64_t countStarted(Operation *first, Operation *end) {
  int64_t started = 0;
  for (Operation *op = first; op != end; op = op->getNextNode())
    started += isStarted(op);
  return started;
}

/// Whether `mma` is finished after `wait`: from elsewhere with none pending,
/// from the same block if enough are started between them, in one iteration or
/// from it to the next.
static bool finishes(MmaOp mma, MmaWaitOp wait, bool inNext) {
  if (!wait.getPending())
    return true;
  Block *block = mma->getBlock();
  if (block != wait->getBlock())
    return false;
  Operation *following = mma->getNextNode();
  int64_t later = inNext ? countStarted(following, /*end=*/nullptr) +
                               countStarted(&block->front(), wait)
                         : countStarted(following, wait);
  return static_cast<int64_t>(wait.getPending()) <= later;
}

/// Whether an operation from `first` to `end` in a block waits for `mma`,
/// there in the next iteration if `inNext`.
static bool isWaitedFor(MmaOp mma, Operation *first, Operation *end,
                        bool inNext = false) {
  for (Operation *op = first; op && op != end; op = op->getNextNode())
    if (auto wait = dyn_cast<MmaWaitOp>(op);
        wait && finishes(mma, wait, inNext))
      return true;
  return false;
}

/// What gives back the last stage of a loop with a deferred release.
static Operation *findTail(ConsumerReleaseOp release) {
  Operation *loop = release->getParentOp();
  auto take = release.getStage().getDefiningOp<ConsumerWaitOp>();
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    if (auto tail = dyn_cast<ConsumerTailOp>(op);
        tail && tail.getRing() == take.getRing())
      return tail;
  return nullptr;
}

/// Whether the stage that `mma` reads, taken in its block, goes back after a
/// wait for it: in its iteration, or in the next and after the loop.
static bool isFinishedBefore(MmaOp mma, ConsumerReleaseOp release) {
  if (!release.getDeferred())
    return isWaitedFor(mma, mma->getNextNode(), release);
  Operation *following = release->getParentOp()->getNextNode();
  return (isWaitedFor(mma, mma->getNextNode(), nullptr) ||
          isWaitedFor(mma, &mma->getBlock()->front(), release,
                      /*inNext=*/true)) &&
         isWaitedFor(mma, following, findTail(release));
}

/// A stage goes back when nothing reads it any more.
static LogicalResult verifyOperands(MmaOp mma) {
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    if (!isa<BufferType>(operand.getType()))
      continue;
    Operation *take = operand.getDefiningOp();
    for (Operation *user : take->getResult(0).getUsers()) {
      auto release = dyn_cast<ConsumerReleaseOp>(user);
      if (!release || user->getBlock() != take->getBlock())
        continue;
      if (mma->getBlock() == user->getBlock() && isFinishedBefore(mma, release))
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
        bool inNext =
            mma->getBlock() == wait->getBlock() && !mma->isBeforeInBlock(wait);
        if (!finishes(mma, wait, inNext))
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
