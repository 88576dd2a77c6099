//===- TestBreak.cpp - Broken kernels for tests of safety checks ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Safety checks must refuse unsafe kernels. To test the checks, these passes
// break safe kernels.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// Returns true if `op` waits for a stage, as a producer or a consumer.
bool isAcquire(Operation *op) {
  return isa<ProducerAcquireOp, ConsumerWaitOp>(op);
}
/// Returns true if `op` is a producer's commit or a consumer's release.
bool isRelease(Operation *op) {
  return isa<ProducerCommitOp, ConsumerReleaseOp>(op);
}

Operation *findRelease(Operation *acquire) {
  for (Operation *user : acquire->getUsers())
    if (isRelease(user))
      return user;
  return nullptr;
}

/// Returns the next acquire in the same block.
Operation *findNextAcquire(Operation *acquire) {
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode())
    if (isAcquire(op))
      return op;
  return nullptr;
}

/// Returns the only user of a stage or its buffers, not counting the release,
/// if this user is in a nested block. It may use the stage several times.
Operation *findInnerUser(Operation *acquire) {
  Operation *inner = nullptr;
  for (Operation *user : acquire->getUsers()) {
    if (isRelease(user) || user == inner)
      continue;
    if (std::exchange(inner, user))
      return nullptr;
  }
  return inner && inner->getBlock() != acquire->getBlock() ? inner : nullptr;
}

/// Returns the loop over the columns of an accumulator that `drain` reads, if
/// these columns are not shared with another accumulator.
scf::ForOp findLoopOverRest(EpilogueColumnOp drain) {
  auto argument = dyn_cast<BlockArgument>(drain.getPlace());
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && drain.isRest() ? loop : scf::ForOp();
}

struct Breakage {
  StringRef kind;
  /// Returns true if the breakage applies to `op`.
  bool (*applies)(Operation *op);
  void (*apply)(Operation *op);
};

void erase(Operation *op) { op->erase(); }

/// Reduces the ring to a single stage.
void shrink(Operation *op) {
  auto ring = cast<RingOp>(op);
  RingType old = ring.getType();
  auto type = RingType::getChecked(
      [&] { return ring.emitOpError(); }, op->getContext(), int64_t(1),
      old.getNames(), old.getBuffers(), old.getProducer(),
      old.getProducerThreads(), old.getConsumer(), old.getConsumerThreads(),
      old.getScope(), old.getOverlap());
  if (!type)
    return;
  ring.getResult().setType(type);
  for (Operation *user : ring->getUsers())
    if (isAcquire(user))
      user->getResult(0).setType(StageType::get(op->getContext(), type));
}

/// Releases a stage twice.
void repeat(Operation *op) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  builder.clone(*op);
}

/// Releases a stage directly after its acquire.
void hoist(Operation *op) {
  Operation *acquire = op->getOperand(0).getDefiningOp();
  op->moveAfter(acquire);
}

/// Returns true if other operations use the stage that `op` releases.
bool canHoist(Operation *op) {
  Operation *acquire = op->getOperand(0).getDefiningOp();
  return llvm::any_of(acquire->getUsers(),
                      [&](Operation *user) { return user != op; });
}

/// Moves the acquire and the release of a stage to their user in a loop.
void sink(Operation *op) {
  Operation *inner = findInnerUser(op), *release = findRelease(op);
  op->moveBefore(inner);
  release->moveAfter(inner);
}

/// Starts the loop one step earlier, in shared columns.
void drainEarlier(Operation *op) {
  scf::ForOp loop = findLoopOverRest(cast<EpilogueColumnOp>(op));
  OpBuilder builder(loop);
  loop.setLowerBound(arith::ConstantIndexOp::create(
      builder, loop.getLoc(),
      *getConstantIntValue(loop.getLowerBound()) -
          *getConstantIntValue(loop.getStep())));
}

/// Starts the loop half a step later, so it crosses the end of the columns.
void drainAskew(Operation *op) {
  scf::ForOp loop = findLoopOverRest(cast<EpilogueColumnOp>(op));
  OpBuilder builder(loop);
  loop.setLowerBound(arith::ConstantIndexOp::create(
      builder, loop.getLoc(),
      *getConstantIntValue(loop.getLowerBound()) +
          *getConstantIntValue(loop.getStep()) / 2));
}

bool readsRest(Operation *op) {
  auto drain = dyn_cast<EpilogueColumnOp>(op);
  return drain && findLoopOverRest(drain);
}

void dropEmpty(Operation *op) {
  if (auto publish = dyn_cast<ProducerCommitOp>(op))
    publish.getEmptyMutable().clear();
  else
    cast<LoadAccumulatorOp>(op).getEmptyMutable().clear();
}

/// Gives the CTAs of a pair different trip counts. The roles of each CTA still
/// agree with each other.
void countByRank(Operation *op) {
  auto kernel = cast<KernelOp>(op);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value rank = CtaRankOp::create(builder, op->getLoc());
  kernel.walk([&](ForEachKOp loop) { loop->setOperand(0, rank); });
}

const Breakage kBreakages[] = {
    {"drop-release", [](Operation *op) { return isa<ConsumerReleaseOp>(op); },
     erase},
    {"drop-publish", [](Operation *op) { return isa<ProducerCommitOp>(op); },
     erase},
    {"drop-load", [](Operation *op) { return isa<TmaLoadOp>(op); }, erase},
    {"drop-store",
     [](Operation *op) { return isa<StoreSharedOp, TmaStoreOp>(op); }, erase},
    // An operation whose accumulator result is used cannot be erased alone.
    {"drop-mma",
     [](Operation *op) { return isa<MmaOp>(op) && op->use_empty(); }, erase},
    {"drop-empty",
     [](Operation *op) {
       return isa<ProducerCommitOp, LoadAccumulatorOp>(op) &&
              llvm::any_of(op->getOperandTypes(),
                           [](Type type) { return type.isInteger(1); });
     },
     dropEmpty},
    {"drop-multicast",
     [](Operation *op) {
       auto load = dyn_cast<TmaLoadOp>(op);
       return load && load.getMulticast();
     },
     [](Operation *op) { cast<TmaLoadOp>(op).setMulticast(false); }},
    {"double-release", [](Operation *op) { return isRelease(op); }, repeat},
    {"read-after-release",
     [](Operation *op) { return isRelease(op) && canHoist(op); }, hoist},
    {"late-acquire",
     [](Operation *op) { return isAcquire(op) && findInnerUser(op); }, sink},
    {"swap-acquires",
     [](Operation *op) { return isAcquire(op) && findNextAcquire(op); },
     [](Operation *op) { findNextAcquire(op)->moveBefore(op); }},
    {"shrink-ring", [](Operation *op) { return isa<RingOp>(op); }, shrink},
    {"flip-leader",
     [](Operation *op) {
       auto role = dyn_cast<RoleOp>(op);
       return role && role->getParentOfType<KernelOp>().isPair();
     },
     [](Operation *op) {
       auto role = cast<RoleOp>(op);
       role.setOnLeader(!role.getOnLeader());
     }},
    {"flip-scope",
     [](Operation *op) {
       auto ring = dyn_cast<RingOp>(op);
       return ring && ring->getParentOfType<KernelOp>().isPair() &&
              ring.getType().isPair();
     },
     [](Operation *op) { op->getParentOfType<KernelOp>().setCluster(1); }},
    {"count-by-rank",
     [](Operation *op) {
       auto kernel = dyn_cast<KernelOp>(op);
       return kernel && kernel.isPair();
     },
     countByRank},
    {"drain-earlier", readsRest, drainEarlier},
    {"drain-askew", readsRest, drainAskew},
};

/// Returns the operations in `root` to which a breakage applies, in order.
SmallVector<Operation *> findPlaces(Operation *root, const Breakage &breakage) {
  SmallVector<Operation *> places;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (breakage.applies(op))
      places.push_back(op);
  });
  return places;
}

/// Breaks the n-th operation to which a breakage applies.
struct TestBreakPass final
    : PassWrapper<TestBreakPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBreakPass)
  TestBreakPass() = default;
  TestBreakPass(const TestBreakPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-mxgpu-break"; }
  StringRef getDescription() const override {
    return "break the n-th operation of a kind in kernels";
  }

  void runOnOperation() override {
    const auto *breakage = llvm::find_if(
        kBreakages, [&](const Breakage &b) { return b.kind == kind; });
    if (breakage == std::end(kBreakages)) {
      getOperation().emitError("unknown kind of breakage '") << kind << "'";
      return signalPassFailure();
    }
    SmallVector<Operation *> places = findPlaces(getOperation(), *breakage);
    if (n >= places.size()) {
      getOperation().emitError("expected a place below ")
          << places.size() << " of " << kind << ", found " << n.getValue();
      return signalPassFailure();
    }
    breakage->apply(places[n]);
  }

  Option<std::string> kind{*this, "kind", llvm::cl::desc("Kind of breakage")};
  Option<unsigned> n{*this, "n", llvm::cl::desc("Index of the operation"),
                     llvm::cl::init(0)};
};

/// Breaks each of these operations in turn, each in a copy of the kernels, and
/// reports the result of verification.
struct TestBreakEachPass final
    : PassWrapper<TestBreakEachPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBreakEachPass)

  StringRef getArgument() const override { return "test-mxgpu-break-each"; }
  StringRef getDescription() const override {
    return "break each operation in turn and print the result of verification";
  }

  void runOnOperation() override {
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>()) {
      llvm::outs() << "as it is: " << check(module, nullptr, 0) << "\n";
      for (const Breakage &breakage : kBreakages)
        for (size_t n : llvm::seq(findPlaces(module, breakage).size()))
          llvm::outs() << breakage.kind << " " << n << ": "
                       << check(module, &breakage, n) << "\n";
    }
    markAllAnalysesPreserved();
  }

private:
  /// Returns the first error for a broken copy of `module`, or reports that the
  /// copy is accepted.
  static std::string check(gpu::GPUModuleOp module, const Breakage *breakage,
                           size_t n) {
    std::string error;
    ScopedDiagnosticHandler handler(module.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      if (error.empty())
                                        error = diagnostic.str();
                                    });
    // Verifiers of other dialects look up a data layout in the enclosing
    // module.
    OwningOpRef<ModuleOp> host = ModuleOp::create(module.getLoc());
    gpu::GPUModuleOp copy = module.clone();
    host->push_back(copy);
    if (breakage)
      breakage->apply(findPlaces(copy, *breakage)[n]);
    PassManager passes(module.getContext(),
                       gpu::GPUModuleOp::getOperationName());
    passes.addPass(createMXGPUVerifyPipelines());
    passes.addPass(createMXGPUVerifyResources());
    if (error.empty() && succeeded(verify(copy)) && succeeded(passes.run(copy)))
      return "accepted";
    return "rejected, " + error;
  }
};

} // namespace

namespace mx::test {
void registerBreakPasses() {
  PassRegistration<TestBreakPass>();
  PassRegistration<TestBreakEachPass>();
}
} // namespace mx::test
