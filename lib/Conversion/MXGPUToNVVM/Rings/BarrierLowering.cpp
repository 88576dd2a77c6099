//===- BarrierLowering.cpp - Lowering of stages and barriers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles identify a stage in shared memory by its start address, so its buffers
// and barriers are at constant offsets. They identify a stage in tensor memory
// or a stage for bulk stores by its number.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUSIMPLIFYBARRIERS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Redundant fences, waits and arrivals
//===----------------------------------------------------------------------===//

// If a block contains two operations of the same kind without a memory access
// between them, the second is redundant.

/// Returns true for idempotent fences.
static bool isFence(Operation *op) {
  return isa<NVVM::FenceProxyOp, NVVM::Tcgen05FenceOp>(op);
}

/// Returns true if `later` is redundant after `earlier` without a memory access
/// between them.
static bool isRedundant(Operation *earlier, Operation *later) {
  if (!isFence(later) && !isa<WaitOp>(later))
    return false;
  return OperationEquivalence::isEquivalentTo(
      earlier, later, OperationEquivalence::IgnoreLocations);
}

/// Merges two arrivals at the same barrier into `later`.
static bool merge(Operation *earlier, Operation *later) {
  auto first = dyn_cast<ArriveOp>(earlier), second = dyn_cast<ArriveOp>(later);
  if (!first || !second || first.getBarrier() != second.getBarrier() ||
      first.getBytes() || second.getBytes() || first.getBoth() ||
      second.getBoth())
    return false;
  second.setCount(first.getCount() + second.getCount());
  first.erase();
  return true;
}

static void simplify(Block &block) {
  Operation *last = nullptr; // last operation with a memory access
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.getNumRegions()) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          simplify(inner);
      last = nullptr;
      continue;
    }
    if (isMemoryEffectFree(&op))
      continue;
    if (last && isRedundant(last, &op)) {
      op.erase();
      continue;
    }
    if (last)
      merge(last, &op);
    last = &op;
  }
}

namespace {
struct SimplifyBarriersPass final
    : mx::mxgpu::impl::MXGPUSimplifyBarriersBase<SimplifyBarriersPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (Block &block : kernel.getBody())
        simplify(block);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Returns true if roles identify a stage by its start address, and false if
/// they identify the stage by its number.
static bool isKnownByAddress(RingType type) {
  return type.getSpace() == Space::Smem && !type.isStaging();
}

Type mx::mxgpu::convertStageType(StageType type) {
  MLIRContext *context = type.getContext();
  if (isKnownByAddress(type.getRing()))
    return LLVM::LLVMPointerType::get(context, 3);
  return IntegerType::get(context, 32);
}

/// Returns the address in `stage` that corresponds to `offset` in the first
/// stage. The constant offset is added last, so it becomes an immediate
/// operand.
static Value getInStage(NVVMBuilder &builder, PlacedRingOp ring, int64_t offset,
                        Value stage) {
  if (isKnownByAddress(ring.getType()))
    return builder.offset(stage, offset - ring.getOffsets().front());
  return builder.offset(
      builder.shared(builder.mul(stage, builder.i32(ring.getStride()))),
      offset);
}

/// Rematerializes an address at its use, to make its offset an immediate.
static Value atUse(NVVMBuilder &builder, Value pointer) {
  auto [stage, offset] = splitOffset(pointer);
  return builder.offset(stage, offset);
}

static Values lowerGetStage(NVVMBuilder &builder, GetStageOp op,
                            GetStageOp::Adaptor) {
  auto ring = op.getRing().getDefiningOp<PlacedRingOp>();
  int64_t number = op.getNumber();
  if (!isKnownByAddress(ring.getType())) {
    return {builder.i32(number)};
  }
  int64_t offset = ring.getOffsets().front() + number * ring.getStride();
  return {builder.keep(builder.shared(offset))};
}

/// Returns the distance in bytes between stages of the ring.
static int64_t getStride(AdvanceOp op) {
  return op.getFirst()
      .getDefiningOp<GetStageOp>()
      .getRing()
      .getDefiningOp<PlacedRingOp>()
      .getStride();
}

/// Advances to the next stage. The parity flips when the last stage wraps to
/// the first.
static Values lowerAdvance(NVVMBuilder &builder, AdvanceOp op,
                           AdvanceOp::Adaptor adaptor) {
  Value stage = adaptor.getStage();
  Value next;
  if (isKnownByAddress(op.getStage().getType().getRing()))
    next = builder.offset(stage, getStride(op));
  else
    next = builder.add(stage, builder.i32(1));
  Value wraps = LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, next,
                                     adaptor.getEnd());
  Value wrapped =
      arith::SelectOp::create(builder, wraps, adaptor.getFirst(), next);
  Value flip = arith::ExtUIOp::create(builder, builder.getI32Type(), wraps);
  Value flipped = arith::XOrIOp::create(builder, adaptor.getParity(), flip);
  return {wrapped, flipped};
}

/// Returns to the previous of two stages. The predecessor of stage 0 is stage 1
/// of the previous round.
static Values lowerPreviousStage(NVVMBuilder &builder, PreviousStageOp,
                                 PreviousStageOp::Adaptor adaptor) {
  Value stage = adaptor.getStage();
  Value previous = arith::XOrIOp::create(builder, stage, builder.i32(1));
  Value parity = arith::XOrIOp::create(builder, adaptor.getParity(), stage);
  return {previous, parity};
}

static Values lowerNextStage(NVVMBuilder &builder, NextStageOp op,
                             NextStageOp::Adaptor adaptor) {
  Value next = builder.add(adaptor.getStage(), builder.i32(1));
  Value end = builder.i32(op.getType().getRing().getStages());
  Value wraps =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, next, end);
  return {arith::SelectOp::create(builder, wraps, builder.i32(0), next)};
}

static Value getColumn(NVVMBuilder &builder, PlacedRingOp ring, int64_t offset,
                       BufferType buffer, StageBuffersOp::Adaptor adaptor) {
  Value start = builder.add(adaptor.getTensorMemory(), builder.i32(offset));
  int64_t step = buffer.getShape()[1] - ring.getType().getOverlap();
  return builder.add(start, builder.mul(adaptor.getStage(), builder.i32(step)));
}

/// Returns the address of a buffer in a staging ring. If each warp owns stages,
/// the stages of a warp follow the stages of earlier warps.
static Value getStaged(NVVMBuilder &builder, PlacedRingOp ring, int64_t offset,
                       StageBuffersOp::Adaptor adaptor) {
  int64_t stride = ring.getStride();
  Value start = builder.i32(offset);
  if (Value warp = adaptor.getWarp()) {
    int64_t ofWarp = ring.getType().getStages() * stride;
    start = builder.add(builder.mul(warp, builder.i32(ofWarp)), start);
  }
  return builder.shared(
      builder.add(start, builder.mul(adaptor.getStage(), builder.i32(stride))));
}

static Values lowerStageBuffers(NVVMBuilder &builder, StageBuffersOp op,
                                StageBuffersOp::Adaptor adaptor) {
  auto ring = op.getRing().getDefiningOp<PlacedRingOp>();
  SmallVector<Value> views;
  for (auto [offset, buffer] :
       llvm::zip_equal(ring.getOffsets(), ring.getType().getBuffers())) {
    if (buffer.getSpace() == Space::Tmem)
      views.push_back(getColumn(builder, ring, offset, buffer, adaptor));
    else if (ring.getType().isStaging())
      views.push_back(getStaged(builder, ring, offset, adaptor));
    else
      views.push_back(getInStage(builder, ring, offset, adaptor.getStage()));
  }
  return views;
}

/// Returns the start of shared memory plus the stage's index times the distance
/// between the barriers of two stages.
static Value getBehind(NVVMBuilder &builder, PlacedRingOp ring, Value stage) {
  Value first = builder.shared(ring.getOffsets().front());
  Value distance = arith::SubIOp::create(builder, builder.sharedAddress(stage),
                                         builder.sharedAddress(first));
  Value steps = arith::ShRUIOp::create(
      builder, distance, builder.i32(getBarrierShift(ring.getStride())));
  return builder.shared(steps);
}

static Values lowerStageBarriers(NVVMBuilder &builder, StageBarriersOp op,
                                 StageBarriersOp::Adaptor adaptor) {
  auto ring = op.getRing().getDefiningOp<PlacedRingOp>();
  int64_t full = *ring.getBarriers();
  int64_t empty = full + mx::target::kMBarrierBytes;
  if (hasBarriersBehind(ring.getType())) {
    Value place = getBehind(builder, ring, adaptor.getStage());
    return {builder.offset(place, full), builder.offset(place, empty)};
  }
  return {getInStage(builder, ring, full, adaptor.getStage()),
          getInStage(builder, ring, empty, adaptor.getStage())};
}

static Values lowerLeaderBarrier(NVVMBuilder &builder, LeaderBarrierOp,
                                 LeaderBarrierOp::Adaptor adaptor) {
  auto [stage, offset] = splitOffset(adaptor.getBarrier());
  return {builder.offset(builder.atLeader(stage), offset)};
}

static Values lowerWait(NVVMBuilder &builder, WaitOp op,
                        WaitOp::Adaptor adaptor) {
  builder.wait(atUse(builder, adaptor.getBarrier()), adaptor.getParity(),
               op.getPair());
  return {};
}

static Values lowerArrive(NVVMBuilder &builder, ArriveOp op,
                          ArriveOp::Adaptor adaptor) {
  if (op.getBoth()) {
    for (int64_t rank : {0, 1})
      builder.arriveAt(atUse(builder, adaptor.getBarrier()), rank,
                       /*isOrdered=*/!op.getOfAsync());
    return {};
  }
  bool ofPair = op.getBarrier().getType().getScope() == Scope::Pair;
  Value barrier = atUse(builder, adaptor.getBarrier());
  if (std::optional<int64_t> bytes = op.getBytes())
    ofPair ? builder.arriveExpectBytesInCluster(barrier, *bytes)
           : builder.arriveExpectBytes(barrier, *bytes);
  else
    ofPair ? builder.arriveInCluster(barrier, op.getCount())
           : builder.arrive(barrier, op.getCount());
  return {};
}

static Values lowerCommit(NVVMBuilder &builder, CommitOp op,
                          CommitOp::Adaptor adaptor) {
  builder.commit(atUse(builder, adaptor.getBarrier()), op.getPair());
  return {};
}

static Values lowerRequestWorkTile(NVVMBuilder &builder, RequestWorkTileOp op,
                                   RequestWorkTileOp::Adaptor adaptor) {
  builder.requestCluster(adaptor.getBuffer(),
                         atUse(builder, adaptor.getBarrier()),
                         /*multicast=*/op.getPair());
  return {};
}

void mx::mxgpu::populateBarrierPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter) {
  addPatterns<lowerGetStage, lowerPreviousStage, lowerAdvance, lowerNextStage,
              lowerStageBuffers, forwardOperand<BufferAddressOp>,
              lowerStageBarriers, lowerLeaderBarrier, lowerWait, lowerArrive,
              lowerCommit, lowerRequestWorkTile>(converter, patterns);
}
