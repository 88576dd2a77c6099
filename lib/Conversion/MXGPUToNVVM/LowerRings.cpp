//===- LowerRings.cpp - Stages of rings become barriers and parities ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each stage has two barriers: one whose phase completes when the stage is
// full, one when it is empty. Loops carry a role's next stage and the parity
// that it will wait for; a producer begins with the phase before the first,
// which is complete from the start (PTX ISA, mbarrier.test_wait), so that all
// stages begin empty.
//
//===----------------------------------------------------------------------===//

#include "LowerRings.h"
#include "CarryValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_LOWERRINGSPASS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

int64_t mx::mxgpu::getArrivals(RingType type, int64_t threads) {
  bool isBetweenThreads = type.getProducer() == AsyncKind::Threads &&
                          type.getConsumer() == AsyncKind::Threads;
  return isBetweenThreads ? threads
                          : llvm::divideCeil(threads, mx::target::kWarpSize);
}

void mx::mxgpu::replaceTake(Operation *take, Value stage, ValueRange buffers) {
  SmallVector<Value> values = {stage};
  llvm::append_range(values, buffers);
  take->replaceAllUsesWith(values);
  take->erase();
}

bool mx::mxgpu::isAllocated(KernelOp kernel) {
  bool allocated = kernel.getSmemBytes().has_value();
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op)) {
      allocated &= ring.getOffsets().has_value();
      for (BufferType buffer : ring.getType().getBuffers())
        allocated &= buffer.getSpace() == Space::Smem || kernel.getTmemSlot();
    } else if (auto role = dyn_cast<RoleOp>(op)) {
      allocated &=
          role.getFirstWarp().has_value() &&
          (role.getBarrier() || !role.needsBarrier()) &&
          role.getRegisters().has_value() == kernel.getRegisters().has_value();
    } else if (auto copy = dyn_cast<CopyScalesOp>(op)) {
      allocated &= copy.getColumn() && kernel.getTmemSlot();
    } else if (isa<TensorMemoryOp>(op)) {
      allocated &= kernel.getTmemSlot().has_value();
    }
  });
  return allocated;
}

void mx::mxgpu::byElected(NVVMBuilder &builder,
                          llvm::function_ref<void()> body) {
  auto ifOp =
      scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

namespace {

/// Whether the tensor core fills or empties the stages: its accesses have an
/// order of their own (PTX ISA, tcgen05.fence).
bool isOfTensorCore(RingType type) {
  return type.getProducer() == AsyncKind::Mma ||
         type.getConsumer() == AsyncKind::Mma;
}

/// Whether asynchronous copies fill the stages, or answers that arrive like
/// copies.
bool isWrittenByCopies(RingType type) {
  return llvm::is_contained({AsyncKind::Tma, AsyncKind::Clc},
                            type.getProducer());
}

void onLeader(NVVMBuilder &builder, llvm::function_ref<void()> body) {
  auto ifOp =
      scf::IfOp::create(builder, builder.isLeader(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// The kernel's tensor memory, the same for all roles.
Value getTensorMemory(KernelOp kernel) {
  for (auto known : kernel.getBody().getOps<TensorMemoryOp>())
    return known;
  auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  return TensorMemoryOp::create(builder, kernel.getLoc());
}

/// How one role uses the stages of one ring with barriers, as its producer or
/// as its consumer. All its acquires take the stages in turn.
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
    auto isTake = [&](Operation *op) {
      return (isProducer ? isa<ProducerAcquireOp>(op)
                         : isa<ConsumerWaitOp>(op)) &&
             op->getOperand(0) == ring;
    };
    auto afterTake = [&](Operation *take, ValueRange at) {
      return lowerTake(take, at);
    };
    FailureOr<SmallVector<Value>> last =
        carryThrough(body, start, {isTake, afterTake});
    if (failed(last))
      return failure();
    // No arrival may still be under way when the CTA ends.
    if (isProducer && type.getConsumer() == AsyncKind::Mma)
      waitForAll(*last);
    return success();
  }

private:
  SmallVector<Value> advance(ValueRange at) {
    return AdvanceOp::create(builder, at[0], at[1], first, end)->getResults();
  }

  /// Waits for the stage as its producer or as its consumer.
  void wait(ValueRange at) {
    Value awaited = at[0], parity = at[1];
    if (isProducer && type.getOverlap()) {
      // The previous stage, the other one of two, must be released: in this
      // round if this is stage 1, in the round before if it is stage 0. Its
      // columns that are not shared were read before those of this stage.
      Value number = StageNumberOp::create(builder, awaited);
      awaited = OtherStageOp::create(builder, awaited);
      parity = arith::XOrIOp::create(builder, parity, number);
    }
    auto waitNow = [&] {
      auto barriers = StageBarriersOp::create(builder, ring, awaited);
      WaitOp::create(builder,
                     isProducer ? barriers.getEmpty() : barriers.getFull(),
                     parity, type.isPair());
    };
    // Only the leader fills stages of both CTAs, when both have emptied them.
    if (type.isPair() && isProducer && type.getProducer() == AsyncKind::Clc)
      onLeader(builder, waitNow);
    else
      waitNow();
  }

  /// The barrier whose phase completes when bulk copies have filled the stage:
  /// of a pair, the leader's.
  Value getFilledBarrier(StageBarriersOp barriers) {
    Value full = barriers.getFull();
    return type.isPair() ? LeaderBarrierOp::create(builder, full) : full;
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
        load.getStageMutable().assign(filled);
    for (Operation *give : gives)
      lowerGive(give, at[0]);
    replaceTake(take, at[0], buffers);
    return next;
  }

  /// At each use: columns are cheap to compute, and a role that holds
  /// accumulators has no registers to keep them.
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
    buffers.assign(views.begin(), views.end());
  }

  void prepareToFill(Value stage) {
    switch (type.getProducer()) {
    case AsyncKind::Tma: {
      // The arrival that goes with the bytes of all copies; before any of them,
      // so that the count can only fall to zero when all are in. Each CTA of a
      // pair announces what arrives in its own memory.
      filled = getFilledBarrier(StageBarriersOp::create(builder, ring, stage));
      expect(filled);
      break;
    }
    case AsyncKind::Clc:
      // In a pair each CTA at its own barrier, before or after the answer.
      expect(StageBarriersOp::create(builder, ring, stage).getFull());
      break;
    case AsyncKind::Mma:
      builder.fenceAfterSync();
      break;
    case AsyncKind::Threads:
    case AsyncKind::TmaStore:
    case AsyncKind::AtomicCounter:
    case AsyncKind::Groups:
    case AsyncKind::Roles:
      break;
    }
  }

  void arrive(Value barrier) {
    ArriveOp::create(builder, barrier, /*bytes=*/IntegerAttr());
  }

  void expect(Value barrier) {
    ArriveOp::create(builder, barrier,
                     builder.getI64IntegerAttr(type.getTransactionBytes()));
  }

  void lowerGive(Operation *give, Value stage) {
    builder.setInsertionPoint(give);
    builder.setLoc(give->getLoc());
    if (auto commit = dyn_cast<ProducerCommitOp>(give))
      lowerCommit(commit, stage);
    else
      lowerRelease(stage);
    give->erase();
  }

  void lowerCommit(ProducerCommitOp commit, Value stage) {
    if (type.getProducer() == AsyncKind::Tma)
      return; // the copies themselves complete the phase
    Value full = StageBarriersOp::create(builder, ring, stage).getFull();
    switch (type.getProducer()) {
    case AsyncKind::Mma:
      commitOrArrive(full, commit.getEmpty());
      break;
    case AsyncKind::Threads:
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
    case AsyncKind::Tma:
    case AsyncKind::TmaStore:
    case AsyncKind::Roles:
      break;
    }
  }

  /// If no MMA was issued, there is nothing to commit: arrive explicitly.
  void commitOrArrive(Value barrier, Value empty) {
    bool pair = type.isPair();
    if (!empty) {
      CommitOp::create(builder, barrier, pair);
      return;
    }
    auto ifOp = scf::IfOp::create(builder, empty, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    if (pair)
      ArriveBothOp::create(builder, barrier);
    else
      arrive(barrier);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    CommitOp::create(builder, barrier, pair);
  }

  /// The leader of a pair asks for both.
  void request(Value barrier) {
    auto ask = [&] {
      RequestUnitOp::create(builder, buffers.front(), barrier, type.isPair());
    };
    if (type.isPair())
      onLeader(builder, ask);
    else
      ask();
  }

  void lowerRelease(Value stage) {
    Value empty = StageBarriersOp::create(builder, ring, stage).getEmpty();
    // The tensor core tells both CTAs of a pair; threads tell the leader.
    if (type.getConsumer() == AsyncKind::Mma) {
      CommitOp::create(builder, empty, type.isPair());
      return;
    }
    if (isOfTensorCore(type))
      builder.fenceBeforeSync();
    else if (isWrittenByCopies(type))
      builder.fenceAsyncShared(); // what was read is written by the next one
    if (type.isPair())
      empty = LeaderBarrierOp::create(builder, empty);
    arriveByRole(empty);
  }

  /// The role arrives, by as many threads as getArrivals says.
  void arriveByRole(Value barrier) {
    constexpr int64_t warp = mx::target::kWarpSize;
    if (role.getElected() || getArrivals(type, warp) == warp) {
      arrive(barrier);
      return;
    }
    // One lane arrives when all of its warp are done: a barrier of the pair is
    // then told 8 times, not 256.
    builder.syncWarp();
    auto ifOp =
        scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    arrive(barrier);
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
  /// The views of the last acquired stage, and the barrier of its copies.
  SmallVector<Value> buffers;
  Value filled;
};

/// Arrivals that fill a stage: those of the threads that fill it, or one for
/// each CTA of a pair, which announces its bytes.
int64_t getFillingArrivals(RingType type) {
  if (type.getProducer() == AsyncKind::Threads)
    return getArrivals(type, type.getProducerThreads());
  return type.isPair() && type.getProducer() == AsyncKind::Tma ? 2 : 1;
}

/// Arrivals that empty a stage in one CTA.
struct EmptyingArrivals {
  int64_t leader = 1;
  /// Of the other one of a pair, if they differ.
  std::optional<int64_t> other;

  /// Of the roles that empty them, of both CTAs of a pair unless the role is
  /// the leader's. Stages of one CTA of a pair are emptied by its own roles
  /// only.
  static EmptyingArrivals get(RingOp ring) {
    RingType type = ring.getType();
    if (type.getConsumer() != AsyncKind::Threads &&
        type.getConsumer() != AsyncKind::Roles)
      return {};
    int64_t arrivals = 0, ofLeader = 0;
    for (Operation *user : ring->getUsers())
      if (isa<ConsumerWaitOp>(user)) {
        RoleOp role = getRole(user);
        int64_t threads =
            role.getElected() ? 1 : role.getWarps() * mx::target::kWarpSize;
        int64_t ofRole = getArrivals(type, threads);
        arrivals += ofRole * (type.isPair() && !role.getOnLeader() ? 2 : 1);
        if (!type.isPair() && role.getOnLeader())
          ofLeader += ofRole;
      }
    if (!ofLeader)
      return {arrivals, {}};
    return {arrivals, arrivals - ofLeader};
  }
};

/// Buffers for scales in tensor memory, which stages use in turn.
LogicalResult numberPlaces(CopyScalesOp copy) {
  NVVMBuilder builder(copy.getLoc(), copy.getContext());
  Block &body = getRole(copy).getBody().front();
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> start = {builder.i32(0)};
  auto isCopy = [&](Operation *op) { return op == copy; };
  auto afterCopy = [&](Operation *, ValueRange at) -> SmallVector<Value> {
    builder.setInsertionPoint(copy);
    copy.getPlaceMutable().assign(at[0]);
    Value next = builder.add(at[0], builder.i32(1));
    Value wraps = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, next,
                                        builder.i32(copy.getStages()));
    return {arith::SelectOp::create(builder, wraps, builder.i32(0), next)};
  };
  return carryThrough(body, start, {isCopy, afterCopy});
}

struct LowerRingsPass final
    : mx::mxgpu::impl::LowerRingsPassBase<LowerRingsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(lower(kernel)))
        return signalPassFailure();
  }

  /// A role that acquires stages of a ring, as its producer or consumer.
  using Side = std::tuple<RoleOp, RingOp, unsigned>;

  static LogicalResult lower(KernelOp kernel) {
    if (!isAllocated(kernel))
      return kernel.emitOpError("expected an allocated kernel: run "
                                "mxgpu-allocate first");
    if (failed(verifyLowered<ForEachWorkTileOp, ForEachKOp>(
            kernel, "rings are: run mxgpu-lower-work first")))
      return failure();
    for (auto ring : kernel.getBody().getOps<RingOp>())
      if (failed(initBarriers(ring)))
        return failure();
    llvm::SetVector<Side> sides;
    SmallVector<CopyScalesOp> copies;
    kernel.walk([&](Operation *op) {
      if (isa<ProducerAcquireOp, ConsumerWaitOp>(op))
        sides.insert({getRole(op), op->getOperand(0).getDefiningOp<RingOp>(),
                      isa<ProducerAcquireOp>(op)});
      else if (auto copy = dyn_cast<CopyScalesOp>(op))
        copies.push_back(copy);
    });
    for (auto [role, ring, isProducer] : sides)
      if (failed(ring.getType().isStaging()
                     ? lowerStaging(ring, role)
                     : RoleAndRing(ring, role, isProducer).lower()))
        return failure();
    for (CopyScalesOp copy : copies) {
      copy.getTensorMemoryMutable().assign(getTensorMemory(kernel));
      if (copy.getStages() > 1 && failed(numberPlaces(copy)))
        return failure();
    }
    return success();
  }

  static LogicalResult initBarriers(RingOp ring) {
    if (ring.getType().isStaging())
      return success();
    OpBuilder builder(ring.getContext());
    builder.setInsertionPointAfter(ring);
    auto emptying = EmptyingArrivals::get(ring);
    if (!emptying.leader || emptying.other == 0)
      return ring.emitOpError("expected a role in each CTA that waits for its "
                              "stages and releases them, found none");
    IntegerAttr other;
    if (emptying.other)
      other = builder.getI64IntegerAttr(*emptying.other);
    InitBarriersOp::create(builder, ring.getLoc(), ring,
                           getFillingArrivals(ring.getType()), emptying.leader,
                           other);
    return success();
  }
};

} // namespace
