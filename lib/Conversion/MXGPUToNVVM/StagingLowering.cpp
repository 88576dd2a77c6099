//===- StagingLowering.cpp - Results through shared memory to tensors -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A warp writes 32 rows to a slot of its own, and one of its threads starts a
// bulk copy of them. That thread knows by its groups of copies which slots have
// been read (PTX ISA, cp.async.bulk.wait_group: groups end in order), so that
// no barrier in memory is needed. elect.sync names the same thread each time.
//
// The threads of a role can share a slot in the same way: its first thread
// starts the copies, and the role's threads wait for each other before.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

static void byOneThread(NVVMBuilder &builder, llvm::function_ref<void()> body) {
  auto ifOp =
      scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// The role's first thread.
static void byFirstThread(NVVMBuilder &builder, RoleOp role,
                          llvm::function_ref<void()> body) {
  Value first = builder.i32(*role.getFirstWarp() * 32);
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                        builder.threadId(), first);
  auto ifOp = scf::IfOp::create(builder, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// The thread that starts the copies from a slot.
static void byStoringThread(NVVMBuilder &builder, RoleOp role, RingOp ring,
                            llvm::function_ref<void()> body) {
  if (ring.getType().getScope() == Scope::Warp)
    byOneThread(builder, body);
  else
    byFirstThread(builder, role, body);
}

/// All threads that share a slot.
void mx::mxgpu::syncSharers(NVVMBuilder &builder, Operation *op, RingOp ring) {
  if (ring.getType().getScope() == Scope::Warp)
    return builder.syncWarp();
  RoleOp role = getRole(op);
  builder.syncThreads(*role.getBarrier(),
                      role.getWarps() * mx::target::kWarpSize);
}

void mx::mxgpu::drainStores(NVVMBuilder &builder, RingOp ring, RoleOp role) {
  auto wait = [&] { builder.waitStores(0, /*read=*/false); };
  byStoringThread(builder, role, ring, wait);
}

static bool isStaging(RingOp ring) {
  return ring && ring.getType().isStaging();
}

/// That of this warp's stage, or of the role's.
Value mx::mxgpu::getStagedBuffer(NVVMBuilder &builder, Operation *op,
                                 RingOp ring, int64_t offset, Value stage) {
  int64_t stride = *ring.getStride();
  Value start = builder.i32(offset);
  if (ring.getType().getScope() == Scope::Warp) {
    Value inRole = arith::SubIOp::create(
        builder, builder.warpInCta(), builder.i32(*getRole(op).getFirstWarp()));
    start = builder.add(
        builder.mul(inRole,
                    builder.i32(ring.getType().getStages() * stride)),
        start);
  }
  return builder.shared(
      builder.add(start, builder.mul(stage, builder.i32(stride))));
}

namespace {

struct AcquireStagingLowering final : KernelPattern<ProducerAcquireOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ProducerAcquireOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RingOp ring = kernel.rings.lookup(op.getStage());
    if (!isStaging(ring))
      return rewriter.notifyMatchFailure(op, "other threads share the slots");
    NVVMBuilder builder(op.getLoc(), rewriter);
    int64_t stages = ring.getType().getStages();
    byStoringThread(builder, getRole(op), ring,
                    [&] { builder.waitStores(stages - 1, /*read=*/true); });
    syncSharers(builder, op, ring);
    rewriter.replaceOp(op, getStageAndBuffers(builder, kernel, op,
                                              takeSlot(builder, op, ring)));
    return success();
  }

private:
  Value takeSlot(NVVMBuilder &builder, ProducerAcquireOp op, RingOp ring) const {
    int64_t stages = ring.getType().getStages();
    if (stages == 1)
      return builder.i32(0);
    Attribute known = op->getAttr(kSlotInLoop);
    if (auto iteration = dyn_cast_if_present<IntegerAttr>(known))
      return builder.i32(iteration.getInt() % stages);
    if (known) {
      auto loop = cast<scf::ForOp>(op->getParentOp());
      Value done = arith::SubIOp::create(builder, loop.getInductionVar(),
                                         loop.getLowerBound());
      Value iteration = arith::DivUIOp::create(builder, done, loop.getStep());
      return builder.toI32(
          arith::RemUIOp::create(builder, iteration, builder.index(stages)));
    }
    RingState state = kernel.states.lookup({getRole(op), ring});
    Value slot =
        LLVM::LoadOp::create(builder, builder.getI32Type(), state.slot);
    Value next = builder.add(slot, builder.i32(1));
    Value wraps = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, next,
                                        builder.i32(stages));
    LLVM::StoreOp::create(
        builder, arith::SelectOp::create(builder, wraps, builder.i32(0), next),
        state.slot);
    return slot;
  }
};

/// What the copies have started is all there is to give away: as one group.
struct PublishStagingLowering final : KernelPattern<ProducerCommitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ProducerCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RingOp ring = kernel.rings.lookup(op.getStage());
    if (!isStaging(ring))
      return rewriter.notifyMatchFailure(op, "other threads share the slots");
    NVVMBuilder builder(op.getLoc(), rewriter);
    if (ring.getType().getScope() != Scope::Warp)
      byFirstThread(builder, getRole(op), [&] { builder.commitStores(); });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Chunks of 16 bytes change places within 8 rows of the swizzle's length as
/// the bits of their row say (PTX ISA, Swizzling modes): bits 7 and up of the
/// address are added to bits 4 and up, without carry. A warp thereby writes to
/// all banks equally.
struct StoreSharedLowering final : KernelPattern<StoreSharedOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getCoords().empty())
      return rewriter.notifyMatchFailure(op, "a fragment of a tile");
    NVVMBuilder builder(op.getLoc(), rewriter);
    BufferType buffer = op.getBuffer().getType();
    int64_t rowBytes = buffer.getSizeInBytes() / 32;
    int64_t mask = 0;
    if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
      mask = static_cast<int64_t>(buffer.getSwizzle()) - 16;
    Value lane =
        arith::AndIOp::create(builder, builder.threadId(), builder.i32(31));
    Value row = builder.mul(lane, builder.i32(rowBytes));
    Value permutation = arith::AndIOp::create(
        builder, arith::ShRUIOp::create(builder, row, builder.i32(3)),
        builder.i32(mask));
    Value permuted = arith::XOrIOp::create(builder, row, permutation);
    SmallVector<Value> words =
        getWords(builder, op.getValue(), 0, buffer.getShape()[1]);
    for (int64_t chunk = 0; chunk < rowBytes / 16; ++chunk) {
      // The chunk's bits are below those of the row, the slot's multiples of
      // the whole pattern: this part is the same for all slots.
      Value place =
          arith::XOrIOp::create(builder, permuted, builder.i32(chunk * 16));
      builder.storeShared(builder.offset(adaptor.getBuffer(), place),
                          ArrayRef(words).slice(chunk * 4, 4));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Copies from a slot: all that its threads have written is there before the
/// first of them.
template <typename OpT>
struct CopyLowering : KernelPattern<OpT> {
  using KernelPattern<OpT>::KernelPattern;

protected:
  /// `start` starts the copy, as one thread.
  void copy(NVVMBuilder &builder, OpT op, Value condition,
            llvm::function_ref<void()> start) const {
    RingOp ring = this->kernel.rings.lookup(op.getBuffer());
    bool ofWarp = ring.getType().getScope() == Scope::Warp;
    if (ofWarp || this->kernel.firstCopies.contains(op)) {
      builder.fenceAsyncShared();
      syncSharers(builder, op, ring);
    }
    auto startIf = [&] {
      OpBuilder::InsertionGuard guard(builder);
      if (condition)
        builder.setInsertionPointToStart(
            scf::IfOp::create(builder, condition, /*withElse=*/false)
                .thenBlock());
      start();
    };
    if (!ofWarp)
      return byStoringThread(builder, getRole(op), ring, startIf);
    // Without a copy, too: slots are counted by groups of copies.
    byStoringThread(builder, getRole(op), ring, [&] {
      startIf();
      builder.commitStores();
    });
  }
};

struct TmaStoreLowering final : CopyLowering<TmaStoreOp> {
  using CopyLowering::CopyLowering;

  LogicalResult
  matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    SmallVector<Value> coords; // innermost first
    for (Value coord : llvm::reverse(adaptor.getCoords()))
      coords.push_back(builder.toI32(coord));
    int64_t first =
        op.getPart().value_or(0) * op.getMap().getType().getSizeInBytes();
    copy(builder, op, adaptor.getCondition(), [&] {
      builder.storeTensor(builder.offset(adaptor.getBuffer(), first),
                          adaptor.getMap(), coords, op.getAdd());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkStoreLowering final : CopyLowering<BulkStoreOp> {
  using CopyLowering::CopyLowering;

  LogicalResult
  matchAndRewrite(BulkStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getDest().getType());
    // Elements before it, by Horner's rule over the dimensions.
    Value position = builder.index(0);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      position = builder.mul(position,
                             memref::DimOp::create(builder, op.getDest(), dim));
      if (static_cast<size_t>(dim) < adaptor.getCoords().size())
        position = builder.add(position, adaptor.getCoords()[dim]);
    }
    Value bytes =
        builder.mul(position, builder.index(type.getElementTypeBitWidth() / 8));
    Value start = arith::IndexCastOp::create(
        builder, builder.getI64Type(),
        memref::ExtractAlignedPointerAsIndexOp::create(builder, op.getDest()));
    Value address = builder.add(
        start,
        arith::IndexCastOp::create(builder, builder.getI64Type(), bytes));
    BufferType buffer = op.getBuffer().getType();
    int64_t size = buffer.getSizeInBytes();
    if (op.getPart())
      size /= ShapedType::getNumElements(buffer.getShape().drop_back());
    int64_t first = op.getPart().value_or(0) * size;
    copy(builder, op, adaptor.getCondition(), [&] {
      builder.storeBulk(builder.offset(adaptor.getBuffer(), first), address,
                        size);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateStagingPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        KernelContext &kernel) {
  patterns.add<AcquireStagingLowering, PublishStagingLowering,
               StoreSharedLowering, TmaStoreLowering, BulkStoreLowering>(
      converter, patterns.getContext(), kernel);
}
