//===- UnrollFragments.cpp - Columns of the epilogue as immediates --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The loops over a tile's columns run a few times. Without them columns, and
// the slots that staged rows take, are constants.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mx::mxgpu;

static bool isWide(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isF64();
}

/// Whether an operation takes so many instructions, for random numbers or as
/// part of a function of math, that one round is long as it is.
static bool isLong(Operation &op) {
  if (auto block = dyn_cast<QuantizeBlockOp>(op))
    return bool(block.getSeed());
  if (auto columns = dyn_cast<QuantizeColumnsOp>(op))
    return bool(columns.getSeed());
  return op
      .walk([](Operation *inner) {
        return llvm::any_of(inner->getResultTypes(), isWide)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The short way that most tiles take. The way of tiles at the edge of the
/// matrix is long as it is. Loads of all rounds at once would take more
/// registers than there are.
static bool isShort(scf::ForOp loop) {
  if (llvm::any_of(*loop.getBody(), isLong))
    return false;
  if (!loop.getBody()->getOps<LoadBlockOp>().empty())
    return false;
  for (auto store : loop.getBody()->getOps<StoreFragmentOp>())
    if (!store.getAlignment())
      return false;
  for (Operation &op : *loop.getBody())
    if (isa<StoreFragmentOp, StoreSharedOp>(op))
      return true;
  return false;
}

/// Where each loop that takes slots of a warp's ring goes through all of them,
/// and maybe several times, each begins with the first.
static void fixSlots(RingOp ring) {
  SmallVector<Operation *> acquires;
  for (Operation *user : ring.getResult().getUsers()) {
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    if (!isa<ProducerAcquireOp>(user) || !loop ||
        !llvm::hasSingleElement(loop.getBody()->getOps<ProducerAcquireOp>()))
      return;
    std::optional<APInt> count = loop.getStaticTripCount();
    if (!count || count->getZExtValue() % ring.getType().getStages())
      return;
    acquires.push_back(user);
  }
  Builder builder(ring.getContext());
  for (Operation *acquire : acquires)
    acquire->setAttr(kSlotInLoop, builder.getUnitAttr());
}

void mx::mxgpu::unrollFragments(KernelOp kernel) {
  for (auto ring : kernel.getBody().getOps<RingOp>())
    if (ring.getType().getScope() == Scope::Warp)
      fixSlots(ring);
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (isShort(loop) && loop.getStaticTripCount())
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    OpBuilder builder(loop);
    for (auto acquire : loop.getBody()->getOps<ProducerAcquireOp>())
      if (acquire->hasAttr(kSlotInLoop))
        acquire->setAttr(kSlotInLoop, builder.getI64IntegerAttr(0));
    auto setSlot = [](unsigned iteration, Operation *op, OpBuilder builder) {
      if (op->hasAttr(kSlotInLoop))
        op->setAttr(kSlotInLoop, builder.getI64IntegerAttr(iteration));
    };
    (void)loopUnrollByFactor(loop, loop.getStaticTripCount()->getZExtValue(),
                             setSlot);
  }
  // What was a loop's counter is a constant now.
  if (!loops.empty())
    (void)applyPatternsGreedily(kernel, RewritePatternSet(kernel.getContext()));
}
