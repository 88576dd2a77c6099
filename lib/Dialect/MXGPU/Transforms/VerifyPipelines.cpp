//===- VerifyPipelines.cpp - Prove a kernel's rings safe ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Roles are sequences of loops without data-dependent control flow around the
// rings, so that a ring is a place in a marked graph: a producer puts one token
// in per iteration, a consumer takes one out, and the initial tokens are the
// empty stages.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUVERIFYPIPELINES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

class Verifier {
public:
  explicit Verifier(KernelOp kernel) : kernel(kernel) {}

  LogicalResult run() {
    if (failed(verifyOperands()) || failed(collectPorts()))
      return failure();
    for (auto &[ring, sides] : rings)
      if (failed(verifyRing(cast<RingOp>(ring), sides)))
        return failure();
    if (failed(verifyMmas(kernel)))
      return failure();
    return verifyLiveness(rings);
  }

private:
  /// Uses of a stage and its buffers are those of the values that a take gives:
  /// none is hidden by an operation that passes them on, or has them from
  /// elsewhere.
  LogicalResult verifyOperands() {
    WalkResult result = kernel.walk<WalkOrder::PreOrder>([](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (!isa<StageType, BufferType>(operand.getType()))
          continue;
        if (!isa_and_present<MXGPUDialect>(op->getDialect()) ||
            op->getNumRegions()) {
          // kernel C14
          op->emitOpError("expected only operations of mxgpu, and no loops, to "
                          "take a stage or its buffers");
          return WalkResult::interrupt();
        }
        if (!isa_and_present<ProducerAcquireOp, ConsumerWaitOp>(
                operand.getDefiningOp())) {
          // kernel C15
          InFlightDiagnostic diag =
              op->emitOpError("expected what ")
              << ProducerAcquireOp::getOperationName() << " or "
              << ConsumerWaitOp::getOperationName() << " gave, found another "
              << operand.getType();
          diag.attachNote(operand.getLoc()) << "it comes from here";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  template <typename TakeOp, typename GiveOp>
  LogicalResult collect(TakeOp take, Port Sides::*side) {
    auto ring = take.getRing().template getDefiningOp<RingOp>();
    RoleOp role = getRole(take);
    // kernel C16
    for (Operation *loop : getLoops(take))
      if (!isa<ForEachWorkTileOp, ForEachKOp>(loop))
        return take.emitOpError("expected only mxgpu loops around it, found ")
               << loop->getName().getStringRef();
    Sides &sides = rings[ring];
    Port *place = &(sides.*side);
    if (place->take && isa<ConsumerWaitOp>(take) && isShared(ring, sides, role))
      place = &sides.others.emplace_back();
    Port &port = *place;
    if (port.take) {
      // kernel C17
      InFlightDiagnostic diag = take.emitOpError("expected one ")
                                << take->getName().getStringRef()
                                << " of the ring, found another";
      diag.attachNote(port.take->getLoc()) << "here";
      return diag;
    }
    port.role = role;
    port.take = take;
    for (Operation *user : take.getStage().getUsers()) {
      if (!isa<GiveOp>(user))
        continue;
      if (port.give) {
        // Uses come in no order.
        if (user->getBlock() == port.give->getBlock() &&
            user->isBeforeInBlock(port.give))
          std::swap(user, port.give);
        // kernel C18
        InFlightDiagnostic diag =
            user->emitOpError("expected the stage to be given back once, found "
                              "a second time");
        diag.attachNote(port.give->getLoc()) << "first here";
        return diag;
      }
      port.give = user;
    }
    // kernel C19
    if (!port.give)
      return take.emitOpError("expected the stage to be given back by ")
             << GiveOp::getOperationName() << ", found no use of it";
    // kernel C20
    if (port.give->getBlock() != take->getBlock())
      return port.give->emitOpError(
          "expected to be in the block that takes the stage");
    if (auto release = dyn_cast<ConsumerReleaseOp>(port.give);
        release && release.getDeferred())
      return verifyDeferred(release, ring);
    for (Operation *user : take->getUsers()) {
      Operation *ancestor = take->getBlock()->findAncestorOpInBlock(*user);
      if (user != port.give && !ancestor->isBeforeInBlock(port.give) &&
          !isReadOfRest(user)) {
        // kernel C21
        InFlightDiagnostic diag = user->emitOpError(
            "expected to use the stage before it is given back");
        diag.attachNote(port.give->getLoc()) << "given back here";
        return diag;
      }
    }
    return success();
  }

  /// A stage that is kept for an iteration: another must be there to go on
  /// with, and the last is released after the loop.
  static LogicalResult verifyDeferred(ConsumerReleaseOp release, RingOp ring) {
    // kernel C70
    if (ring.getType().getStages() < 2)
      return release.emitOpError("expected a ring of at least 2 stages for a "
                                 "deferred release, found 1");
    auto loop = dyn_cast<ForEachKOp>(release->getParentOp());
    // kernel C71
    if (!loop)
      return release.emitOpError("expected a deferred release in ")
             << ForEachKOp::getOperationName() << ", found "
             << release->getParentOp()->getName();
    int64_t tails = 0;
    for (Operation *user : ring->getUsers())
      tails += isa<ConsumerTailOp>(user) && getRole(user) == getRole(release) &&
               user->getBlock() == loop->getBlock() &&
               loop->isBeforeInBlock(user);
    // kernel C72
    if (tails != 1)
      return release.emitOpError("expected one ")
             << ConsumerTailOp::getOperationName()
             << " of the ring after the loop, in its block, found " << tails;
    return success();
  }

  /// A tail without a deferred release would wait for a stage that no role
  /// releases.
  static LogicalResult verifyTail(ConsumerTailOp tail) {
    for (Operation *user : tail.getRing().getUsers()) {
      auto wait = dyn_cast<ConsumerWaitOp>(user);
      if (!wait || getRole(wait) != getRole(tail))
        continue;
      for (Operation *give : wait.getStage().getUsers())
        if (auto release = dyn_cast<ConsumerReleaseOp>(give);
            release && release.getDeferred() &&
            release->getParentOp()->getBlock() == tail->getBlock())
          return success();
    }
    // kernel C73
    return tail.emitOpError("expected a deferred release of the ring in a loop "
                            "before it, found none");
  }

  /// Whether `role` may consume the ring beside those that do: each has a turn
  /// of its own, and what they read does not change.
  static bool isShared(RingOp ring, const Sides &sides, RoleOp role) {
    RingType type = ring.getType();
    if (type.getConsumer() == AsyncKind::Roles)
      return true;
    return type.isEmptiedByThreads() && !type.isPair() &&
           type.getProducer() != AsyncKind::MmaCommit &&
           llvm::none_of(sides.getConsumers(),
                         [&](const Port &port) { return port.role == role; });
  }

  LogicalResult collectPorts() {
    for (auto ring : kernel.getBody().getOps<RingOp>()) {
      if (!ring.getType().isStaging())
        rings[ring];
      else if (failed(verifyStaging(ring)))
        return failure();
    }
    WalkResult result = kernel.walk([&](Operation *op) {
      LogicalResult collected = success();
      if (auto acquire = dyn_cast<ProducerAcquireOp>(op);
          acquire && acquire.getRing().getType().isStaging())
        return WalkResult::advance();
      else if (acquire)
        collected = collect<ProducerAcquireOp, ProducerCommitOp>(
            acquire, &Sides::producer);
      else if (auto consume = dyn_cast<ConsumerWaitOp>(op))
        collected = collect<ConsumerWaitOp, ConsumerReleaseOp>(
            consume, &Sides::consumer);
      else if (auto tail = dyn_cast<ConsumerTailOp>(op))
        collected = verifyTail(tail);
      return failed(collected) ? WalkResult::interrupt()
                               : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult verifyRing(RingOp ring, const Sides &sides) {
    Port producer = sides.producer, consumer = sides.consumer;
    // kernel C22
    if (!producer.take || !consumer.take)
      return ring.emitOpError("expected a role that ")
             << (producer.take ? "consumes" : "produces")
             << " its stages, found none";
    if (ring.getType().getConsumer() == AsyncKind::Roles) {
      if (failed(verifyRequests(ring, sides)))
        return failure();
    } else if (producer.role == consumer.role)
      // kernel C23
      return ring.emitOpError("expected different roles to produce and "
                              "consume, found ")
             << producer.role.getSymNameAttr() << " twice";
    if (failed(verifyAsyncKind(ring, producer, ring.getType().getProducer(),
                               ring.getType().getProducerThreads(),
                               getThreads(producer))))
      return failure();
    int64_t threads = 0;
    for (Port port : sides.getConsumers())
      threads += getThreads(port);
    for (Port port : sides.getConsumers()) {
      if (!isSameNest(getLoops(producer.take), getLoops(port.take))) {
        // kernel C24
        InFlightDiagnostic diag = ring.emitOpError(
            "expected the same loops around acquire and consume");
        diag.attachNote(producer.take->getLoc()) << "acquired here";
        diag.attachNote(port.take->getLoc()) << "consumed here";
        return diag;
      }
      if (failed(verifyAsyncKind(ring, port, ring.getType().getConsumer(),
                                 ring.getType().getConsumerThreads(), threads)))
        return failure();
    }
    if (failed(verifyPair(ring, sides)))
      return failure();
    return verifyFilled(ring, sides);
  }

  /// PTX ISA, clusterlaunchcontrol.try_cancel: who has seen a request fail must
  /// not make another. So the role that asks waits for each answer before it
  /// asks again, and like all others leaves its loop where there is none.
  LogicalResult verifyRequests(RingOp ring, const Sides &sides) {
    Port producer = sides.producer;
    bool waits = false;
    llvm::SmallDenseSet<Operation *> roles;
    for (Port port : sides.getConsumers()) {
      // kernel C26
      if (!roles.insert(port.role).second)
        return port.take->emitOpError(
                   "expected one mxgpu.consumer_wait of the ring in role ")
               << port.role.getSymNameAttr() << ", found another";
      waits |= port.role == producer.role &&
               port.take->getBlock() == producer.give->getBlock() &&
               producer.give->isBeforeInBlock(port.take);
    }
    // kernel C27
    if (!waits)
      return producer.give->emitOpError(
          "expected its role to consume the answer in the same iteration");
    return success();
  }

  static int64_t getThreads(Port port) {
    return port.role.getElected() ? 1 : port.role.getWarps() * 32;
  }

  /// One thread drives the copy engine and the tensor core, a warp looks for
  /// groups; `threads(n)` and `async_threads(n)` are all threads of a role, or
  /// of the roles that consume a ring together.
  LogicalResult verifyAsyncKind(RingOp ring, Port port, AsyncKind asyncKind,
                                int64_t threads, int64_t found) {
    RoleOp role = port.role;
    if (asyncKind == AsyncKind::Roles)
      return success();
    if (asyncKind == AsyncKind::Groups) {
      if (!role.getElected() && role.getWarps() == 1)
        return success();
      // kernel C28
      return role.emitOpError("expected a role of 1 warp, not elected, for "
                              "groups of ring \"")
             << ring.getName() << '"';
    }
    if (!hasThreads(asyncKind)) {
      if (role.getElected())
        return success();
      // kernel C29
      return role.emitOpError("expected an elected role for ")
             << stringifyAsyncKind(asyncKind) << " of ring \"" << ring.getName()
             << '"';
    }
    if (found == threads)
      return success();
    // kernel C30
    return role.emitOpError("expected ")
           << threads << " threads for ring \"" << ring.getName()
           << "\", found " << found;
  }

  KernelOp kernel;
  RingSides rings;
};

struct VerifyPipelinesPass final
    : mxgpu::impl::MXGPUVerifyPipelinesBase<VerifyPipelinesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(Verifier(kernel).run()))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
