//===- LowerRings.cpp - Lowering of rings to barriers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Places rings, scales and partial accumulators, and counts the arrivals at the
// full and empty barriers of each stage. LowerStages.cpp lowers the uses of
// stages by roles.
//
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

/// Adds carried values before existing loop-carried values, as LLVM's promotion
/// of variables does; the order of sums depends on it.
class Carrier {
public:
  Carrier(MLIRContext *context, const Changes &changes)
      : rewriter(context), changes(changes) {}

  FailureOr<SmallVector<Value>> carry(Block &block, ValueRange start) {
    SmallVector<Value> values(start);
    // Collected first, because a change erases operations that follow it.
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
        op->emitOpError("expected scf.for, scf.if or scf.while around what "
                        "takes a stage");
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

  /// Adds block arguments with the types of `values`, from number `first` on.
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

/// Returns the arrivals that fill a stage: of all producer threads, or an
/// arrival that announces bytes, from each CTA of a pair.
int64_t getFillingArrivals(RingType type) {
  int64_t ctas = type.isPair() && !type.isFilledByBoth() ? 2 : 1;
  if (type.getProducer() == AsyncKind::Threads)
    return ctas * getArrivals(type, type.getProducerThreads());
  return type.getProducer() == AsyncKind::BulkCopy ? ctas : 1;
}

/// Arrivals that empty a stage.
struct EmptyingArrivals {
  int64_t leader = 1;
  /// Arrivals in the other CTA of a pair, if different.
  std::optional<int64_t> other;

  /// Counts the consumer roles, in both CTAs of a pair except for roles of the
  /// leader. Stages of CTA scope are emptied by roles of the same CTA.
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

/// Replaces `copy` by a copy to `column` of tensor memory, or to location
/// `place` of several.
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

/// Lowers `copies` of a role with shared columns from `column` on. The consumed
/// stages use the locations in turn.
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

/// Returns the allocating warp, the first of the role that fills tensor memory.
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

  /// Role that acquires stages of a ring, as producer or consumer.
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

  /// Copies of a role to the same columns share locations.
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

  /// Fails unless stores and threads of roles are resolved, which is only
  /// possible while rings and roles exist.
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
      op->emitOpError("expected the number of the thread before rings are "
                      "lowered: run mxgpu-lower-coordinates first");
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
        return ring.emitOpError("expected a role in each CTA that waits for "
                                "its stages and releases them, found none");
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
