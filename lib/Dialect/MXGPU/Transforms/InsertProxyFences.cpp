//===- InsertProxyFences.cpp - Order threads and asynchronous copies ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Threads access shared memory by the generic proxy, copies and matrix
// instructions by the async proxy, and barriers order accesses of one proxy
// only (PTX ISA, Async proxy). Where a stage goes from one to the other, a
// fence stands before it is given away.
//
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

/// Operations on the buffers of a stage whose accesses are of the async proxy.
bool isAsync(Operation *op) {
  return isa<TmaLoadOp, MmaOp, CopyScalesOp, TmaStoreOp, BulkStoreOp>(op);
}

bool isHandover(Operation *op) {
  return isa<ProducerCommitOp, ConsumerReleaseOp>(op);
}

bool isUsedAsync(Operation *take) {
  return llvm::any_of(take->getUsers(), isAsync);
}

bool isUsedByThreads(Operation *take) {
  return llvm::any_of(take->getUsers(), [](Operation *user) {
    return !isHandover(user) && !isAsync(user);
  });
}

/// Whether `give` comes after all that is computed from what threads read in
/// the stage, up to matrix instructions and stores. Registers then have it, and
/// no read of the stage is under way.
bool isReadBefore(Operation *take, Operation *give) {
  SmallVector<Operation *> uses;
  for (Operation *user : take->getUsers())
    if (!isHandover(user) && !isAsync(user))
      uses.push_back(user);
  for (size_t i = 0; i < uses.size(); ++i) {
    Operation *use = give->getBlock()->findAncestorOpInBlock(*uses[i]);
    if (!use || !use->isBeforeInBlock(give))
      return false;
    if (isa<MmaOp, StoreSharedOp>(uses[i]))
      continue;
    if (uses[i]->use_empty())
      return false;
    llvm::append_range(uses, uses[i]->getUsers());
  }
  return true;
}

/// The fences of one ring.
class FencesOfRing {
public:
  explicit FencesOfRing(RingOp ring)
      : ring(ring), type(ring.getType()),
        builder(ring.getLoc(), ring.getContext()) {}

  void insert() {
    // Tensor memory has no proxies.
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
  /// An answer of cluster launch control arrives like a copy, which the commit
  /// asks for.
  bool isAnswer() const { return type.getProducer() == AsyncKind::Clc; }

  void fenceBefore(Operation *op) {
    builder.setInsertionPoint(op);
    builder.setLoc(op->getLoc());
    builder.fenceAsyncShared();
  }

  /// Each thread makes what it wrote visible to what reads it next.
  void fenceWrites(ProducerAcquireOp acquire) {
    for (Operation *user : acquire.getStage().getUsers())
      if (isa<ProducerCommitOp>(user))
        fenceBefore(user);
  }

  /// What threads read is written next by copies: an arrival does not make them
  /// wait for reads that are under way. On an H200 some reads came too late
  /// without the fence.
  void fenceReads(ConsumerWaitOp wait, ArrayRef<Operation *> ofRing) {
    bool isDeferred = false;
    for (Operation *user : wait.getStage().getUsers())
      if (auto release = dyn_cast<ConsumerReleaseOp>(user);
          release && (isAnswer() || !isReadBefore(wait, release))) {
        fenceBefore(release);
        isDeferred |= release.getDeferred() > 0;
      }
    for (Operation *user : ofRing)
      if (isDeferred && isa<ConsumerTailOp>(user) &&
          getRole(user) == getRole(wait))
        fenceBefore(user);
  }

  /// What threads have written is there before the first copy; those of a warp
  /// wait before each.
  void fenceCopies(ProducerAcquireOp acquire) {
    bool ofWarp = type.getScope() == Scope::Warp, isFirst = true;
    getRole(acquire).walk([&](Operation *op) {
      if (!isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(op) ||
          op->getOperand(0).getDefiningOp() != acquire)
        return;
      if (isAsync(op) && (ofWarp || isFirst))
        fenceBefore(op);
      isFirst = false;
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
        FencesOfRing(ring).insert();
  }
};

} // namespace
