//===- WorkOps.cpp - Tile schedulers and loops ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns true if a warp of each CTA computes the work tiles of expert groups
/// (`groups`).
static bool isByExperts(TileSchedulerOp op) {
  return op.getWorkTiles() &&
         cast<RingType>(op.getWorkTiles().getType()).getProducer() ==
             AsyncKind::Groups;
}

static LogicalResult verifyWorkMemory(TileSchedulerOp op) {
  if (Value counter = op.getCounter()) {
    auto type = cast<MemRefType>(counter.getType());
    if (!type.getElementType().isInteger(32) || type.getRank() != 1 ||
        type.getDimSize(0) != 1) // tile_scheduler C6
      return op.emitOpError("expected a counter of type memref<1xi32>, found ")
             << type;
  }
  if (Value offsets = op.getOffsets()) {
    auto type = cast<MemRefType>(offsets.getType());
    if (type.getRank() != 1 || !type.getLayout().isIdentity() ||
        !(type.getElementType().isInteger(32) ||
          type.getElementType().isInteger(64))) // tile_scheduler C7
      return op.emitOpError(
                 "expected offsets of rank 1 with i32 or i64 elements, found ")
             << type;
    if (!isByExperts(op) && !op.getSingle()) // tile_scheduler C8
      return op.emitOpError(
          "'ragged' requires a ring with producer groups, or 'single'");
    // tile_scheduler C9
    if (op.getStride() && (!isByExperts(op) || op.getOverReduction()))
      return op.emitOpError(
          "'stride' requires ragged rows and a ring with producer groups");
    if (op.getSplits()) // tile_scheduler C10
      return op.emitOpError("'ragged' does not support 'split'");
    return success();
  }
  // tile_scheduler C11
  if (op.getOverReduction() || op.getStride() || isByExperts(op))
    return op.emitOpError("expert groups require 'ragged' with offsets");
  return success();
}

LogicalResult TileSchedulerOp::verify() {
  if (getTile().size() != 2) // tile_scheduler C1
    return emitOpError("expected 2 tile sizes, found ") << getTile().size();
  for (int64_t size : getTile()) // tile_scheduler C2
    if (size < 1)
      return emitOpError("expected tile sizes of at least 1, found ") << size;
  // tile_scheduler C3
  if (getSplits().has_value() != getSplitStep().has_value())
    return emitOpError("expected both 'splits' and 'split_step', or neither");
  if (getNumSplits() > kMaxStages) // tile_scheduler C4
    return emitOpError("expected at most ")
           << kMaxStages << " splits of the reduction, found "
           << getNumSplits();
  if (Value workTiles = getWorkTiles()) {
    if (!workTiles.getDefiningOp<RingOp>()) // shared C4
      return emitOpError("expected a ring defined in the kernel");
    AsyncKind producer = cast<RingType>(workTiles.getType()).getProducer();
    bool isExpected =
        getCounter()
            ? producer == AsyncKind::AtomicCounter
            : llvm::is_contained({AsyncKind::Clc, AsyncKind::Groups}, producer);
    if (!isExpected) // tile_scheduler C5
      return emitOpError("expected a ring with producer ")
             << (getCounter() ? "atomic_counter" : "clc or groups")
             << ", found " << stringifyAsyncKind(producer);
  }
  // tile_scheduler C12
  if (int64_t splits = getClusterSplits(*this);
      splits > 1 && (getNumSplits() != splits || getWorkTiles() || getSingle()))
    return emitOpError("expected a static scheduler with ")
           << splits << " splits, as in the kernel, found " << getNumSplits();
  // tile_scheduler C13
  if (getLimit() && (!getSingle() || !getOffsets() || getOverReduction()))
    return emitOpError("'limit' requires 'single' and ragged rows");
  // tile_scheduler C14
  if (getRepeated() &&
      (!getLimit() || getRaster().getOrder() != RasterOrder::Linear))
    return emitOpError("'repeated' requires 'limit' and a linear raster");
  return verifyWorkMemory(*this);
}

static LogicalResult verifyBodyArguments(Operation *op, Region &body,
                                         ArrayRef<Type> types) {
  if (body.getArgumentTypes() != TypeRange(types)) // shared C8
    return op->emitOpError("expected body arguments of types (")
           << types << "), found (" << body.getArgumentTypes() << ")";
  return success();
}

LogicalResult ForEachWorkTileOp::verify() {
  if (!getWork().getDefiningOp<TileSchedulerOp>()) // for_each_work_tile C1
    return emitOpError("expected a tile scheduler defined in the kernel");
  return verifyBodyArguments(
      *this, getBody(), SmallVector<Type>(5, IndexType::get(getContext())));
}

/// Fails unless a loop over work tiles of a ring contains one next_work_tile.
LogicalResult ForEachWorkTileOp::verifyRegions() {
  Value workTiles = getWork().getDefiningOp<TileSchedulerOp>().getWorkTiles();
  NextWorkTileOp found;
  for (auto next : getBody().getOps<NextWorkTileOp>()) {
    if (!workTiles) // next_work_tile C1
      return next.emitOpError("expected a tile scheduler with a ring, found a "
                              "static tile scheduler");
    if (found) // next_work_tile C2
      return next.emitOpError(
          "expected one mxgpu.next_work_tile in the loop, found a second");
    found = next;
    auto wait = next.getBuffer().getDefiningOp<ConsumerWaitOp>();
    if (wait.getRing() != workTiles) // next_work_tile C3
      return next.emitOpError("expected a buffer of the tile scheduler's ring");
    if (wait->getBlock() != next->getBlock()) // next_work_tile C4
      return next.emitOpError("expected mxgpu.consumer_wait in the same block");
  }
  if (workTiles && !found) // for_each_work_tile C2
    return emitOpError(
        "expected mxgpu.next_work_tile in the loop body, found none");
  return success();
}

LogicalResult NextWorkTileOp::verify() {
  // next_work_tile C5
  if (!isa_and_present<ForEachWorkTileOp>((*this)->getParentOp()))
    return emitOpError(
        "expected to be in the body of mxgpu.for_each_work_tile");
  if (!getBuffer().getDefiningOp<ConsumerWaitOp>()) // next_work_tile C6
    return emitOpError("expected a buffer of mxgpu.consumer_wait");
  return success();
}

LogicalResult ForEachKOp::verify() {
  Builder builder(getContext());
  Type index = builder.getIndexType();
  SmallVector<Type> types = {index, index, builder.getI1Type()};
  llvm::append_range(types, getInits().getTypes());
  if (failed(verifyBodyArguments(*this, getBody(), types)))
    return failure();
  for (Type type : getInits().getTypes()) // for_each_k C1
    if (isa<StageType, BufferType>(type))
      return emitOpError("expected values that loops can carry, found ")
             << type;
  if (getResultTypes() != getInits().getTypes()) // for_each_k C2
    return emitOpError("expected results of types (")
           << getInits().getTypes() << "), found (" << getResultTypes() << ")";
  // A later verifier rejects other terminators.
  auto yield = dyn_cast<mxgpu::YieldOp>(getBody().front().back());
  // yield C1
  if (yield && yield.getValues().getTypes() != getInits().getTypes())
    return yield.emitOpError("expected values of types (")
           << getInits().getTypes() << "), found ("
           << yield.getValues().getTypes() << ")";
  return success();
}

SmallVector<Region *> ForEachWorkTileOp::getLoopRegions() {
  return {&getBody()};
}

SmallVector<Region *> ForEachKOp::getLoopRegions() { return {&getBody()}; }

Block::BlockArgListType ForEachKOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front(3);
}

std::optional<MutableArrayRef<OpOperand>>
ForEachKOp::getYieldedValuesMutable() {
  return getYield().getValuesMutable();
}

std::optional<ResultRange> ForEachKOp::getLoopResults() { return getResults(); }

void mxgpu::YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult mxgpu::YieldOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return success(); // for_each_k compares the types
  // yield C2
  if (getNumOperands() != 1 || !getOperand(0).getType().isInteger(1))
    return emitOpError("expected a condition of type i1 in a kernel");
  // yield C3
  if (kernel.getClusterSize() > 1 || kernel.getLaunchRegisters())
    return emitOpError("expected a kernel without clusters and divided "
                       "registers");
  return success();
}

mxgpu::YieldOp ForEachKOp::getYield() {
  return cast<mxgpu::YieldOp>(getBody().front().getTerminator());
}
