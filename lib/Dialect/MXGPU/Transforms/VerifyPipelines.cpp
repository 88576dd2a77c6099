//===- VerifyPipelines.cpp - Prove a kernel's rings safe ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Roles are sequences of loops without data-dependent control flow around the
// rings, so that a ring is a place in a marked graph: a producer puts one token
// in per iteration, a consumer takes one out, and the initial tokens are the
// empty slots. Such a graph is live if and only if each of its cycles holds an
// initial token (Commoner et al., Marked directed graphs, 1971).
//
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_VERIFYPIPELINESPASS
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

/// One role's use of one ring: where it takes slots and gives them back.
struct Port {
  RoleOp role;
  Operation *take = nullptr; // acquire or consume
  Operation *give = nullptr; // publish or release
};

/// The two sides of a ring.
struct Sides {
  Port producer, consumer;
};

using RingSides = llvm::MapVector<Operation *, Sides>;

/// The loops around `op` inside its role, outermost first.
SmallVector<Operation *> getLoops(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp(); !isa<RoleOp>(parent);
       parent = parent->getParentOp())
    loops.insert(loops.begin(), parent);
  return loops;
}

/// Whether `a` and `b`, seen from loops at equal depths, are the same value:
/// one value outside the roles, or the same argument of corresponding loops.
bool isSameValue(Value a, Value b, ArrayRef<Operation *> loopsA,
                 ArrayRef<Operation *> loopsB) {
  if (a == b)
    return true;
  auto argA = dyn_cast<BlockArgument>(a), argB = dyn_cast<BlockArgument>(b);
  if (!argA || !argB || argA.getArgNumber() != argB.getArgNumber())
    return false;
  for (auto [loopA, loopB] : llvm::zip(loopsA, loopsB))
    if (loopA == argA.getOwner()->getParentOp() &&
        loopB == argB.getOwner()->getParentOp())
      return true;
  return false;
}

/// Whether two loop nests run the same number of iterations.
bool isSameNest(ArrayRef<Operation *> loopsA, ArrayRef<Operation *> loopsB) {
  if (loopsA.size() != loopsB.size())
    return false;
  for (auto [depth, a, b] : llvm::enumerate(loopsA, loopsB)) {
    if (a->getName() != b->getName() ||
        a->getNumOperands() != b->getNumOperands())
      return false;
    for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands()))
      if (!isSameValue(x, y, loopsA.take_front(depth),
                       loopsB.take_front(depth)))
        return false;
    if (auto forK = dyn_cast<ForEachKOp>(a))
      if (forK.getStep() != cast<ForEachKOp>(b).getStep())
        return false;
  }
  return true;
}

class Verifier {
public:
  explicit Verifier(KernelOp kernel) : kernel(kernel) {}

  LogicalResult run() {
    if (failed(collectPorts()))
      return failure();
    for (auto &[ring, sides] : rings)
      if (failed(verifyRing(cast<RingOp>(ring), sides)))
        return failure();
    return verifyLiveness();
  }

private:
  template <typename TakeOp, typename GiveOp>
  LogicalResult collect(TakeOp take, Port Sides::*side) {
    auto ring = take.getRing().template getDefiningOp<RingOp>();
    if (!ring)
      return take.emitOpError("expected a ring made in the kernel");
    RoleOp role = getRole(take);
    if (!role)
      return take.emitOpError("expected to be inside a role");
    for (Operation *loop : getLoops(take))
      if (!isa<ForEachWorkOp, ForEachKOp>(loop))
        return take.emitOpError("expected only mxgpu loops around it, found ")
               << loop->getName().getStringRef();
    Port &port = rings[ring].*side;
    if (port.take) {
      InFlightDiagnostic diag = take.emitOpError("expected one ")
                                << take->getName().getStringRef()
                                << " of the ring, found another";
      diag.attachNote(port.take->getLoc()) << "here";
      return diag;
    }
    port.role = role;
    port.take = take;
    for (Operation *user : take.getSlot().getUsers()) {
      if (!isa<GiveOp>(user))
        continue;
      if (port.give) {
        InFlightDiagnostic diag =
            user->emitOpError("expected the slot to be given back once, found "
                              "a second time");
        diag.attachNote(port.give->getLoc()) << "first here";
        return diag;
      }
      port.give = user;
    }
    if (!port.give)
      return take.emitOpError("expected the slot to be given back by ")
             << GiveOp::getOperationName() << ", found no use of it";
    if (port.give->getBlock() != take->getBlock())
      return port.give->emitOpError(
          "expected to be in the block that takes the slot");
    for (Operation *user : take.getSlot().getUsers()) {
      Operation *ancestor = take->getBlock()->findAncestorOpInBlock(*user);
      if (user != port.give && !ancestor->isBeforeInBlock(port.give)) {
        InFlightDiagnostic diag = user->emitOpError(
            "expected to use the slot before it is given back");
        diag.attachNote(port.give->getLoc()) << "given back here";
        return diag;
      }
    }
    return success();
  }

  LogicalResult collectPorts() {
    for (auto ring : kernel.getBody().getOps<RingOp>())
      rings[ring];
    WalkResult result = kernel.walk([&](Operation *op) {
      LogicalResult collected = success();
      if (auto acquire = dyn_cast<AcquireOp>(op))
        collected = collect<AcquireOp, PublishOp>(acquire, &Sides::producer);
      else if (auto consume = dyn_cast<ConsumeOp>(op))
        collected = collect<ConsumeOp, ReleaseOp>(consume, &Sides::consumer);
      return failed(collected) ? WalkResult::interrupt()
                               : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult verifyRing(RingOp ring, Sides sides) {
    Port producer = sides.producer, consumer = sides.consumer;
    if (!producer.take || !consumer.take)
      return ring.emitOpError("expected a role that ")
             << (producer.take ? "consumes" : "produces")
             << " its slots, found none";
    if (producer.role == consumer.role)
      return ring.emitOpError("expected different roles to produce and "
                              "consume, found ")
             << producer.role.getSymNameAttr() << " twice";
    if (!isSameNest(getLoops(producer.take), getLoops(consumer.take))) {
      InFlightDiagnostic diag = ring.emitOpError(
          "expected the same loops around acquire and consume");
      diag.attachNote(producer.take->getLoc()) << "acquired here";
      diag.attachNote(consumer.take->getLoc()) << "consumed here";
      return diag;
    }
    if (failed(verifyAgent(ring, producer, ring.getType().getProducer(),
                           ring.getType().getProducerThreads())) ||
        failed(verifyAgent(ring, consumer, ring.getType().getConsumer(),
                           ring.getType().getConsumerThreads())))
      return failure();
    return verifyFilled(ring, producer);
  }

  /// One thread drives the copy engine and the tensor core; `threads(n)` are
  /// all threads of a role.
  LogicalResult verifyAgent(RingOp ring, Port port, Agent agent,
                            int64_t threads) {
    RoleOp role = port.role;
    if (agent != Agent::Threads) {
      if (role.getElected())
        return success();
      return role.emitOpError("expected an elected role for ")
             << stringifyAgent(agent) << " of ring \"" << ring.getName() << '"';
    }
    int64_t found = role.getElected() ? 1 : role.getWarps() * 32;
    if (found == threads)
      return success();
    return role.emitOpError("expected ")
           << threads << " threads for ring \"" << ring.getName()
           << "\", found " << found;
  }

  /// Every field that is read must have been written: a bulk copy fills each
  /// field of its slot exactly once, as the expected bytes say.
  LogicalResult verifyFilled(RingOp ring, Port producer) {
    if (ring.getType().getProducer() != Agent::Tma)
      return success();
    SmallVector<Operation *> loads(ring.getType().getNames().size());
    for (Operation *user : producer.take->getResult(0).getUsers()) {
      auto load = dyn_cast<TmaLoadOp>(user);
      if (!load)
        continue;
      if (load->getBlock() != producer.take->getBlock())
        return load.emitOpError(
            "expected to be in the block that takes the slot");
      Operation *&first = loads[ring.getType().getFieldIndex(load.getField())];
      if (first)
        return load.emitOpError("expected one load of each field, found a "
                                "second of \"")
               << load.getField() << '"';
      first = load;
    }
    for (auto [name, load] : llvm::zip_equal(ring.getType().getNames(), loads))
      if (!load)
        return producer.give->emitOpError("expected a load into field ")
               << name << " before it, found none";
    return success();
  }

  /// Builds, over the takes and gives of all rings, "must happen before"
  /// within the first iteration, where no ring has ever been full: a take of a
  /// full slot waits for its publish; program order holds within a role. An
  /// acquire of the first `stages` slots never waits. A cycle is a deadlock.
  LogicalResult verifyLiveness() {
    llvm::MapVector<Operation *, SmallVector<Operation *>> before;
    for (auto &[ring, sides] : rings)
      before[sides.consumer.take].push_back(sides.producer.give);
    // Program order: op A of a role precedes op B if its ancestor comes first
    // in their common block.
    SmallVector<Operation *> events;
    for (auto &[ring, sides] : rings)
      for (const Port *port : {&sides.producer, &sides.consumer}) {
        events.push_back(port->take);
        events.push_back(port->give);
      }
    for (Operation *a : events)
      for (Operation *b : events) {
        if (a == b || getRole(a) != getRole(b))
          continue;
        for (Block *block = b->getBlock(); block;
             block = block->getParentOp()->getBlock()) {
          if (Operation *ancestorA = block->findAncestorOpInBlock(*a)) {
            Operation *ancestorB = block->findAncestorOpInBlock(*b);
            if (ancestorA != ancestorB && ancestorA->isBeforeInBlock(ancestorB))
              before[b].push_back(a);
            break;
          }
          if (isa<RoleOp>(block->getParentOp()))
            break;
        }
      }
    DenseMap<Operation *, int> state; // 1 on the path, 2 done
    for (Operation *event : events)
      if (failed(visit(event, before, state)))
        return failure();
    return success();
  }

  LogicalResult
  visit(Operation *event,
        llvm::MapVector<Operation *, SmallVector<Operation *>> &before,
        DenseMap<Operation *, int> &state) {
    if (state[event] == 2)
      return success();
    if (state[event] == 1)
      return event->emitOpError("waits for itself through other roles: "
                                "deadlock");
    state[event] = 1;
    SmallVector<Operation *> earlier = before[event];
    for (Operation *other : earlier)
      if (failed(visit(other, before, state)))
        return failure();
    state[event] = 2;
    return success();
  }

  KernelOp kernel;
  RingSides rings;
};

struct VerifyPipelinesPass final
    : mxgpu::impl::VerifyPipelinesPassBase<VerifyPipelinesPass> {
  void runOnOperation() override {
    if (failed(Verifier(getOperation()).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
