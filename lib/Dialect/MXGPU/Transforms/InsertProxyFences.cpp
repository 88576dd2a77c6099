//===- InsertProxyFences.cpp - Fences between generic and async proxy -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads access shared memory through the generic proxy. Copies and matrix
// instructions use the async proxy. Barriers do not order accesses of different
// proxies (PTX ISA, Async proxy), so a stage that both proxies access needs a
// fence before its commit or release.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUINSERTPROXYFENCES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

/// Returns true if `op` accesses buffers through the async proxy.
bool isAsync(Operation *op) {
  return isa<TmaLoadOp, MmaOp, CopyScalesOp, TmaStoreOp, BulkStoreOp>(op);
}

/// Returns true if threads access a buffer of the stage by `user`.
bool isByThreads(Operation *user) {
  return !isa<ProducerCommitOp, ConsumerReleaseOp>(user) && !isAsync(user);
}

bool isUsedAsync(Operation *take) {
  return llvm::any_of(take->getUsers(), isAsync);
}

bool isUsedByThreads(Operation *take) {
  return llvm::any_of(take->getUsers(), isByThreads);
}

/// Returns true if the reads that `op` depends on complete before `give`, by
/// MMAs or stores that use all its results. One use of a `scalar` suffices,
/// also in arithmetic on the result of an MMA that another MMA overwrites.
bool isUsedBefore(Operation *op, Operation *give, bool scalar = false) {
  Operation *use = give->getBlock()->findAncestorOpInBlock(*op);
  if (!use || !use->isBeforeInBlock(give))
    return false;
  if (isa<MmaOp, StoreSharedOp>(op))
    return true;
  if (scalar && isa<MmaWaitOp>(op))
    for (; use != give; use = use->getNextNode())
      if (isa<MmaOp>(use))
        return true;
  if (op->use_empty())
    return false;
  scalar |= op->getResult(0).getType().isFloat();
  auto isUsed = [&](Operation *user) {
    return isUsedBefore(user, give, scalar);
  };
  return scalar ? llvm::any_of(op->getUsers(), isUsed)
                : llvm::all_of(op->getUsers(), isUsed);
}

/// Returns true if all reads of the stage by threads complete before `give`.
bool isReadBefore(Operation *take, Operation *give) {
  return llvm::all_of(take->getUsers(), [&](Operation *user) {
    return !isByThreads(user) || isUsedBefore(user, give);
  });
}

/// Returns the first wait for MMAs after all reads of the stage, so that the
/// MMAs hide the latency of the fence, or `release` if there is none.
Operation *getPlaceOfFence(Operation *take, Operation *release) {
  Operation *place = release;
  for (Operation *op = release->getPrevNode(); op; op = op->getPrevNode()) {
    if (llvm::any_of(take->getUsers(), [&](Operation *user) {
          return isByThreads(user) && op->isAncestor(user);
        }))
      break;
    if (isa<MmaWaitOp>(op))
      place = op;
  }
  return place;
}

class RingFences {
public:
  explicit RingFences(RingOp ring)
      : ring(ring), type(ring.getType()),
        builder(ring.getLoc(), ring.getContext()) {}

  void insert() {
    // Tensor memory needs no proxy fence.
    if (type.getSpace() == Space::Tmem)
      return;
    SmallVector<Operation *> users(ring->getUsers());
    bool isReadAsync = false, isWrittenAsync = isAnswer();
    for (Operation *user : users) {
      isReadAsync |= isa<ConsumerWaitOp>(user) && isUsedAsync(user);
      isWrittenAsync |= isa<ProducerAcquireOp>(user) && isUsedAsync(user);
    }
    for (Operation *user : users)
      if (auto acquire = dyn_cast<ProducerAcquireOp>(user)) {
        if (type.isStaging())
          fenceCopies(acquire);
        else if (isReadAsync && isUsedByThreads(acquire))
          fenceWrites(acquire);
      } else if (auto wait = dyn_cast<ConsumerWaitOp>(user);
                 wait && isWrittenAsync && isUsedByThreads(wait)) {
        fenceReads(wait, users);
      }
  }

private:
  /// Returns true if the stages hold answers of cluster launch control. The
  /// hardware writes them through the async proxy.
  bool isAnswer() const { return type.getProducer() == AsyncKind::Clc; }

  void fenceBefore(Operation *op) {
    builder.setInsertionPoint(op);
    builder.setLoc(op->getLoc());
    builder.fenceAsyncShared();
  }

  /// Makes the writes of each thread visible to the next reader.
  void fenceWrites(ProducerAcquireOp acquire) {
    for (Operation *user : acquire.getStage().getUsers())
      if (isa<ProducerCommitOp>(user))
        fenceBefore(user);
  }

  /// Orders reads of threads before the next copy, because an arrival does not
  /// wait for reads in flight. Without the fence, some reads on an H200 were
  /// too late.
  void fenceReads(ConsumerWaitOp wait, ArrayRef<Operation *> ofRing) {
    bool isDeferred = false;
    for (Operation *user : wait.getStage().getUsers())
      if (auto release = dyn_cast<ConsumerReleaseOp>(user);
          release && (isAnswer() || !isReadBefore(wait, release))) {
        fenceBefore(getPlaceOfFence(wait, release));
        isDeferred |= release.getDeferred() > 0;
      }
    for (Operation *user : ofRing)
      if (isDeferred && isa<ConsumerTailOp>(user) &&
          getRole(user) == getRole(wait))
        fenceBefore(user);
  }

  /// Makes writes of threads visible before the first copy of a stage, or
  /// before every copy if the ring has warp scope.
  void fenceCopies(ProducerAcquireOp acquire) {
    bool ofWarp = type.getScope() == Scope::Warp, isFirstAccess = true;
    getRole(acquire).walk([&](Operation *op) {
      if (!isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(op) ||
          op->getOperand(0).getDefiningOp() != acquire)
        return;
      if (isAsync(op) && (ofWarp || isFirstAccess))
        fenceBefore(op);
      isFirstAccess = false;
    });
  }

  RingOp ring;
  RingType type;
  NVVMBuilder builder;
};

struct InsertProxyFencesPass final
    : mxgpu::impl::MXGPUInsertProxyFencesBase<InsertProxyFencesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (auto ring : kernel.getBody().getOps<RingOp>())
        RingFences(ring).insert();
  }
};

} // namespace
