//===- VerifyStaging.cpp - Rings for bulk stores --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages hold rows on their way from registers to a bulk store. A role may
// acquire stages of warp scope in several places, if whole warps reach each
// place. Stages that all threads of a role share may be acquired in a single
// place only.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Returns true if `op` loads from a kernel argument that is constant during
/// the kernel, because its only uses are loads.
static bool isConstantLoad(Operation *op) {
  if (isa<LoadScaleRangeOp>(op))
    return true;
  auto load = dyn_cast<memref::LoadOp>(op);
  auto argument =
      load ? dyn_cast<BlockArgument>(load.getMemRef()) : BlockArgument();
  return argument && isa<KernelOp>(argument.getOwner()->getParentOp()) &&
         llvm::all_of(argument.getUsers(),
                      llvm::IsaPred<memref::LoadOp, memref::DimOp>);
}

/// Returns true if all threads of a role have the same value, or all lanes with
/// the same number if `byLane`.
static bool isUniform(Value value, bool byLane) {
  auto areUniform = [&](auto values) {
    return llvm::all_of(values,
                        [&](Value value) { return isUniform(value, byLane); });
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && argument.getArgNumber() == 0)
      return areUniform(loop->getOperands().take_front(3));
    return isa<KernelOp, ForEachWorkTileOp, ForEachKOp>(parent);
  }
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast<gpu::SubgroupReduceOp>(op))
    return isUniform(reduce.getValue(), /*byLane=*/true);
  if (isa<gpu::AllReduceOp>(op))
    return true;
  if (isa<gpu::LaneIdOp>(op))
    return byLane;
  bool isKnown = isMemoryEffectFree(op) || isConstantLoad(op);
  if (isa<ThreadIdOp>(op) || op->getNumRegions() || !isKnown)
    return false;
  return areUniform(op->getOperands());
}

bool mx::mxgpu::isUniform(Value value) {
  return ::isUniform(value, /*byLane=*/false);
}

template <typename UseOp>
static LogicalResult findOnce(ProducerAcquireOp acquire, StringAttr name,
                              SmallVectorImpl<Operation *> &uses) {
  Operation *found = nullptr;
  for (Operation *user : acquire.getBuffer(name).getUsers()) {
    if (isa<UseOp>(user) && std::exchange(found, user)) // kernel C53
      return user->emitOpError("expected one op of this kind for each field, "
                               "found a second op for field ")
             << name;
  }
  if (!found) // kernel C54
    return acquire.emitOpError("expected a ")
           << UseOp::getOperationName() << " of field " << name
           << ", found none";
  uses.push_back(found);
  return success();
}

/// Fails unless whole warps reach the block of an acquire. Also fails unless
/// the block contains a store_shared of each field, a tma_store of each field
/// and the commit, in this order.
static LogicalResult verifyStaged(ProducerAcquireOp acquire) {
  for (Operation *parent = acquire->getParentOp(); !isa<RoleOp>(parent);
       parent = parent->getParentOp()) {
    auto ifOp = dyn_cast<scf::IfOp>(parent);
    if (!isa<ForEachWorkTileOp, ForEachKOp, scf::ForOp>(parent) &&
        !(ifOp && isUniform(ifOp.getCondition()))) // kernel C51
      return acquire.emitOpError("expected to be nested only in loops and in "
                                 "scf.if with uniform conditions, found ")
             << parent->getName().getStringRef();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && !isUniform(loop.getInductionVar())) // kernel C52
      return acquire.emitOpError(
          "expected uniform bounds of the enclosing loops");
  }
  Operation *publish = nullptr;
  for (Operation *user : acquire->getUsers()) {
    if (user->getBlock() != acquire->getBlock()) // kernel C20
      return user->emitOpError(
          "expected to be in the block that takes the stage");
    // kernel C18
    if (isa<ProducerCommitOp>(user) && std::exchange(publish, user))
      return user->emitOpError(
          "expected the stage to be released once, found a second release");
  }
  if (!publish) // kernel C19
    return acquire.emitOpError("expected the stage to be released by "
                               "mxgpu.producer_commit, found none");
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

/// Fails if a second acquire of the ring precedes the commit of the first
/// stage. Waits count the copies in the order of their start, so the stages
/// must not overlap.
static LogicalResult verifyOneAtATime(ProducerAcquireOp acquire) {
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode()) {
    if (isa<ProducerCommitOp>(op) && op->getOperand(0) == acquire.getStage())
      break;
    WalkResult result = op->walk([&](ProducerAcquireOp other) {
      if (other.getRing() != acquire.getRing())
        return WalkResult::advance();
      InFlightDiagnostic diag = other.emitOpError(
          "expected the previous stage to be published first"); // kernel C56
      diag.attachNote(acquire.getLoc()) << "previous stage acquired here";
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

/// Returns the number of copies (boxes or tiles) that empty a buffer.
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

/// Returns the box or tile of the buffer that a store copies.
static std::optional<int64_t> getCopied(TmaStoreOp store) {
  return store.getBox();
}
static std::optional<int64_t> getCopied(BulkStoreOp store) {
  return store.getTile();
}

/// Fails if a box or tile is copied twice. The number of copies was checked
/// before, so distinct boxes cover the whole buffer.
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

/// Fails unless the threads of a role write all fields before the first copy,
/// and the commit follows a copy of each field. The threads synchronize only
/// before the first copy, so a copy could miss later writes.
static LogicalResult verifyRoleStage(ProducerAcquireOp acquire) {
  for (Operation *loop : getLoops(acquire)) // kernel C16
    if (!isa<ForEachWorkTileOp, ForEachKOp>(loop))
      return acquire.emitOpError(
                 "expected to be nested only in mxgpu loops, found ")
             << loop->getName().getStringRef();
  Block *block = acquire->getBlock();
  SmallVector<Operation *> copies, publishes;
  for (Operation *user : acquire->getUsers())
    if (isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(user))
      copies.push_back(user);
    else if (isa<ProducerCommitOp>(user))
      publishes.push_back(user);
  if (publishes.size() != 1) // kernel C18
    return acquire.emitOpError("expected the stage to be released once by "
                               "mxgpu.producer_commit, found ")
           << publishes.size() << " commits";
  for (auto [name, view] : llvm::zip_equal(
           acquire.getRing().getType().getNames(), acquire.getBuffers())) {
    if (llvm::none_of(view.getUsers(), isWrite)) // kernel C62
      return acquire.emitOpError("expected a store into field ")
             << name << ", found none";
    int64_t expected = getNumCopies(cast<TypedValue<BufferType>>(view));
    if (int64_t count = llvm::count_if(view.getUsers(), isCopy);
        count != expected) // kernel C63
      return acquire.emitOpError("expected ")
             << expected << (expected == 1 ? " copy" : " copies")
             << " of field " << name << ", found " << count;
  }
  Operation *publish = publishes[0];
  for (Operation *copy : copies) {
    if (copy->getBlock() != block || publish->getBlock() != block) // kernel C64
      return copy->emitOpError("expected the copy and mxgpu.producer_commit to "
                               "be in the block that acquires the stage");
    if (!copy->isBeforeInBlock(publish)) // kernel C65
      return copy->emitOpError("expected to come before mxgpu.producer_commit");
    if (Value condition = getCondition(copy);
        condition && !isUniform(condition)) // kernel C66
      return copy->emitOpError("expected a uniform condition");
    for (Operation *user : acquire->getUsers())
      if (isWrite(user) &&
          !block->findAncestorOpInBlock(*user)->isBeforeInBlock(copy)) {
        InFlightDiagnostic diag = user->emitOpError(
            "expected to come before the copies from its stage"); // kernel C67
        diag.attachNote(copy->getLoc()) << "this copies the stage";
        return diag;
      }
  }
  return verifyCopiedOnce(acquire);
}

static LogicalResult verifyRoleStaging(RingOp ring) {
  ProducerAcquireOp taken;
  for (Operation *user : ring.getResult().getUsers()) {
    auto acquire = dyn_cast<ProducerAcquireOp>(user);
    if (!acquire || taken) // kernel C61
      return user->emitOpError("expected a ring for tma_store to be acquired "
                               "in one place only");
    taken = acquire;
  }
  if (!taken) // kernel C22
    return ring.emitOpError("expected a role that produces its stages, found "
                            "none");
  RoleOp role = getRole(taken);
  int64_t threads = ring.getType().getProducerThreads();
  if (role.getElected() ||
      static_cast<int64_t>(role.getWarps()) * 32 != threads) // kernel C30
    return role.emitOpError("expected ")
           << threads << " threads for ring \"" << ring.getName()
           << "\", found " << (role.getElected() ? 1 : role.getWarps() * 32);
  return verifyRoleStage(taken);
}

/// Checks only the order of the uses of each stage: no other warp waits for the
/// stages, so these rings cannot cause a deadlock.
LogicalResult mx::mxgpu::verifyStaging(RingOp ring) {
  if (ring.getType().getScope() == Scope::Cta)
    return verifyRoleStaging(ring);
  if (ring.getType().getNames().size() != 1) // kernel C57
    return ring.emitOpError(
               "expected one field in a ring with scope = warp, found ")
           << ring.getType().getNames().size();
  RoleOp role;
  for (Operation *user : ring.getResult().getUsers()) {
    auto acquire = dyn_cast<ProducerAcquireOp>(user);
    if (!acquire) // kernel C58
      return user->emitOpError(
          "expected a ring with scope = warp to be used only by "
          "mxgpu.producer_acquire, because mxgpu.tma_store empties its stages");
    if (role && getRole(acquire) != role) // kernel C59
      return acquire.emitOpError("expected one role to use a ring with scope = "
                                 "warp, found a second role");
    role = getRole(acquire);
    if (failed(verifyStaged(acquire)) || failed(verifyOneAtATime(acquire)))
      return failure();
  }
  if (!role) // kernel C22
    return ring.emitOpError("expected a role that produces its stages, found "
                            "none");
  int64_t threads = ring.getType().getProducerThreads();
  if (role.getElected() || threads != 32) // kernel C60
    return role.emitOpError("expected a role of whole warps, and 32 producer "
                            "threads for ring \"")
           << ring.getName() << "\", found " << threads << " threads in "
           << (role.getElected() ? "an elected role" : "warps");
  return success();
}
