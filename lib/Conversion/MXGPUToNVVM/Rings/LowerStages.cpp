//===- LowerStages.cpp - Lowering of a role's stages ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers acquires to waits, and lowers commits and releases to arrivals. Loops
// carry the next stage of the role and the parity of its next wait. A producer
// begins with the parity of the phase before the first. This phase is complete
// (PTX ISA, mbarrier.test_wait), so all stages are empty initially.
//===----------------------------------------------------------------------===//

#include "LowerRings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace {

void onLeader(NVVMBuilder &builder, llvm::function_ref<void()> body) {
  auto ifOp =
      scf::IfOp::create(builder, builder.isLeader(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// Returns true if the tensor core fills or empties the stages, which requires
/// tcgen05.fence (PTX ISA).
bool isOfTensorCore(RingType type) {
  return type.getProducer() == AsyncKind::MmaCommit ||
         type.getConsumer() == AsyncKind::MmaCommit;
}

/// Lowers the operations of a role on a ring with barriers.
class RoleAndRing {
public:
  RoleAndRing(RingOp ring, RoleOp role, bool isProducer)
      : ring(ring), type(ring.getType()), role(role), isProducer(isProducer),
        builder(role.getLoc(), role.getContext()) {}

  LogicalResult lower() {
    Block &body = role.getBody().front();
    builder.setInsertionPointToStart(&body);
    Type stageType = StageType::get(builder.getContext(), type);
    first = GetStageOp::create(builder, stageType, ring, 0);
    end = GetStageOp::create(builder, stageType, ring, type.getStages());
    SmallVector<Value> start = {first, builder.i32(isProducer)};
    // The stages with a deferred release, latest first, each with a flag (i1)
    // that is true if the stage exists.
    for (int64_t i = 0, depth = getDepth(); i < depth; ++i)
      start.append({first, builder.i1(false)});
    auto isChange = [&](Operation *op) {
      return (isProducer ? isa<ProducerAcquireOp>(op)
                         : isa<ConsumerWaitOp, ConsumerTailOp>(op)) &&
             op->getOperand(0) == ring;
    };
    auto change = [&](Operation *op, ValueRange at) {
      if (auto tail = dyn_cast<ConsumerTailOp>(op))
        return lowerTail(tail, at);
      return lowerTake(op, at);
    };
    FailureOr<SmallVector<Value>> last =
        carryThrough(body, start, {isChange, change});
    if (failed(last))
      return failure();
    // The CTA must not end before the tensor core has arrived at all barriers.
    if (isProducer && type.getConsumer() == AsyncKind::MmaCommit)
      waitForAll(*last);
    return success();
  }

private:
  /// Returns the maximum number of stages by which a release is deferred.
  int64_t getDepth() {
    uint64_t depth = 0;
    role.walk([&](ConsumerReleaseOp release) {
      Operation *take = release.getStage().getDefiningOp();
      if (!isProducer && take->getOperand(0) == ring)
        depth = std::max(depth, release.getDeferred());
    });
    return depth;
  }

  SmallVector<Value> advance(ValueRange at) {
    SmallVector<Value> next(
        AdvanceOp::create(builder, at[0], at[1], first, end)->getResults());
    if (at.size() > 2) {
      next.append({at[0], builder.i1(true)});
      llvm::append_range(next, at.drop_front(2).drop_back(2));
    }
    return next;
  }

  /// Releases the stage acquired `distance` stages earlier.
  void releaseDeferred(ValueRange at, int64_t distance) {
    Value stage = at[2 * distance], isTaken = at[2 * distance + 1];
    auto ifOp = scf::IfOp::create(builder, isTaken, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    lowerRelease(stage);
  }

  SmallVector<Value> lowerTail(ConsumerTailOp tail, ValueRange at) {
    builder.setInsertionPoint(tail);
    builder.setLoc(tail->getLoc());
    SmallVector<Value> next(at);
    for (size_t distance = at.size() / 2 - 1; distance > 0; --distance) {
      releaseDeferred(at, distance);
      next[2 * distance + 1] = builder.i1(false);
    }
    tail->erase();
    return next;
  }

  void wait(ValueRange at) {
    Value awaited = at[0], parity = at[1];
    if (isProducer && type.getOverlap()) {
      // A stage is released once its shared columns have been read, before its
      // other columns are read. Wait for the release of the previous stage,
      // which frees the shared columns. The consumer has then read all columns
      // of this stage, because stages are read in order.
      auto previous = PreviousStageOp::create(builder, awaited, parity);
      awaited = previous.getPrevious();
      parity = previous.getPreviousParity();
    }
    auto waitNow = [&] {
      auto barriers = StageBarriersOp::create(builder, ring, awaited);
      WaitOp::create(builder,
                     isProducer ? barriers.getEmpty() : barriers.getFull(),
                     parity, type.isPair() && !type.isFilledByBoth());
    };
    // Only the leader waits, because it fills the stages of both CTAs after
    // both have emptied them.
    if (type.isPair() && isProducer && type.getProducer() == AsyncKind::Clc)
      onLeader(builder, waitNow);
    else
      waitNow();
  }

  /// Returns the full barrier of a stage. CTAs of a pair with common MMAs use
  /// the barrier of the leader.
  Value getFilledBarrier(StageBarriersOp barriers) {
    Value full = barriers.getFull();
    if (!type.isPair() || type.isFilledByBoth())
      return full;
    return LeaderBarrierOp::create(builder, full);
  }

  SmallVector<Value> lowerTake(Operation *take, ValueRange at) {
    builder.setInsertionPoint(take);
    builder.setLoc(take->getLoc());
    wait(at);
    SmallVector<Value> next = advance(at);
    if (isProducer)
      prepareToFill(at[0]);
    else if (isOfTensorCore(type))
      builder.fenceAfterSync();
    if (type.getSpace() == Space::Tmem)
      viewColumns(take, at[0]);
    else
      buffers = StageBuffersOp::create(builder, ring, at[0],
                                       /*tensor_memory=*/Value(),
                                       /*warp=*/Value())
                    .getBuffers();
    SmallVector<Operation *> gives;
    for (Operation *user :
         llvm::make_early_inc_range(take->getResult(0).getUsers()))
      if (isa<ProducerCommitOp, ConsumerReleaseOp>(user))
        gives.push_back(user);
      else if (auto load = dyn_cast<TmaLoadOp>(user))
        lowerLoad(load);
    for (Operation *give : gives)
      lowerGive(give, at);
    replaceTake(take, at[0], buffers);
    return next;
  }

  void lowerLoad(TmaLoadOp load) {
    OpBuilder at(load);
    LoadBoxOp::create(at, load.getLoc(), load.getMap(), load.getCoords(),
                      load.getBuffer(), filled, load.getBox(),
                      load.getMulticast(), load.getCache());
    load.erase();
  }

  /// Computes columns at each use. This is cheap, and roles with accumulators
  /// lack registers to keep them.
  void viewColumns(Operation *take, Value stage) {
    OpBuilder::InsertionGuard guard(builder);
    Value column = getTensorMemory(role->getParentOfType<KernelOp>());
    auto views = take->getResults().drop_front();
    for (auto [i, view] : llvm::enumerate(views))
      for (OpOperand &use : llvm::make_early_inc_range(view.getUses())) {
        builder.setInsertionPoint(use.getOwner());
        auto here = StageBuffersOp::create(builder, ring, stage, column,
                                           /*warp=*/Value());
        use.set(here.getBuffers()[i]);
      }
    buffers.clear();
  }

  void prepareToFill(Value stage) {
    switch (type.getProducer()) {
    case AsyncKind::BulkCopy: {
      // Announce the bytes of all copies before the first copy, so the
      // pending count reaches zero only after the last copy. Each CTA of a pair
      // announces the bytes copied to its own memory.
      filled = getFilledBarrier(StageBarriersOp::create(builder, ring, stage));
      expect(filled);
      break;
    }
    case AsyncKind::Clc:
      // Each CTA of a pair expects the answer at its own barrier. The order of
      // the CTAs does not matter.
      expect(StageBarriersOp::create(builder, ring, stage).getFull());
      break;
    case AsyncKind::MmaCommit:
      builder.fenceAfterSync();
      break;
    case AsyncKind::Threads:
    case AsyncKind::BulkStore:
    case AsyncKind::AtomicCounter:
    case AsyncKind::Groups:
    case AsyncKind::Roles:
    case AsyncKind::AsyncThreads:
      break;
    }
  }

  void arrive(Value barrier) {
    ArriveOp::create(builder, barrier, /*bytes=*/IntegerAttr());
  }

  void arriveAtBoth(Value barrier, bool ofAsync) {
    ArriveOp::create(builder, barrier, /*bytes=*/IntegerAttr(), /*count=*/1,
                     /*both=*/true, ofAsync);
  }

  void expect(Value barrier) {
    ArriveOp::create(builder, barrier,
                     builder.getI64IntegerAttr(type.getTransactionBytes()));
  }

  void lowerGive(Operation *give, ValueRange at) {
    builder.setInsertionPoint(give);
    builder.setLoc(give->getLoc());
    if (auto commit = dyn_cast<ProducerCommitOp>(give))
      lowerCommit(commit, at[0]);
    else if (int64_t distance = cast<ConsumerReleaseOp>(give).getDeferred())
      releaseDeferred(at, distance);
    else
      lowerRelease(at[0]);
    give->erase();
  }

  void lowerCommit(ProducerCommitOp commit, Value stage) {
    if (type.getProducer() == AsyncKind::BulkCopy)
      return; // the copies complete the phase
    Value full = StageBarriersOp::create(builder, ring, stage).getFull();
    switch (type.getProducer()) {
    case AsyncKind::MmaCommit:
      commitOrArrive(full, commit.getEmpty());
      break;
    case AsyncKind::Threads:
      if (type.isPair())
        full = LeaderBarrierOp::create(builder, full);
      arriveByRole(full);
      break;
    case AsyncKind::Clc:
      request(full);
      break;
    case AsyncKind::AtomicCounter:
      arrive(full);
      break;
    case AsyncKind::Groups: {
      auto ifOp =
          scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      arrive(full);
      break;
    }
    case AsyncKind::BulkCopy:
    case AsyncKind::BulkStore:
    case AsyncKind::Roles:
    case AsyncKind::AsyncThreads:
      break;
    }
  }

  /// Commits the MMAs to `barrier`. If the work tile is empty, arrives instead,
  /// because there is no MMA to commit.
  void commitOrArrive(Value barrier, Value empty) {
    bool pair = type.isPair();
    if (!empty) {
      CommitOp::create(builder, barrier, pair);
      return;
    }
    auto ifOp = scf::IfOp::create(builder, empty, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    if (pair)
      arriveAtBoth(barrier, /*ofAsync=*/false);
    else
      arrive(barrier);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    CommitOp::create(builder, barrier, pair);
  }

  /// Requests a work tile. The leader of a pair requests a tile for both CTAs.
  void request(Value barrier) {
    auto ask = [&] {
      RequestWorkTileOp::create(builder, buffers.front(), barrier,
                                type.isPair());
    };
    if (type.isPair())
      onLeader(builder, ask);
    else
      ask();
  }

  void lowerRelease(Value stage) {
    Value empty = StageBarriersOp::create(builder, ring, stage).getEmpty();
    // The tensor core arrives at the barriers of both CTAs of a pair. Threads
    // arrive at the leader's barrier.
    if (type.getConsumer() == AsyncKind::MmaCommit) {
      CommitOp::create(builder, empty, type.isPair());
      return;
    }
    if (isOfTensorCore(type))
      builder.fenceBeforeSync();
    if (type.isFilledByBoth())
      return arriveByWarps([&] { arriveAtBoth(empty, /*ofAsync=*/true); });
    if (type.isPair())
      empty = LeaderBarrierOp::create(builder, empty);
    arriveByRole(empty);
  }

  /// Arrives with every thread or one lane per warp (see getArrivals).
  void arriveByRole(Value barrier) {
    constexpr int64_t warp = mx::target::kWarpSize;
    if (role.getElected() || getArrivals(type, warp) == warp)
      return arrive(barrier);
    arriveByWarps([&] { arrive(barrier); });
  }

  /// Arrives with one lane per warp after a syncwarp. A pair's barrier then
  /// counts 8 arrivals instead of 256.
  void arriveByWarps(llvm::function_ref<void()> arriveNow) {
    builder.syncWarp();
    auto ifOp =
        scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    arriveNow();
  }

  /// Waits until every stage is empty.
  void waitForAll(ValueRange last) {
    builder.setInsertionPointToEnd(&role.getBody().front());
    auto loop =
        scf::ForOp::create(builder, builder.i32(0),
                           builder.i32(type.getStages()), builder.i32(1), last);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ValueRange at = loop.getRegionIterArgs();
    wait(at);
    scf::YieldOp::create(builder, advance(at));
  }

  RingOp ring;
  RingType type;
  RoleOp role;
  bool isProducer;
  NVVMBuilder builder;
  Value first, end;
  /// Buffers of the last acquired stage, and the full barrier of its copies.
  SmallVector<Value> buffers;
  Value filled;
};

} // namespace

LogicalResult mx::mxgpu::lowerStages(RingOp ring, RoleOp role,
                                     bool isProducer) {
  return RoleAndRing(ring, role, isProducer).lower();
}
