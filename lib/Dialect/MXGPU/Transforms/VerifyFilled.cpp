//===- VerifyFilled.cpp - Filled stages of rings --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that a producer fills every buffer of a stage in every iteration.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static bool isLoop(Operation *op) {
  return isa<ForEachWorkTileOp, ForEachKOp, scf::ForOp>(op);
}

static unsigned getIndex(Value buffer) {
  return cast<OpResult>(buffer).getResultNumber() - 1;
}

/// Fails unless bulk copies fill each box of each field exactly once, because
/// the full barrier expects these bytes.
static LogicalResult verifyLoaded(RingOp ring, const Port &producer) {
  SmallVector<SmallVector<bool>> loaded(ring.getType().getNames().size());
  for (Operation *user : producer.take->getResult(0).getUsers()) {
    auto load = dyn_cast<TmaLoadOp>(user);
    if (!load)
      continue;
    if (load->getBlock() != producer.take->getBlock()) // kernel C34
      return load.emitOpError(
          "expected to be in the block that takes the stage");
    APInt box(64, 0);
    if (load.getMulticast()) {
      // The same role in the other CTA loads the other box.
      auto &boxes = loaded[getIndex(load.getBuffer())];
      if (!boxes.empty()) // kernel C35
        return load.emitOpError(
                   "expected one load of each field, found a second load of \"")
               << getBufferName(load.getBuffer()) << '"';
      boxes.assign(load.getNumBoxes(), true);
      continue;
    }
    // kernel C36
    if (load.getBox() && !matchPattern(load.getBox(), m_ConstantInt(&box)))
      return load.emitOpError("expected a constant box index");
    auto &boxes = loaded[getIndex(load.getBuffer())];
    if (boxes.empty())
      boxes.resize(load.getNumBoxes());
    if (static_cast<int64_t>(boxes.size()) != load.getNumBoxes()) // kernel C37
      return load.emitOpError("expected boxes of the same size in \"")
             << getBufferName(load.getBuffer()) << "\", found "
             << load.getMap().getType();
    if (boxes[box.getSExtValue()]) // kernel C35
      return load.emitOpError(
                 "expected one load of each field, found a second load of \"")
             << getBufferName(load.getBuffer()) << '"';
    boxes[box.getSExtValue()] = true;
  }
  // kernel C38
  for (auto [name, boxes] : llvm::zip_equal(ring.getType().getNames(), loaded))
    if (boxes.empty() || llvm::is_contained(boxes, false))
      return producer.give->emitOpError("expected a load into ")
             << (boxes.empty() ? "field " : "every box of field ") << name
             << " before the commit, found none";
  return success();
}

/// Fails unless threads write to each field.
static LogicalResult verifyWritten(RingOp ring, const Port &producer) {
  for (StringAttr name : ring.getType().getNames()) // kernel C39
    if (llvm::none_of(producer.take->getUsers(), [&](Operation *user) {
          auto store = dyn_cast<StoreSharedOp>(user);
          return store && getBufferName(store.getBuffer()) == name;
        }))
      return producer.give->emitOpError("expected a store into field ")
             << name << " before the commit, found none";
  return success();
}

/// Fails unless an MMA always writes the accumulator. If all MMAs are in loops
/// that may not run, the commit must set `empty`.
static LogicalResult verifyMultiplied(RingOp ring, const Port &producer) {
  auto publish = cast<ProducerCommitOp>(producer.give);
  Block *block = publish->getBlock();
  for (StringAttr name : ring.getType().getNames()) {
    MmaOp found;
    for (Operation *user : producer.take->getUsers()) {
      auto mma = dyn_cast<MmaOp>(user);
      if (!mma || getBufferName(mma.getD()) != name)
        continue;
      // kernel C40
      for (Operation *parent = mma->getParentOp();
           parent != block->getParentOp(); parent = parent->getParentOp())
        if (!isLoop(parent))
          return mma.emitOpError("expected only loops between the MMA and the "
                                 "acquire of its accumulator, found ")
                 << parent->getName().getStringRef();
      if (!found || mma->getBlock() == block)
        found = mma;
    }
    if (!found) // kernel C41
      return publish.emitOpError("expected an mma into field ")
             << name << " before the commit, found none";
    if (found->getBlock() != block && !publish.getEmpty()) {
      InFlightDiagnostic diag =
          publish.emitOpError("expected `empty`, because the loops around the "
                              "MMA may not run, found none"); // kernel C42
      diag.attachNote(found.getLoc()) << "this is in a loop";
      return diag;
    }
    if (found->getBlock() == block)
      continue;
    // `empty` means that no loop has run; any loop that runs multiplies.
    for (auto loop : block->getOps<ForEachKOp>())
      if (producer.take->isBeforeInBlock(loop) &&
          loop->isBeforeInBlock(publish) &&
          llvm::none_of(producer.take->getUsers(), [&](Operation *user) {
            auto mma = dyn_cast<MmaOp>(user);
            return mma && getBufferName(mma.getD()) == name &&
                   loop->isAncestor(mma);
          })) // kernel C75
        return loop.emitOpError("expected an mma into field ")
               << name << " in each loop over K before the commit, found none";
  }
  return success();
}

/// Fails unless loads of an accumulator that may be empty test `empty`.
static LogicalResult verifyRead(const Port &consumer, bool mayBeEmpty) {
  for (Operation *user : consumer.take->getUsers()) {
    auto load = dyn_cast<LoadAccumulatorOp>(user);
    if (!load)
      continue;
    if (mayBeEmpty && !load.getEmpty()) // kernel C43
      return load.emitOpError("expected `empty`, because the stage may be "
                              "published empty, found none");
    if (failed(verifyColumns(load)))
      return failure();
    // PTX ISA, tcgen05.ld: all threads of a warp execute it together.
    for (Operation *parent = load->getParentOp(); !isa<RoleOp>(parent);
         parent = parent->getParentOp()) {
      auto ifOp = dyn_cast<scf::IfOp>(parent);
      if (ifOp && !isUniform(ifOp.getCondition())) // kernel C44
        return load.emitOpError("expected the threads of a role to agree on "
                                "the condition of the enclosing scf.if, found "
                                "a condition that may depend on the thread");
      if (!ifOp && !isLoop(parent)) // kernel C45
        return load.emitOpError(
                   "expected to be nested only in loops and scf.if, found ")
               << parent->getName().getStringRef();
    }
  }
  return success();
}

/// Fails unless the producer writes every field.
static LogicalResult verifyFilled(RingOp ring, const Port &producer) {
  switch (ring.getType().getProducer()) {
  case AsyncKind::BulkCopy:
    return verifyLoaded(ring, producer);
  case AsyncKind::MmaCommit:
    return verifyMultiplied(ring, producer);
  case AsyncKind::Threads:
    return verifyWritten(ring, producer);
  case AsyncKind::BulkStore:
  case AsyncKind::Clc:
  case AsyncKind::AtomicCounter:
  case AsyncKind::Groups:
  case AsyncKind::Roles:
  case AsyncKind::AsyncThreads:
    break;
  }
  return success();
}

LogicalResult mxgpu::verifyFilled(RingOp ring, const Sides &sides) {
  bool mayBeEmpty = false;
  for (const Port &producer : sides.producers) {
    if (failed(::verifyFilled(ring, producer)))
      return failure();
    mayBeEmpty |=
        static_cast<bool>(cast<ProducerCommitOp>(producer.give).getEmpty());
  }
  if (ring.getType().getProducer() == AsyncKind::MmaCommit)
    for (const Port &consumer : sides.consumers)
      if (failed(verifyRead(consumer, mayBeEmpty)))
        return failure();
  return success();
}
