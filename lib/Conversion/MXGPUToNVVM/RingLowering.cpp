//===- RingLowering.cpp - Slots of rings become barriers and parities -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The only place that touches an mbarrier after set-up. Each slot has two: one
// whose phase completes when the slot is full, one when it is empty. A role
// keeps its next slot and the parity that it will wait for; a producer begins
// with the phase before the first, which is complete from the start (PTX ISA,
// mbarrier.test_wait), so that all slots begin empty.
//
// A slot in shared memory is known by the address at which it starts, so that
// its fields and barriers are constants away; one in tensor memory, or for
// stores (StagingLowering.cpp), by its number.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getArrivals(RingType type, int64_t threads) {
  bool isBetweenThreads = type.getProducer() == Agent::Threads &&
                          type.getConsumer() == Agent::Threads;
  return isBetweenThreads ? threads
                          : llvm::divideCeil(threads, mx::target::kWarpSize);
}

bool mx::mxgpu::isKnownByAddress(RingType type) {
  return type.getSpace() == Space::Smem && !type.isStaging();
}

Type mx::mxgpu::getSlotType(RingType type) {
  MLIRContext *context = type.getContext();
  if (isKnownByAddress(type))
    return LLVM::LLVMPointerType::get(context, 3);
  return IntegerType::get(context, 32);
}

/// What is `offset` bytes from the start of shared memory for the first slot,
/// in this CTA or in the leader of the pair. The constant is added last, where
/// instructions take it as part of the address.
static Value getInSlot(NVVMBuilder &builder, RingOp ring, int64_t offset,
                       Value slot, bool ofLeader = false) {
  Value start;
  if (isKnownByAddress(ring.getType())) {
    start = slot;
    offset -= ring.getOffsets()->front();
  } else {
    start = builder.shared(builder.mul(slot, builder.i32(*ring.getStride())));
  }
  if (ofLeader)
    start = builder.atLeader(start);
  return builder.offset(start, offset);
}

static Value getBarrier(NVVMBuilder &builder, RingOp ring, bool full,
                        Value slot, bool ofLeader = false) {
  int64_t offset =
      *ring.getBarriers() + (full ? 0 : mx::target::kMBarrierBytes);
  return getInSlot(builder, ring, offset, slot, ofLeader);
}

/// The slot with number `index`, as roles keep it.
static Value getSlot(NVVMBuilder &builder, RingOp ring, int64_t index) {
  if (!isKnownByAddress(ring.getType()))
    return builder.i32(index);
  int64_t offset = ring.getOffsets()->front() + index * *ring.getStride();
  return builder.keep(builder.shared(offset));
}

RingState mx::mxgpu::createRingState(NVVMBuilder &builder, RingOp ring,
                                     RoleOp role, bool asProducer) {
  Type slotType = getSlotType(ring.getType());
  RingState state;
  state.slot = builder.variable(slotType);
  state.phase = builder.variable(builder.getI32Type());
  // In the role, so that others do not keep registers for it.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&role.getBody().front());
  state.first = getSlot(builder, ring, 0);
  state.end = getSlot(builder, ring, ring.getType().getStages());
  LLVM::StoreOp::create(builder, state.first, state.slot);
  LLVM::StoreOp::create(builder, builder.i32(asProducer), state.phase);
  return state;
}

Value mx::mxgpu::getFullBarrier(NVVMBuilder &builder, RingOp ring, Value slot) {
  return getBarrier(builder, ring, /*full=*/true, slot,
                    /*ofLeader=*/ring.getType().isPair());
}

/// Steps to the next slot; the parity changes with each round.
static void advance(NVVMBuilder &builder, RingOp ring, RingState state,
                    Value slot, Value phase) {
  Value next = isKnownByAddress(ring.getType())
                   ? builder.offset(slot, *ring.getStride())
                   : builder.add(slot, builder.i32(1));
  Value wraps =
      LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, next, state.end);
  Value wrapped = arith::SelectOp::create(builder, wraps, state.first, next);
  Value flip = arith::ExtUIOp::create(builder, builder.getI32Type(), wraps);
  Value flipped = arith::XOrIOp::create(builder, phase, flip);
  LLVM::StoreOp::create(builder, wrapped, state.slot);
  LLVM::StoreOp::create(builder, flipped, state.phase);
}

/// Waits for the next slot, as producer or as consumer, and steps on.
static Value takeSlot(NVVMBuilder &builder, RingOp ring, RingState state,
                      bool asProducer) {
  Value slot =
      LLVM::LoadOp::create(builder, getSlotType(ring.getType()), state.slot);
  Value phase =
      LLVM::LoadOp::create(builder, builder.getI32Type(), state.phase);
  Value awaited = slot, parity = phase;
  if (asProducer && ring.getType().getOverlap()) {
    // The slot before must be released, the other one of two: in this round if
    // this is slot 1, in the round before if it is slot 0. What it does not
    // share was read before that of this slot was.
    awaited = arith::XOrIOp::create(builder, slot, builder.i32(1));
    parity = arith::XOrIOp::create(builder, phase, slot);
  }
  bool pair = ring.getType().isPair();
  auto wait = [&] {
    builder.wait(getBarrier(builder, ring, /*full=*/!asProducer, awaited),
                 parity, pair);
  };
  if (pair && asProducer && ring.getType().getProducer() == Agent::Clc) {
    // Only the leader fills slots of both CTAs, when both have emptied them.
    auto ifOp =
        scf::IfOp::create(builder, builder.isLeader(), /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    wait();
  } else {
    wait();
  }
  advance(builder, ring, state, slot, phase);
  return slot;
}

void mx::mxgpu::drainRing(NVVMBuilder &builder, RingOp ring, RingState state) {
  Value zero = builder.i32(0);
  Value stages = builder.i32(ring.getType().getStages());
  auto loop = scf::ForOp::create(builder, zero, stages, builder.i32(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  takeSlot(builder, ring, state, /*asProducer=*/true);
}

Value mx::mxgpu::getFieldAddress(NVVMBuilder &builder, RingOp ring,
                                 StringRef field, Value slot) {
  int64_t index = ring.getType().getFieldIndex(field);
  return getInSlot(builder, ring, (*ring.getOffsets())[index], slot);
}

Value mx::mxgpu::getFieldColumn(NVVMBuilder &builder,
                                const KernelContext &kernel, RingOp ring,
                                StringRef field, Value slot) {
  int64_t index = ring.getType().getFieldIndex(field);
  int64_t columns = ring.getType().getBuffers()[index].getShape()[1];
  Value start = builder.add(kernel.tensorMemory,
                            builder.i32((*ring.getOffsets())[index]));
  int64_t step = columns - ring.getType().getOverlap();
  return builder.add(start, builder.mul(slot, builder.i32(step)));
}

/// Whether the tensor core fills or empties the slots: its accesses have an
/// order of their own (PTX ISA, tcgen05.fence).
static bool isOfTensorCore(RingType type) {
  return type.getProducer() == Agent::Mma || type.getConsumer() == Agent::Mma;
}

/// A role arrives, by as many threads as getArrivals says.
static void arriveByRole(NVVMBuilder &builder, Operation *op, RingType type,
                         Value barrier, bool pair) {
  auto arrive = [&] {
    if (pair)
      builder.arriveInCluster(barrier);
    else
      builder.arrive(barrier);
  };
  constexpr int64_t warp = mx::target::kWarpSize;
  if (getRole(op).getElected() || getArrivals(type, warp) == warp)
    return arrive();
  // One lane arrives when all of its warp are done: a barrier of the pair is
  // then told 8 times, not 256.
  builder.syncWarp();
  auto ifOp =
      scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  arrive();
}

namespace {

struct AcquireLowering final : KernelPattern<AcquireOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(AcquireOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    if (ring.getType().isStaging())
      return rewriter.notifyMatchFailure(op, "no barriers: see staging");
    Value slot =
        takeSlot(builder, ring, kernel.getState(op, ring), /*asProducer=*/true);
    switch (ring.getType().getProducer()) {
    case Agent::Tma:
      // The arrival that goes with the bytes of all copies; before any of
      // them, so that the count can only fall to zero when all are in.
      expectBytes(builder, ring.getType(), getFullBarrier(builder, ring, slot));
      break;
    case Agent::Clc:
      // In a pair each CTA at its own barrier, before or after the answer.
      builder.arriveExpectBytes(getBarrier(builder, ring, /*full=*/true, slot),
                                ring.getType().getTransactionBytes());
      break;
    case Agent::Mma:
      builder.fenceAfterSync();
      break;
    case Agent::Threads:
    case Agent::TmaStore:
    case Agent::Tickets:
    case Agent::Groups:
    case Agent::Roles:
      break;
    }
    rewriter.replaceOp(op, slot);
    return success();
  }

  /// Each CTA of a pair announces what arrives in its own memory.
  static void expectBytes(NVVMBuilder &builder, RingType type, Value barrier) {
    if (type.isPair())
      builder.arriveExpectBytesInCluster(barrier, type.getTransactionBytes());
    else
      builder.arriveExpectBytes(barrier, type.getTransactionBytes());
  }
};

struct PublishLowering final : KernelPattern<PublishOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(PublishOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    if (ring.getType().isStaging())
      return rewriter.notifyMatchFailure(op, "no barriers: see staging");
    Value barrier = getBarrier(builder, ring, /*full=*/true, adaptor.getSlot());
    switch (ring.getType().getProducer()) {
    case Agent::Tma:
      break; // the copies themselves complete the phase
    case Agent::Mma:
      commitOrArrive(builder, barrier, adaptor.getEmpty(),
                     ring.getType().isPair());
      break;
    case Agent::Threads:
      arriveByRole(builder, op, ring.getType(), barrier, /*pair=*/false);
      break;
    case Agent::Clc:
      request(builder, ring, adaptor.getSlot(), barrier);
      break;
    case Agent::Tickets:
      drawTicket(builder, ring, adaptor.getSlot());
      builder.arrive(barrier);
      break;
    case Agent::Groups:
      storeNextUnit(builder, op, ring, adaptor.getSlot(), barrier);
      break;
    case Agent::TmaStore:
    case Agent::Roles:
      break;
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// The leader of a pair asks for both.
  static void request(NVVMBuilder &builder, RingOp ring, Value slot,
                      Value barrier) {
    StringRef field = ring.getType().getNames().front();
    Value answer = getFieldAddress(builder, ring, field, slot);
    bool pair = ring.getType().isPair();
    OpBuilder::InsertionGuard guard(builder);
    if (pair) {
      auto ifOp =
          scf::IfOp::create(builder, builder.isLeader(), /*withElse=*/false);
      builder.setInsertionPointToStart(ifOp.thenBlock());
    }
    builder.requestCluster(answer, barrier, /*multicast=*/pair);
  }

  /// All lanes find the unit behind the one of the loop, and one tells of it.
  static void storeNextUnit(NVVMBuilder &builder, PublishOp op, RingOp ring,
                            Value slot, Value barrier) {
    GroupUnit unit = findNextGroupUnit(builder, getWorkSource(ring),
                                       op->getParentOfType<scf::WhileOp>());
    StringRef field = ring.getType().getNames().front();
    Value address = getFieldAddress(builder, ring, field, slot);
    auto ifOp =
        scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    storeGroupUnit(builder, unit, address);
    builder.arrive(barrier);
  }

  /// The work source whose units go by a ring.
  static WorkSourceOp getWorkSource(RingOp ring) {
    for (Operation *user : ring->getUsers())
      if (auto found = dyn_cast<WorkSourceOp>(user))
        return found;
    return {};
  }

  /// The number of a unit, or -1. All CTAs together draw as many tickets as
  /// there are units: those that each of them began without are drawn as the
  /// ones by which each of them ends. The counter then is 0 again.
  static void drawTicket(NVVMBuilder &builder, RingOp ring, Value slot) {
    WorkSourceOp source = getWorkSource(ring);
    Value units = getNumUnits(builder, source);
    Value last = arith::SubIOp::create(builder, units, builder.i32(1));
    Value ticket = builder.drawTicket(
        getGlobalAddress(builder, source.getCounter(), builder.index(0)), last);
    Value unit = builder.add(ticket, builder.ctaCount());
    Value isUnit = builder.isBelow(unit, units);
    Value answer =
        arith::SelectOp::create(builder, isUnit, unit, builder.i32(-1));
    StringRef field = ring.getType().getNames().front();
    builder.storeShared(getFieldAddress(builder, ring, field, slot), answer);
  }

  /// With nothing issued there is nothing to commit: arrive by hand.
  static void commitOrArrive(NVVMBuilder &builder, Value barrier, Value empty,
                             bool pair) {
    if (!empty)
      return builder.commit(barrier, pair);
    auto ifOp = scf::IfOp::create(builder, empty, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    if (pair) {
      builder.arriveAt(barrier, 0);
      builder.arriveAt(barrier, 1);
    } else {
      builder.arrive(barrier);
    }
    builder.setInsertionPointToStart(ifOp.elseBlock());
    builder.commit(barrier, pair);
  }
};

struct ConsumeLowering final : KernelPattern<ConsumeOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ConsumeOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    Value slot = takeSlot(builder, ring, kernel.getState(op, ring),
                          /*asProducer=*/false);
    if (isOfTensorCore(ring.getType()))
      builder.fenceAfterSync();
    rewriter.replaceOp(op, slot);
    return success();
  }
};

/// Whether asynchronous copies fill the slots, or answers that come like them.
bool isWrittenByCopies(RingType type) {
  return llvm::is_contained({Agent::Tma, Agent::Clc}, type.getProducer());
}

struct ReleaseLowering final : KernelPattern<ReleaseOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ReleaseOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    bool pair = ring.getType().isPair();
    // The tensor core tells both CTAs of a pair; threads tell the leader.
    Value barrier =
        getBarrier(builder, ring, /*full=*/false, adaptor.getSlot(),
                   pair && ring.getType().getConsumer() != Agent::Mma);
    switch (ring.getType().getConsumer()) {
    case Agent::Mma:
      builder.commit(barrier, pair);
      break;
    default:
      if (isOfTensorCore(ring.getType()))
        builder.fenceBeforeSync();
      else if (isWrittenByCopies(ring.getType()))
        builder.fenceAsyncShared(); // what was read is written by the next one
      arriveByRole(builder, op, ring.getType(), barrier, pair);
      break;
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateRingPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns
      .add<AcquireLowering, PublishLowering, ConsumeLowering, ReleaseLowering>(
          converter, patterns.getContext(), kernel);
}
