//===- VerifyFilled.cpp - Filled stages of rings --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A producer fills every buffer of a stage in every iteration.
//
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

/// Returns the index of `buffer` in its stage.
static unsigned getIndex(Value buffer) {
  return cast<OpResult>(buffer).getResultNumber() - 1;
}

/// Requires bulk copies to fill each box of each field exactly once, in
/// agreement with the expected bytes.
static LogicalResult verifyLoaded(RingOp ring, const Port &producer) {
  SmallVector<SmallVector<bool>> loaded(ring.getType().getNames().size());
  for (Operation *user : producer.take->getResult(0).getUsers()) {
    auto load = dyn_cast<TmaLoadOp>(user);
    if (!load)
      continue;
    // kernel C34
    if (load->getBlock() != producer.take->getBlock())
      return load.emitOpError(
          "expected to be in the block that takes the stage");
    APInt box(64, 0);
    if (load.getMulticast()) {
      // The same role in the other CTA loads the other box.
      auto &boxes = loaded[getIndex(load.getBuffer())];
      // kernel C35
      if (!boxes.empty())
        return load.emitOpError("expected one load of each field, found a "
                                "second of \"")
               << getBufferName(load.getBuffer()) << '"';
      boxes.assign(load.getNumBoxes(), true);
      continue;
    }
    // kernel C36
    if (load.getBox() && !matchPattern(load.getBox(), m_ConstantInt(&box)))
      return load.emitOpError("expected a constant box, found another");
    auto &boxes = loaded[getIndex(load.getBuffer())];
    if (boxes.empty())
      boxes.resize(load.getNumBoxes());
    // kernel C37
    if (static_cast<int64_t>(boxes.size()) != load.getNumBoxes())
      return load.emitOpError("expected boxes of one size in \"")
             << getBufferName(load.getBuffer()) << "\", found "
             << load.getMap().getType();
    // kernel C35
    if (boxes[box.getSExtValue()])
      return load.emitOpError("expected one load of each field, found a "
                              "second of \"")
             << getBufferName(load.getBuffer()) << '"';
    boxes[box.getSExtValue()] = true;
  }
  // kernel C38
  for (auto [name, boxes] : llvm::zip_equal(ring.getType().getNames(), loaded))
    if (boxes.empty() || llvm::is_contained(boxes, false))
      return producer.give->emitOpError("expected a load into ")
             << (boxes.empty() ? "field " : "every box of field ") << name
             << " before it, found none";
  return success();
}

/// Threads write to each field.
static LogicalResult verifyWritten(RingOp ring, const Port &producer) {
  // kernel C39
  for (StringAttr name : ring.getType().getNames())
    if (llvm::none_of(producer.take->getUsers(), [&](Operation *user) {
          auto store = dyn_cast<StoreSharedOp>(user);
          return store && getBufferName(store.getBuffer()) == name;
        }))
      return producer.give->emitOpError("expected a store into field ")
             << name << " before it, found none";
  return success();
}

/// Requires an MMA that always writes the accumulator, or a commit with `empty`
/// if its loops may have no iterations.
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
          return mma.emitOpError("expected only loops between it and its "
                                 "accumulator, found ")
                 << parent->getName().getStringRef();
      if (!found || mma->getBlock() == block)
        found = mma;
    }
    // kernel C41
    if (!found)
      return publish.emitOpError("expected an mma into field ")
             << name << " before it, found none";
    if (found->getBlock() != block && !publish.getEmpty()) {
      // kernel C42
      InFlightDiagnostic diag = publish.emitOpError(
          "expected `empty` to say when no mma has run, found none");
      diag.attachNote(found.getLoc()) << "this is in a loop";
      return diag;
    }
    if (found->getBlock() == block)
      continue;
    // `empty` means that no loop has run; any loop that runs multiplies.
    for (auto loop : block->getOps<ForEachKOp>())
      // kernel C75
      if (producer.take->isBeforeInBlock(loop) &&
          loop->isBeforeInBlock(publish) &&
          llvm::none_of(producer.take->getUsers(), [&](Operation *user) {
            auto mma = dyn_cast<MmaOp>(user);
            return mma && getBufferName(mma.getD()) == name &&
                   loop->isAncestor(mma);
          }))
        return loop.emitOpError("expected an mma into field ")
               << name << " in each loop over K before the commit, found none";
  }
  return success();
}

/// Requires `empty` in readers of an accumulator that may be empty.
static LogicalResult verifyRead(const Port &consumer, bool mayBeEmpty) {
  for (Operation *user : consumer.take->getUsers()) {
    auto load = dyn_cast<LoadAccumulatorOp>(user);
    if (!load)
      continue;
    // kernel C43
    if (mayBeEmpty && !load.getEmpty())
      return load.emitOpError("expected `empty`, because the stage may be "
                              "published empty, found none");
    if (failed(verifyColumns(load)))
      return failure();
    // PTX ISA, tcgen05.ld: all threads of a warp execute it together.
    for (Operation *parent = load->getParentOp(); !isa<RoleOp>(parent);
         parent = parent->getParentOp()) {
      auto ifOp = dyn_cast<scf::IfOp>(parent);
      // kernel C44
      if (ifOp && !isUniform(ifOp.getCondition()))
        return load.emitOpError("expected the threads of a role to agree on "
                                "the condition of the scf.if around it, "
                                "found one that may depend on the thread");
      // kernel C45
      if (!ifOp && !isLoop(parent))
        return load.emitOpError("expected only loops and scf.if around it, "
                                "found ")
               << parent->getName().getStringRef();
    }
  }
  return success();
}

/// Requires a write of every field that is read.
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
