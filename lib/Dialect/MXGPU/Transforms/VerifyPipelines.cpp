//===- VerifyPipelines.cpp - Verification of ring protocols ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No data-dependent control flow encloses ring operations, so a kernel is a
// marked graph (a Petri net without choices). Ring operations are the
// transitions, and the full and empty stages of a ring are tokens.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUVERIFYPIPELINES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

SmallVector<RoleOp> mxgpu::getRoles(ArrayRef<Port> ports) {
  llvm::SetVector<RoleOp> roles;
  for (const Port &port : ports)
    roles.insert(port.role);
  return roles.takeVector();
}

namespace {

class Verifier {
public:
  explicit Verifier(KernelOp kernel) : kernel(kernel) {}

  LogicalResult run() {
    if (failed(verifyWarps(kernel)) || failed(verifyOperands()) ||
        failed(collectPorts()))
      return failure();
    for (auto &[ring, sides] : rings)
      if (failed(verifyRing(cast<RingOp>(ring), sides)))
        return failure();
    if (failed(verifyMmas(kernel)))
      return failure();
    return verifyLiveness(rings, countsIterations);
  }

private:
  /// Fails unless operations use stages and buffers directly as an acquire or
  /// wait returns them. Values passed through other operations would hide uses.
  LogicalResult verifyOperands() {
    WalkResult result = kernel.walk<WalkOrder::PreOrder>([](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (!isa<StageType, BufferType>(operand.getType()))
          continue;
        if (!isa_and_present<MXGPUDialect>(op->getDialect()) ||
            op->getNumRegions()) {
          op->emitOpError("expected stages and their buffers to be used only "
                          "by mxgpu operations without regions"); // kernel C14
          return WalkResult::interrupt();
        }
        if (!isa_and_present<ProducerAcquireOp, ConsumerWaitOp>(
                operand.getDefiningOp())) {
          // kernel C15
          InFlightDiagnostic diag =
              op->emitOpError("expected the result of ")
              << ProducerAcquireOp::getOperationName() << " or "
              << ConsumerWaitOp::getOperationName()
              << ", found another value of type " << operand.getType();
          diag.attachNote(operand.getLoc()) << "defined here";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  template <typename TakeOp, typename GiveOp>
  LogicalResult collect(TakeOp take, SmallVector<Port, 1> Sides::*side) {
    auto ring = take.getRing().template getDefiningOp<RingOp>();
    RoleOp role = getRole(take);
    for (Operation *loop : getLoops(take)) // kernel C16
      if (!isa<ForEachWorkTileOp, ForEachKOp>(loop))
        return take.emitOpError(
                   "expected to be nested only in mxgpu loops, found ")
               << loop->getName().getStringRef();
    auto &ports = rings[ring].*side;
    auto other = llvm::find_if(
        ports, [&](const Port &port) { return port.role != role; });
    if (other != ports.end() &&
        !(isa<ConsumerWaitOp>(take) && isShared(ring.getType()))) {
      // kernel C17
      InFlightDiagnostic diag = take.emitOpError("expected one role with ")
                                << take->getName().getStringRef()
                                << " of the ring, found a second role";
      diag.attachNote(other->take->getLoc()) << "here";
      return diag;
    }
    Port &port = ports.emplace_back();
    port.role = role;
    port.take = take;
    for (Operation *user : take.getStage().getUsers()) {
      if (!isa<GiveOp>(user))
        continue;
      if (port.give) {
        // Uses are unordered.
        if (user->getBlock() == port.give->getBlock() &&
            user->isBeforeInBlock(port.give))
          std::swap(user, port.give);
        InFlightDiagnostic diag =
            user->emitOpError("expected the stage to be released once, found a "
                              "second release"); // kernel C18
        diag.attachNote(port.give->getLoc()) << "first release here";
        return diag;
      }
      port.give = user;
    }
    if (!port.give) // kernel C19
      return take.emitOpError("expected the stage to be released by ")
             << GiveOp::getOperationName() << ", found none";
    if (port.give->getBlock() != take->getBlock()) // kernel C20
      return port.give->emitOpError(
          "expected to be in the block that takes the stage");
    return success();
  }

  /// Returns true if several roles may consume a ring. Each of these roles
  /// reads every stage, and none writes it.
  static bool isShared(RingType type) {
    return type.getConsumer() == AsyncKind::Roles ||
           (type.isEmptiedByThreads() && !type.isPair() &&
            type.getProducer() != AsyncKind::MmaCommit);
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
            acquire, &Sides::producers);
      else if (auto consume = dyn_cast<ConsumerWaitOp>(op))
        collected = collect<ConsumerWaitOp, ConsumerReleaseOp>(
            consume, &Sides::consumers);
      return failed(collected) ? WalkResult::interrupt()
                               : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult verifyRing(RingOp ring, const Sides &sides) {
    if (sides.producers.empty() || sides.consumers.empty()) // kernel C22
      return ring.emitOpError("expected a role that ")
             << (sides.producers.empty() ? "produces" : "consumes")
             << " its stages, found none";
    RoleOp producer = sides.producers.front().role;
    SmallVector<RoleOp> consumers = getRoles(sides.consumers);
    if (ring.getType().getConsumer() == AsyncKind::Roles) {
      if (failed(verifyRequests(ring, sides)))
        return failure();
    } else if (llvm::is_contained(consumers, producer))
      return ring.emitOpError("expected different roles to produce and consume "
                              "the ring, found ") // kernel C23
             << producer.getSymNameAttr() << " twice";
    if (failed(verifyAsyncKind(ring, producer, ring.getType().getProducer(),
                               ring.getType().getProducerThreads(),
                               getThreads(producer))))
      return failure();
    int64_t threads = 0;
    for (RoleOp consumer : consumers)
      threads += getThreads(consumer);
    for (RoleOp consumer : consumers) {
      TakesOfSides takes = compareTakes(ring, producer, consumer);
      countsIterations |= takes == TakesOfSides::SameNumber;
      if (takes == TakesOfSides::Different) {
        // kernel C24
        InFlightDiagnostic diag =
            ring.emitOpError("expected producer and consumer to take equally "
                             "many stages in the same loops");
        diag.attachNote(sides.producers.front().take->getLoc())
            << "acquired here";
        for (const Port &port : sides.consumers)
          if (port.role == consumer) {
            diag.attachNote(port.take->getLoc()) << "consumed here";
            break;
          }
        return diag;
      }
      if (failed(verifyAsyncKind(ring, consumer, ring.getType().getConsumer(),
                                 ring.getType().getConsumerThreads(), threads)))
        return failure();
    }
    if (failed(verifyReleases(ring, sides)) || failed(verifyPair(ring, sides)))
      return failure();
    return verifyFilled(ring, sides);
  }

  /// Fails unless the requesting role consumes each answer in the iteration of
  /// the request, and therefore ends its loop after a failed request. Requests
  /// after a failure are undefined (PTX ISA, clusterlaunchcontrol.try_cancel).
  LogicalResult verifyRequests(RingOp ring, const Sides &sides) {
    const Port &producer = sides.producers.front();
    for (ArrayRef<Port> ports :
         {ArrayRef(sides.producers), ArrayRef(sides.consumers)}) {
      llvm::SmallDenseSet<Operation *> roles;
      for (const Port &port : ports)
        if (!roles.insert(port.role).second) // kernel C26
          return port.take->emitOpError("expected one ")
                 << port.take->getName() << " of the ring in role "
                 << RoleOp(port.role).getSymNameAttr() << ", found another";
    }
    if (llvm::none_of(sides.consumers, [&](const Port &port) {
          return port.role == producer.role &&
                 port.take->getBlock() == producer.give->getBlock() &&
                 producer.give->isBeforeInBlock(port.take);
        })) // kernel C27
      return producer.give->emitOpError(
          "expected the requesting role to consume the answer in the same "
          "iteration");
    return success();
  }

  static int64_t getThreads(RoleOp role) {
    return role.getElected() ? 1 : role.getWarps() * 32;
  }

  /// Verifies the threads that fill or empty a ring. One elected thread drives
  /// the copy engine or the tensor core, and one warp finds expert groups.
  /// `threads(n)` and `async_threads(n)` require n threads in the role, or in
  /// all roles that consume the ring.
  LogicalResult verifyAsyncKind(RingOp ring, RoleOp role, AsyncKind asyncKind,
                                int64_t threads, int64_t found) {
    if (asyncKind == AsyncKind::Roles)
      return success();
    if (asyncKind == AsyncKind::Groups) {
      if (!role.getElected() && role.getWarps() == 1)
        return success();
      return role.emitOpError("expected a role with 1 warp and without "
                              "'elected' for groups of ring \"") // kernel C28
             << ring.getName() << '"';
    }
    if (!hasThreads(asyncKind)) {
      if (role.getElected())
        return success();
      return role.emitOpError("expected an elected role for ") // kernel C29
             << stringifyAsyncKind(asyncKind) << " of ring \"" << ring.getName()
             << '"';
    }
    if (found == threads)
      return success();
    return role.emitOpError("expected ") // kernel C30
           << threads << " threads for ring \"" << ring.getName()
           << "\", found " << found;
  }

  KernelOp kernel;
  RingSides rings;
  /// True if the sides of some ring take equally many stages only because trip
  /// counts are known.
  bool countsIterations = false;
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
