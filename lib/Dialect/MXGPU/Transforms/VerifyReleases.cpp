//===- VerifyReleases.cpp - Release of stages after their last use --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A release deferred by n stages releases the stage that the role took n stages
// before. The role thus holds a stage beyond the block of its take, and a tail
// after all loops releases the last n.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::mxgpu;

static int64_t getDistance(const Port &port) {
  auto release = dyn_cast<ConsumerReleaseOp>(port.give);
  return release ? release.getDeferred() : 0;
}

static SmallVector<ConsumerTailOp> getTails(RingOp ring, RoleOp role) {
  SmallVector<ConsumerTailOp> tails;
  role.walk([&](ConsumerTailOp tail) {
    if (tail.getRing().getDefiningOp() == ring)
      tails.push_back(tail);
  });
  return tails;
}

/// Returns the operation that releases the stage of `ports[index]` within its
/// block, or null: its own release, that of a later take of the block, or a
/// tail.
static Operation *findGive(RingOp ring, ArrayRef<Port> ports, size_t index) {
  const Port &taken = ports[index];
  Block *block = taken.take->getBlock();
  int64_t distance = getDistance(taken);
  if (!distance)
    return taken.give;
  Operation *give = nullptr;
  for (const Port &port : ports.drop_front(index)) {
    if (port.role != taken.role)
      continue;
    Operation *ancestor = block->findAncestorOpInBlock(*port.take);
    if (!ancestor)
      break;
    // A later loop may release the stage, or may not run.
    give = ancestor == port.take ? port.give : ancestor;
    if (ancestor != port.take || distance-- == 0)
      break;
    give = nullptr;
  }
  for (Operation *tail : getTails(ring, taken.role)) {
    Operation *ancestor = block->findAncestorOpInBlock(*tail);
    if (ancestor && taken.take->isBeforeInBlock(ancestor) &&
        (!give || ancestor->isBeforeInBlock(give)))
      give = ancestor;
  }
  return give;
}

/// Requires uses of a stage before its release.
static LogicalResult verifyUses(RingOp ring, ArrayRef<Port> ports,
                                size_t index) {
  const Port &port = ports[index];
  Operation *give = findGive(ring, ports, index);
  if (!give)
    return success();
  for (Operation *user : port.take->getUsers()) {
    Operation *ancestor = port.take->getBlock()->findAncestorOpInBlock(*user);
    if (user != port.give && !ancestor->isBeforeInBlock(give) &&
        !isReadOfRest(user)) {
      // kernel C21
      InFlightDiagnostic diag = user->emitOpError(
          "expected to use the stage before it is handed back");
      diag.attachNote(give->getLoc()) << "released here";
      return diag;
    }
  }
  return success();
}

/// Returns true if `tail` follows `op` in an enclosing block.
static bool isAfter(Operation *tail, Operation *op) {
  Operation *ancestor = tail->getBlock()->findAncestorOpInBlock(*op);
  return ancestor && ancestor->isBeforeInBlock(tail);
}

/// Requires equally many kept stages at each release, and one more in the ring.
static LogicalResult verifyDistance(RingOp ring, const Port &port,
                                    int64_t distance) {
  int64_t kept = getDistance(port), stages = ring.getType().getStages();
  // kernel C70
  if (stages <= kept)
    return port.give->emitOpError("expected a ring of at least ")
           << kept + 1 << " stages for a release deferred by " << kept
           << ", found " << stages;
  // kernel C71
  if (kept != distance)
    return port.give->emitOpError("expected all releases of the ring in a role "
                                  "to be deferred by as many stages, found ")
           << kept << " and " << distance;
  return success();
}

/// Requires a tail exactly if stages are kept.
static LogicalResult verifyTails(RingOp ring, RoleOp role,
                                 ArrayRef<Port> ports) {
  SmallVector<ConsumerTailOp> tails = getTails(ring, role);
  for (const Port &port : ports)
    // kernel C72
    if (port.role == role && getDistance(port) &&
        llvm::none_of(
            tails, [&](Operation *tail) { return isAfter(tail, port.give); }))
      return port.give->emitOpError("expected an ")
             << ConsumerTailOp::getOperationName()
             << " of the ring after it or after the loops around it, found "
                "none";
  for (ConsumerTailOp tail : tails) {
    bool hasDeferred = false;
    for (const Port &port : ports) {
      if (port.role != role)
        continue;
      hasDeferred |= getDistance(port) && isAfter(tail, port.give) &&
                     llvm::none_of(tails, [&](Operation *other) {
                       return isAfter(tail, other) && isAfter(other, port.give);
                     });
      Block *block = port.take->getBlock();
      Operation *within = block->findAncestorOpInBlock(*tail);
      // kernel C74
      if (within && port.take->isBeforeInBlock(within) &&
          within->isBeforeInBlock(port.give)) {
        InFlightDiagnostic diag = tail.emitOpError(
            "expected every stage that is taken to have its release before it, "
            "found one after it");
        diag.attachNote(port.give->getLoc()) << "here";
        return diag;
      }
    }
    // kernel C73
    if (!hasDeferred)
      return tail.emitOpError("expected a deferred release of the ring before "
                              "it, and no other tail between, found none");
  }
  return success();
}

LogicalResult mx::mxgpu::verifyReleases(RingOp ring, const Sides &sides) {
  for (ArrayRef<Port> ports :
       {ArrayRef(sides.producers), ArrayRef(sides.consumers)})
    for (size_t i = 0; i < ports.size(); ++i)
      if (failed(verifyUses(ring, ports, i)))
        return failure();
  llvm::SetVector<RoleOp> roles;
  for (const Port &port : sides.consumers)
    roles.insert(port.role);
  for (Operation *user : ring->getUsers())
    if (isa<ConsumerTailOp>(user))
      roles.insert(getRole(user));
  for (RoleOp role : roles) {
    std::optional<int64_t> distance;
    for (const Port &port : sides.consumers) {
      if (port.role != role)
        continue;
      if (!distance)
        distance = getDistance(port);
      if (failed(verifyDistance(ring, port, *distance)))
        return failure();
    }
    if (failed(verifyTails(ring, role, sides.consumers)))
      return failure();
  }
  return success();
}
