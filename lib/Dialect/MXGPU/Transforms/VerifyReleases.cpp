//===- VerifyReleases.cpp - Release of stages after their last use --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A release deferred by n releases the stage acquired n stages earlier. The
// role therefore keeps n stages until a consumer_tail after the loops.
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

/// Returns the operation of the same block that releases the stage of
/// `ports[index]`, or null: the stage's own release, the release of a later
/// stage, a tail, or a loop that contains such a release or tail.
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

/// Fails if a use of a stage follows its release.
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
      InFlightDiagnostic diag =
          user->emitOpError("expected to use the stage before its release");
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

/// Fails unless the release of `port` is deferred by `distance` stages, like
/// other releases of its role, and the ring contains more stages than that.
static LogicalResult verifyDistance(RingOp ring, const Port &port,
                                    int64_t distance) {
  int64_t kept = getDistance(port), stages = ring.getType().getStages();
  if (stages <= kept) // kernel C70
    return port.give->emitOpError("expected a ring of at least ")
           << kept + 1 << " stages for a release deferred by " << kept
           << ", found " << stages;
  if (kept != distance) // kernel C71
    return port.give->emitOpError(
               "expected all releases of the ring in a role to be deferred by "
               "the same number of stages, found ")
           << kept << " and " << distance;
  return success();
}

/// Fails unless a tail follows each deferred release, and each tail follows a
/// deferred release.
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
             << " of the ring after the release or after its enclosing loops, "
                "found none";
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
      if (within && port.take->isBeforeInBlock(within) &&
          within->isBeforeInBlock(port.give)) { // kernel C74
        InFlightDiagnostic diag =
            tail.emitOpError("expected every earlier stage to be released "
                             "before the tail, found a release after the tail");
        diag.attachNote(port.give->getLoc()) << "here";
        return diag;
      }
    }
    if (!hasDeferred) // kernel C73
      return tail.emitOpError("expected a deferred release of the ring between "
                              "the previous tail and this tail, found none");
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
