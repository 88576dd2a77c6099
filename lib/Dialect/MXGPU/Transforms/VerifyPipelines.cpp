//===- VerifyPipelines.cpp - Verification of ring protocols ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Roles are sequences of loops without data-dependent control flow around ring
// operations, so a ring is a place of a marked graph: producers add tokens,
// consumers remove as many, and the initial tokens are the empty stages.
//
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
  /// Requires direct uses of the stages and buffers that a take returns, so
  /// that no operation hides a use by passing the values on.
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
          InFlightDiagnostic diag = op->emitOpError("expected the result of ")
                                    << ProducerAcquireOp::getOperationName()
                                    << " or "
                                    << ConsumerWaitOp::getOperationName()
                                    << ", found another " << operand.getType();
          diag.attachNote(operand.getLoc()) << "it comes from here";
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
    // kernel C16
    for (Operation *loop : getLoops(take))
      if (!isa<ForEachWorkTileOp, ForEachKOp>(loop))
        return take.emitOpError("expected only mxgpu loops around it, found ")
               << loop->getName().getStringRef();
    auto &ports = rings[ring].*side;
    auto other = llvm::find_if(
        ports, [&](const Port &port) { return port.role != role; });
    if (other != ports.end() &&
        !(isa<ConsumerWaitOp>(take) && isShared(ring.getType()))) {
      // kernel C17
      InFlightDiagnostic diag = take.emitOpError("expected one role with ")
                                << take->getName().getStringRef()
                                << " of the ring, found another";
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
        // kernel C18
        InFlightDiagnostic diag =
            user->emitOpError("expected the stage to be released once, found "
                              "a second time");
        diag.attachNote(port.give->getLoc()) << "first here";
        return diag;
      }
      port.give = user;
    }
    // kernel C19
    if (!port.give)
      return take.emitOpError("expected the stage to be released by ")
             << GiveOp::getOperationName() << ", found no use of it";
    // kernel C20
    if (port.give->getBlock() != take->getBlock())
      return port.give->emitOpError(
          "expected to be in the block that takes the stage");
    return success();
  }

  /// Returns true if several roles may consume a ring: each consumes every
  /// stage, and none changes it.
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
    // kernel C22
    if (sides.producers.empty() || sides.consumers.empty())
      return ring.emitOpError("expected a role that ")
             << (sides.producers.empty() ? "produces" : "consumes")
             << " its stages, found none";
    RoleOp producer = sides.producers.front().role;
    SmallVector<RoleOp> consumers = getRoles(sides.consumers);
    if (ring.getType().getConsumer() == AsyncKind::Roles) {
      if (failed(verifyRequests(ring, sides)))
        return failure();
    } else if (llvm::is_contained(consumers, producer))
      // kernel C23
      return ring.emitOpError("expected different roles to produce and "
                              "consume, found ")
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
        InFlightDiagnostic diag = ring.emitOpError(
            "expected as many stages acquired as consumed, in the same loops");
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

  /// Requires the requesting role to wait for each answer before the next
  /// request, and to leave its loop after a failed one: requests after a
  /// failure are undefined (PTX ISA, clusterlaunchcontrol.try_cancel).
  LogicalResult verifyRequests(RingOp ring, const Sides &sides) {
    const Port &producer = sides.producers.front();
    for (ArrayRef<Port> ports :
         {ArrayRef(sides.producers), ArrayRef(sides.consumers)}) {
      llvm::SmallDenseSet<Operation *> roles;
      for (const Port &port : ports)
        // kernel C26
        if (!roles.insert(port.role).second)
          return port.take->emitOpError("expected one ")
                 << port.take->getName() << " of the ring in role "
                 << RoleOp(port.role).getSymNameAttr() << ", found another";
    }
    // kernel C27
    if (llvm::none_of(sides.consumers, [&](const Port &port) {
          return port.role == producer.role &&
                 port.take->getBlock() == producer.give->getBlock() &&
                 producer.give->isBeforeInBlock(port.take);
        }))
      return producer.give->emitOpError(
          "expected its role to consume the answer in the same iteration");
    return success();
  }

  static int64_t getThreads(RoleOp role) {
    return role.getElected() ? 1 : role.getWarps() * 32;
  }

  /// Verifies the threads of a kind: a single thread drives the copy engine and
  /// the tensor core, a warp finds expert groups; `threads(n)` and
  /// `async_threads(n)` are all threads of a role, or of the roles that consume
  /// a ring together.
  LogicalResult verifyAsyncKind(RingOp ring, RoleOp role, AsyncKind asyncKind,
                                int64_t threads, int64_t found) {
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
  /// True if sides of a ring agree only by known trip counts.
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
