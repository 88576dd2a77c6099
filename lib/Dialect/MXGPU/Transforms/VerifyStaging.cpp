//===- VerifyStaging.cpp - Rings for bulk stores --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Stages hold rows between registers and a bulk store. A role may take stages
// of warp scope in several places reached by whole warps, and stages of all its
// threads in a single place.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;

bool mx::mxgpu::isUniform(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && argument.getArgNumber() == 0)
      return llvm::all_of(loop->getOperands().take_front(3), isUniform);
    return isa<KernelOp, ForEachWorkTileOp, ForEachKOp>(parent);
  }
  Operation *op = value.getDefiningOp();
  // The table is constant during the kernel.
  bool isKnown = isMemoryEffectFree(op) || isa<LoadScaleRangeOp>(op);
  if (isa<ThreadIdOp>(op) || op->getNumRegions() || !isKnown)
    return false;
  return llvm::all_of(op->getOperands(), isUniform);
}

template <typename UseOp>
static LogicalResult findOnce(ProducerAcquireOp acquire, StringAttr name,
                              SmallVectorImpl<Operation *> &uses) {
  Operation *found = nullptr;
  for (Operation *user : acquire.getBuffer(name).getUsers()) {
    // kernel C53
    if (isa<UseOp>(user) && std::exchange(found, user))
      return user->emitOpError("expected one of each field, found a second "
                               "of ")
             << name;
  }
  // kernel C54
  if (!found)
    return acquire.emitOpError("expected a ")
           << UseOp::getOperationName() << " of field " << name
           << ", found none";
  uses.push_back(found);
  return success();
}

/// Requires an acquire, a store_shared and a tma_store for each field, then a
/// commit, in a block that whole warps reach.
static LogicalResult verifyStaged(ProducerAcquireOp acquire) {
  for (Operation *parent = acquire->getParentOp(); !isa<RoleOp>(parent);
       parent = parent->getParentOp()) {
    auto ifOp = dyn_cast<scf::IfOp>(parent);
    // kernel C51
    if (!isa<ForEachWorkTileOp, ForEachKOp, scf::ForOp>(parent) &&
        !(ifOp && isUniform(ifOp.getCondition())))
      return acquire.emitOpError("expected only loops and conditions that "
                                 "threads agree on around it, found ")
             << parent->getName().getStringRef();
    auto loop = dyn_cast<scf::ForOp>(parent);
    // kernel C52
    if (loop && !isUniform(loop.getInductionVar()))
      return acquire.emitOpError("expected loops whose bounds threads agree "
                                 "on around it");
  }
  Operation *publish = nullptr;
  for (Operation *user : acquire->getUsers()) {
    // kernel C20
    if (user->getBlock() != acquire->getBlock())
      return user->emitOpError(
          "expected to be in the block that takes the stage");
    // kernel C18
    if (isa<ProducerCommitOp>(user) && std::exchange(publish, user))
      return user->emitOpError("expected the stage to be released once, "
                               "found a second time");
  }
  // kernel C19
  if (!publish)
    return acquire.emitOpError("expected the stage to be released by "
                               "mxgpu.producer_commit, found no use of it");
  for (StringAttr name : acquire.getRing().getType().getNames()) {
    SmallVector<Operation *> uses = {acquire};
    if (failed(findOnce<StoreSharedOp>(acquire, name, uses)) ||
        failed(findOnce<TmaStoreOp>(acquire, name, uses)))
      return failure();
    uses.push_back(publish);
    for (auto [first, second] : llvm::zip(uses, llvm::drop_begin(uses)))
      if (!first->isBeforeInBlock(second)) {
        // kernel C55
        InFlightDiagnostic diag = second->emitOpError("expected to come after ")
                                  << first->getName().getStringRef();
        diag.attachNote(first->getLoc()) << "this is later";
        return diag;
      }
  }
  return success();
}

/// Requires the copy of a stage before the next acquire, since copies are
/// counted when they start.
static LogicalResult verifyOneAtATime(ProducerAcquireOp acquire) {
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode()) {
    if (isa<ProducerCommitOp>(op) && op->getOperand(0) == acquire.getStage())
      break;
    WalkResult result = op->walk([&](ProducerAcquireOp other) {
      if (other.getRing() != acquire.getRing())
        return WalkResult::advance();
      // kernel C56
      InFlightDiagnostic diag =
          other.emitOpError("expected the stage before to be published first");
      diag.attachNote(acquire.getLoc()) << "it is taken here";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

static bool isWrite(Operation *op) {
  return isa<StoreSharedOp, StoreScaleOp>(op);
}

static bool isCopy(Operation *op) { return isa<TmaStoreOp, BulkStoreOp>(op); }

/// Returns the number of copies of a buffer, one for each box or tile.
static int64_t getNumCopies(TypedValue<BufferType> view) {
  BufferType buffer = view.getType();
  for (Operation *user : view.getUsers()) {
    if (auto store = dyn_cast<TmaStoreOp>(user); store && store.getBox())
      return buffer.getSizeInBytes() /
             store.getMap().getType().getSizeInBytes();
    if (auto store = dyn_cast<BulkStoreOp>(user); store && store.getTile())
      return ShapedType::getNumElements(buffer.getShape().drop_back());
  }
  return 1;
}

/// Return the box or tile of the buffer that a store copies.
static std::optional<int64_t> getCopied(TmaStoreOp store) {
  return store.getBox();
}
static std::optional<int64_t> getCopied(BulkStoreOp store) {
  return store.getTile();
}

/// Requires distinct boxes or tiles, which with their number covers the buffer.
static LogicalResult verifyCopiedOnce(ProducerAcquireOp acquire) {
  llvm::SmallDenseSet<std::pair<Value, int64_t>> found;
  for (Operation &op : *acquire->getBlock()) {
    auto check = [&](auto store) -> LogicalResult {
      if (store.getBuffer().getDefiningOp() != acquire || !getCopied(store) ||
          found.insert({store.getBuffer(), *getCopied(store)}).second)
        return success();
      // kernel C68
      return store.emitOpError(
                 "expected each box to be copied once, found box ")
             << *getCopied(store) << " of \""
             << getBufferName(store.getBuffer()) << "\" copied twice";
    };
    if (auto store = dyn_cast<TmaStoreOp>(op); store && failed(check(store)))
      return failure();
    if (auto store = dyn_cast<BulkStoreOp>(op); store && failed(check(store)))
      return failure();
  }
  return success();
}

/// Returns the condition of a copy, or null.
static Value getCondition(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<TmaStoreOp, BulkStoreOp, StoreRowsOp>(
          [](auto store) { return store.getCondition(); });
}

/// Requires all threads of a role to write the fields before the first copy,
/// then a copy of each field, then the commit. The threads synchronize before
/// the first copy only, so later writes could be missed.
static LogicalResult verifySlotOfRole(ProducerAcquireOp acquire) {
  // kernel C16
  for (Operation *loop : getLoops(acquire))
    if (!isa<ForEachWorkTileOp, ForEachKOp>(loop))
      return acquire.emitOpError("expected only mxgpu loops around it, found ")
             << loop->getName().getStringRef();
  Block *block = acquire->getBlock();
  SmallVector<Operation *> copies, publishes;
  for (Operation *user : acquire->getUsers())
    if (isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(user))
      copies.push_back(user);
    else if (isa<ProducerCommitOp>(user))
      publishes.push_back(user);
  // kernel C18
  if (publishes.size() != 1)
    return acquire.emitOpError("expected the stage to be released once by "
                               "mxgpu.producer_commit, found ")
           << publishes.size() << " times";
  for (auto [name, view] : llvm::zip_equal(
           acquire.getRing().getType().getNames(), acquire.getBuffers())) {
    // kernel C62
    if (llvm::none_of(view.getUsers(), isWrite))
      return acquire.emitOpError("expected a store into field ")
             << name << ", found none";
    int64_t expected = getNumCopies(cast<TypedValue<BufferType>>(view));
    // kernel C63
    if (int64_t count = llvm::count_if(view.getUsers(), isCopy);
        count != expected)
      return acquire.emitOpError("expected ")
             << expected << (expected == 1 ? " copy" : " copies")
             << " of field " << name << ", found " << count;
  }
  Operation *publish = publishes[0];
  for (Operation *copy : copies) {
    // kernel C64
    if (copy->getBlock() != block || publish->getBlock() != block)
      return copy->emitOpError("expected to be in the block that takes the "
                               "stage, and publish with it");
    // kernel C65
    if (!copy->isBeforeInBlock(publish))
      return copy->emitOpError("expected to come before mxgpu.producer_commit");
    // kernel C66
    if (Value condition = getCondition(copy);
        condition && !isUniform(condition))
      return copy->emitOpError("expected a condition that threads agree on");
    for (Operation *user : acquire->getUsers())
      if (isWrite(user) &&
          !block->findAncestorOpInBlock(*user)->isBeforeInBlock(copy)) {
        // kernel C67
        InFlightDiagnostic diag = user->emitOpError(
            "expected to come before the copies from its stage");
        diag.attachNote(copy->getLoc()) << "a copy";
        return diag;
      }
  }
  return verifyCopiedOnce(acquire);
}

static LogicalResult verifyStagingOfRole(RingOp ring) {
  ProducerAcquireOp taken;
  for (Operation *user : ring.getResult().getUsers()) {
    auto acquire = dyn_cast<ProducerAcquireOp>(user);
    // kernel C61
    if (!acquire || taken)
      return user->emitOpError("expected a ring for tma_store to be acquired "
                               "in one place only");
    taken = acquire;
  }
  // kernel C22
  if (!taken)
    return ring.emitOpError("expected a role that produces its stages, found "
                            "none");
  RoleOp role = getRole(taken);
  int64_t threads = ring.getType().getProducerThreads();
  // kernel C30
  if (role.getElected() ||
      static_cast<int64_t>(role.getWarps()) * 32 != threads)
    return role.emitOpError("expected ")
           << threads << " threads for ring \"" << ring.getName()
           << "\", found " << (role.getElected() ? 1 : role.getWarps() * 32);
  return verifySlotOfRole(taken);
}

/// No other warp waits for the stages, and the copies wait for no warp. The
/// order of uses within a stage is therefore sufficient.
LogicalResult mx::mxgpu::verifyStaging(RingOp ring) {
  if (ring.getType().getScope() == Scope::Cta)
    return verifyStagingOfRole(ring);
  // kernel C57
  if (ring.getType().getNames().size() != 1)
    return ring.emitOpError("expected one field in a warp's own ring, found ")
           << ring.getType().getNames().size();
  RoleOp role;
  for (Operation *user : ring.getResult().getUsers()) {
    auto acquire = dyn_cast<ProducerAcquireOp>(user);
    // kernel C58
    if (!acquire)
      return user->emitOpError("expected a warp's own ring to be acquired, "
                               "and emptied by tma_store");
    // kernel C59
    if (role && getRole(acquire) != role)
      return acquire.emitOpError("expected one role to use a warp's own "
                                 "ring, found another");
    role = getRole(acquire);
    if (failed(verifyStaged(acquire)) || failed(verifyOneAtATime(acquire)))
      return failure();
  }
  // kernel C22
  if (!role)
    return ring.emitOpError("expected a role that produces its stages, found "
                            "none");
  int64_t threads = ring.getType().getProducerThreads();
  // kernel C60
  if (role.getElected() || threads != 32)
    return role.emitOpError("expected whole warps, and 32 threads for ring \"")
           << ring.getName() << "\", found " << threads << " threads in "
           << (role.getElected() ? "an elected role" : "warps");
  return success();
}
