//===- LowerRings.cpp - Lowering of rings to barriers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places rings, scales and partial accumulators in memory, and counts the
// arrivals at the full and empty barriers of each stage. LowerStages.cpp lowers
// each role's operations on stages.
//===----------------------------------------------------------------------===//

#include "LowerRings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERRINGS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Values carried by loops and branches
//===----------------------------------------------------------------------===//

namespace {

/// Adds carried values before existing loop-carried values, as mem2reg does in
/// LLVM. The order of sums depends on this position.
class Carrier {
public:
  Carrier(MLIRContext *context, const Changes &changes)
      : rewriter(context), changes(changes) {}

  FailureOr<SmallVector<Value>> carry(Block &block, ValueRange start) {
    SmallVector<Value> values(start);
    // Collect operations first, because a change may erase later operations.
    SmallVector<Operation *> places;
    for (Operation &op : block)
      if (hasChange(op))
        places.push_back(&op);
    for (Operation *op : places) {
      if (changes.isChange(op)) {
        values = changes.change(op, values);
        continue;
      }
      FailureOr<SmallVector<Value>> after = failure();
      if (auto loop = dyn_cast<scf::ForOp>(op))
        after = carryFor(loop, values);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        after = carryIf(branch, values);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        after = carryWhile(loop, values);
      else
        op->emitOpError("expected scf.for, scf.if or scf.while around an "
                        "operation that acquires a stage");
      if (failed(after))
        return failure();
      values = *after;
    }
    return values;
  }

private:
  bool hasChange(Operation &op) {
    return op
        .walk([&](Operation *inner) {
          return changes.isChange(inner) ? WalkResult::interrupt()
                                         : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Adds the final values of a block to its terminator.
  LogicalResult carryToEnd(Block &block, ValueRange values) {
    FailureOr<SmallVector<Value>> end = carry(block, values);
    if (failed(end))
      return failure();
    Operation *terminator = block.getTerminator();
    terminator->insertOperands(isa<scf::ConditionOp>(terminator), *end);
    return success();
  }

  /// Adds block arguments with the types of `values`, starting at number
  /// `first`.
  static ValueRange addArguments(Block &block, unsigned first,
                                 ValueRange values, Location loc) {
    for (auto [i, value] : llvm::enumerate(values))
      block.insertArgument(first + i, value.getType(), loc);
    return block.getArguments().slice(first, values.size());
  }

  /// Moves the regions of `op` to `grown`, with added results.
  void replace(Operation *op, Operation *grown) {
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), grown->getRegions()))
      to.takeBody(from);
    op->replaceAllUsesWith(grown->getResults().take_back(op->getNumResults()));
    op->erase();
  }

  SmallVector<Type> getTypes(Operation *op, ValueRange values) {
    SmallVector<Type> types(values.getTypes());
    llvm::append_range(types, op->getResultTypes());
    return types;
  }

  FailureOr<SmallVector<Value>> carryFor(scf::ForOp loop, ValueRange values) {
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> inits(values);
    llvm::append_range(inits, loop.getInitArgs());
    auto grown =
        scf::ForOp::create(rewriter, loop.getLoc(), loop.getLowerBound(),
                           loop.getUpperBound(), loop.getStep(), inits);
    grown->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    replace(loop, grown);
    Block &body = *grown.getBody();
    ValueRange arguments = addArguments(body, 1, values, grown.getLoc());
    if (failed(carryToEnd(body, arguments)))
      return failure();
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  FailureOr<SmallVector<Value>> carryIf(scf::IfOp branch, ValueRange values) {
    rewriter.setInsertionPoint(branch);
    auto grown = scf::IfOp::create(rewriter, branch.getLoc(),
                                   TypeRange(getTypes(branch, values)),
                                   branch.getCondition(),
                                   /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
    replace(branch, grown);
    if (grown.getElseRegion().empty()) {
      rewriter.createBlock(&grown.getElseRegion());
      scf::YieldOp::create(rewriter, grown.getLoc());
    }
    for (Block *block : {grown.thenBlock(), grown.elseBlock()})
      if (failed(carryToEnd(*block, values)))
        return failure();
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  FailureOr<SmallVector<Value>> carryWhile(scf::WhileOp loop,
                                           ValueRange values) {
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> inits(values);
    llvm::append_range(inits, loop.getInits());
    auto grown = scf::WhileOp::create(rewriter, loop.getLoc(),
                                      TypeRange(getTypes(loop, values)), inits);
    replace(loop, grown);
    for (Region *region : {&grown.getBefore(), &grown.getAfter()}) {
      Block &block = region->front();
      ValueRange arguments = addArguments(block, 0, values, grown.getLoc());
      if (failed(carryToEnd(block, arguments)))
        return failure();
    }
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  IRRewriter rewriter;
  const Changes &changes;
};

} // namespace

FailureOr<SmallVector<Value>> mx::mxgpu::carryThrough(Block &block,
                                                      ValueRange values,
                                                      const Changes &changes) {
  return Carrier(block.getParent()->getContext(), changes).carry(block, values);
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::getArrivals(RingType type, int64_t threads) {
  bool isBetweenThreads = type.getProducer() == AsyncKind::Threads &&
                          type.getConsumer() == AsyncKind::Threads;
  return isBetweenThreads ? threads
                          : llvm::divideCeil(threads, mx::target::kWarpSize);
}

void mx::mxgpu::replaceTake(Operation *take, Value stage, ValueRange buffers) {
  take->getResult(0).replaceAllUsesWith(stage);
  if (!buffers.empty())
    take->getResults().drop_front().replaceAllUsesWith(buffers);
  take->erase();
}

void mx::mxgpu::byElected(NVVMBuilder &builder,
                          llvm::function_ref<void()> body) {
  auto ifOp =
      scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

TensorMemoryOp mx::mxgpu::getTensorMemory(KernelOp kernel) {
  auto memories = kernel.getBody().getOps<TensorMemoryOp>();
  return memories.empty() ? TensorMemoryOp() : *memories.begin();
}

namespace {

/// Returns the number of arrivals that fill a stage. Producer threads arrive as
/// getArrivals defines. A bulk copy needs an arrival to announce its bytes.
/// Both CTAs of a pair arrive at the leader's barrier, unless the full barrier
/// of each CTA covers its own stage.
int64_t getFillingArrivals(RingType type) {
  int64_t ctas = type.isPair() && !type.isFilledByBoth() ? 2 : 1;
  if (type.getProducer() == AsyncKind::Threads)
    return ctas * getArrivals(type, type.getProducerThreads());
  return type.getProducer() == AsyncKind::BulkCopy ? ctas : 1;
}

struct EmptyingArrivals {
  int64_t leader = 1;
  /// Number of arrivals in the other CTA of a pair, if different.
  std::optional<int64_t> other;

  /// Counts the arrivals of all consumer roles. A role of a pair's ring counts
  /// twice, except for roles that run only on the leader. Stages of CTA scope
  /// are emptied by roles of the same CTA.
  static EmptyingArrivals get(RingOp ring) {
    RingType type = ring.getType();
    if (!type.isEmptiedByThreads() && type.getConsumer() != AsyncKind::Roles)
      return {};
    llvm::SetVector<RoleOp> roles;
    for (Operation *user : ring->getUsers())
      if (isa<ConsumerWaitOp>(user))
        roles.insert(getRole(user));
    int64_t arrivals = 0, ofLeader = 0;
    for (RoleOp role : roles) {
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

/// Replaces `copy` with a copy to `column` of tensor memory. If several
/// locations follow this column, `place` selects a location.
void lowerCopy(CopyScalesOp copy, int64_t column, Value place) {
  OpBuilder builder(copy);
  auto views = copy.getBuffer().getDefiningOp<StageBuffersOp>();
  Value columns = getTensorMemory(copy->getParentOfType<KernelOp>());
  Value scales = CopyToColumnsOp::create(
      builder, copy.getLoc(), copy.getType(), copy.getBuffer(), columns, place,
      column, views.getRing().getType().isPair());
  copy.replaceAllUsesWith(scales);
  copy.erase();
}

/// Lowers the `copies` of a role that share the columns starting at `column`.
/// Successive copies use the locations in these columns in turn.
LogicalResult lowerCopies(ArrayRef<CopyScalesOp> copies, int64_t column) {
  CopyScalesOp any = copies.front();
  NVVMBuilder builder(any.getLoc(), any.getContext());
  Block &body = getRole(any).getBody().front();
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> start = {builder.i32(0)};
  auto isCopy = [&](Operation *op) {
    return isa<CopyScalesOp>(op) &&
           llvm::is_contained(copies, cast<CopyScalesOp>(op));
  };
  auto afterCopy = [&](Operation *op, ValueRange at) -> SmallVector<Value> {
    auto copy = cast<CopyScalesOp>(op);
    builder.setInsertionPoint(copy);
    Value next = builder.add(at[0], builder.i32(1));
    Value wraps = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, next,
                                        builder.i32(copy.getStages()));
    Value wrapped =
        arith::SelectOp::create(builder, wraps, builder.i32(0), next);
    lowerCopy(copy, column, at[0]);
    return {wrapped};
  };
  return carryThrough(body, start, {isCopy, afterCopy});
}

/// Returns the warp that allocates tensor memory: the first warp of the role
/// that fills this memory.
int64_t getAllocatingWarp(KernelOp kernel) {
  int64_t warp = 0;
  kernel.walk([&](ProducerAcquireOp acquire) {
    if (acquire.getRing().getType().getProducer() == AsyncKind::MmaCommit)
      warp = getRole(acquire).getFirstWarp();
  });
  return warp;
}

struct LowerRingsPass final
    : mx::mxgpu::impl::MXGPULowerRingsBase<LowerRingsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(lower(kernel)))
        return signalPassFailure();
  }

  /// Role, ring, and the role's side of the ring: producer or consumer.
  using Side = std::tuple<RoleOp, RingOp, unsigned>;

  static LogicalResult lower(KernelOp kernel) {
    if (failed(verifyLowered<ForEachWorkTileOp, ForEachKOp>(
            kernel, "rings are: run mxgpu-lower-work first")))
      return failure();
    if (failed(verifyThreadsNamed(kernel)) || failed(getRolesByWarp(kernel)))
      return failure();
    KernelMemory memory = placeMemory(kernel);
    WalkResult copied = kernel.walk([&](CopyScalesOp copy) {
      if (memory.columns.contains(copy))
        return WalkResult::advance();
      copy.emitOpError("expected a buffer of mxgpu.consumer_wait");
      return WalkResult::interrupt();
    });
    if (copied.wasInterrupted())
      return failure();
    auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    if (memory.layout.tmemSlot)
      TensorMemoryOp::create(
          builder, kernel.getLoc(), builder.getI32Type(),
          mx::target::tmemAllocationColumns(
              static_cast<unsigned>(memory.layout.tmem.getUsed())),
          *memory.layout.tmemSlot, getAllocatingWarp(kernel));
    SmallVector<RingOp> rings(kernel.getBody().getOps<RingOp>());
    SmallVector<PlacedRingOp> placed;
    for (auto [ring, at] : llvm::zip_equal(rings, memory.layout.rings)) {
      FailureOr<PlacedRingOp> result = place(ring, at);
      if (failed(result))
        return failure();
      placed.push_back(*result);
    }
    if (failed(lowerSides(kernel)) || failed(lowerScales(kernel, memory)))
      return failure();
    kernel.walk([&](AddPartialsOp add) {
      builder.setInsertionPoint(add);
      Value added = ExchangePartialsOp::create(
          builder, add.getLoc(), add.getType(), add.getAccumulator(),
          add.getThread(), add.getDistributed(), memory.layout.partials);
      add.replaceAllUsesWith(added);
      add.erase();
    });
    for (auto [ring, result] : llvm::zip_equal(rings, placed)) {
      ring.replaceAllUsesWith(result.getResult());
      ring.erase();
    }
    return success();
  }

  static LogicalResult lowerSides(KernelOp kernel) {
    llvm::SetVector<Side> sides;
    kernel.walk([&](Operation *op) {
      if (isa<ProducerAcquireOp, ConsumerWaitOp>(op))
        sides.insert({getRole(op), op->getOperand(0).getDefiningOp<RingOp>(),
                      isa<ProducerAcquireOp>(op)});
    });
    for (auto [role, ring, isProducer] : sides)
      if (failed(ring.getType().isStaging()
                     ? lowerStaging(ring, role)
                     : lowerStages(ring, role, isProducer)))
        return failure();
    return success();
  }

  /// Lowers the copies of scales. A role's copies to the same columns share
  /// locations.
  static LogicalResult lowerScales(KernelOp kernel,
                                   const KernelMemory &memory) {
    llvm::MapVector<std::pair<RoleOp, int64_t>, SmallVector<CopyScalesOp>>
        ofPlaces;
    kernel.walk([&](CopyScalesOp copy) {
      int64_t column = memory.columns.lookup(copy);
      if (copy.getStages() > 1)
        ofPlaces[{getRole(copy), column}].push_back(copy);
      else
        lowerCopy(copy, column, /*place=*/Value());
    });
    for (auto &[place, sharing] : ofPlaces)
      if (failed(lowerCopies(sharing, place.second)))
        return failure();
    return success();
  }

  /// Fails if an access lacks its thread number, because the number can only be
  /// added while roles exist.
  static LogicalResult verifyThreadsNamed(KernelOp kernel) {
    WalkResult result = kernel.walk([](Operation *op) {
      bool isNamed = llvm::TypeSwitch<Operation *, bool>(op)
                         .Case<LoadFragmentOp, LoadFragmentScalesOp>(
                             [](auto load) { return bool(load.getThread()); })
                         .Case<StoreSharedOp>([](StoreSharedOp store) {
                           return !store.isOfRole() || store.getThread();
                         })
                         .Default(true);
      if (isNamed)
        return WalkResult::advance();
      op->emitOpError("expected the thread number as an operand before rings "
                      "are lowered: run mxgpu-lower-coordinates first");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Creates the placed ring with the arrival counts of its barriers.
  static FailureOr<PlacedRingOp> place(RingOp ring, const RingPlace &at) {
    OpBuilder builder(ring);
    IntegerAttr barriers, full, empty, otherEmpty;
    if (!ring.getType().isStaging()) {
      auto emptying = EmptyingArrivals::get(ring);
      if (!emptying.leader || emptying.other == 0)
        return ring.emitOpError("expected each CTA to run a role that waits "
                                "for the stages and releases them, found none");
      barriers = builder.getI64IntegerAttr(*at.barriers);
      full = builder.getI64IntegerAttr(getFillingArrivals(ring.getType()));
      empty = builder.getI64IntegerAttr(emptying.leader);
      if (emptying.other)
        otherEmpty = builder.getI64IntegerAttr(*emptying.other);
    }
    return PlacedRingOp::create(builder, ring.getLoc(), ring.getType(),
                                ring.getNameAttr(),
                                builder.getDenseI64ArrayAttr(at.offsets),
                                builder.getI64IntegerAttr(at.stride), barriers,
                                full, empty, otherEmpty);
  }
};

} // namespace
