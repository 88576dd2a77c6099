//===- PipelineMmas.cpp - Overlap of MMAs between iterations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain form, each iteration of a loop over K waits for its MMAs and then
// releases their stages. The pass moves each wait one MMA later and defers the
// releases by one iteration.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUPIPELINEMMAS
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

/// A loop in plain form: a wait for the accumulator follows each MMA, so no MMA
/// is in flight at the end of an iteration.
class PlainLoop {
public:
  /// Fails unless the loop is in plain form.
  static FailureOr<PlainLoop> match(ForEachKOp loop) {
    PlainLoop plain(loop);
    if (!plain.matchMmas() || !plain.matchYield() || !plain.matchReleases())
      return failure();
    return plain;
  }

  /// Returns true if an MMA may be in flight when the next MMA starts. It
  /// occupies a stage. Register operands stay in use until the MMA completes,
  /// so another MMA must start before the next iteration reuses them.
  bool canOverlap() const {
    bool readsRegisters = llvm::any_of(mmas, [](MmaOp mma) {
      return isa<FragmentType>(mma.getA().getType());
    });
    return (!readsRegisters || mmas.size() > 1) &&
           llvm::all_of(releases, [](ConsumerReleaseOp release) {
             return release.getStage().getType().getRing().getStages() > 1;
           });
  }

  void pipeline() {
    moveWaits();
    deferReleases();
    finishAfterLoop();
  }

private:
  explicit PlainLoop(ForEachKOp loop) : loop(loop) {}

  /// Returns the index of the carried value that `value` accumulates to.
  std::optional<unsigned> getAccumulator(Value value) {
    if (auto known = accumulatorOf.find(value); known != accumulatorOf.end())
      return known->second;
    auto argument = dyn_cast<BlockArgument>(value);
    auto carried = loop.getRegionIterArgs();
    if (!argument || argument.getOwner() != &loop.getBody().front() ||
        !llvm::is_contained(carried, argument))
      return {};
    return argument.getArgNumber() - carried.front().getArgNumber();
  }

  bool matchMmas() {
    WalkResult nested = loop.walk([&](MmaOp mma) {
      return isAsyncMma(mma) && mma->getParentOp() == loop
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    if (nested.wasInterrupted())
      return false;
    for (Operation &op : loop.getBody().front()) {
      if (auto mma = dyn_cast<MmaOp>(op)) {
        std::optional<unsigned> accumulator = getAccumulator(mma.getD());
        if (!accumulator || mmas.size() != waits.size() || !mma->hasOneUse())
          return false;
        mmas.push_back(mma);
        accumulators.push_back(*accumulator);
        accumulatorOf[mma->getResult(0)] = *accumulator;
      } else if (auto wait = dyn_cast<MmaWaitOp>(op)) {
        if (mmas.size() != waits.size() + 1 ||
            wait.getOperand() != mmas.back()->getResult(0))
          return false;
        waits.push_back(wait);
        accumulatorOf[wait.getResult()] = accumulators.back();
      }
    }
    return !mmas.empty() && waits.size() == mmas.size() &&
           !waits.back().getPending();
  }

  /// Checks that only MMAs and the yield use the accumulators, and that each is
  /// yielded at its own index.
  bool matchYield() {
    for (MmaWaitOp wait : waits)
      for (Operation *user : wait.getResult().getUsers())
        if (!isa<YieldOp>(user) && !(isa<MmaOp>(user) && isAsyncMma(user)))
          return false;
    for (auto [i, value] : llvm::enumerate(loop.getYield().getValues()))
      if (llvm::is_contained(accumulators, i) && getAccumulator(value) != i)
        return false;
    return true;
  }

  /// Matches the releases of the MMAs' stages after the last wait.
  bool matchReleases() {
    llvm::SetVector<Operation *> takes;
    for (MmaOp mma : mmas)
      for (Value operand : {mma.getA(), Value(mma.getB())})
        if (auto take = operand.getDefiningOp<ConsumerWaitOp>();
            take && take->getParentOp() == loop)
          takes.insert(take);
    for (Operation &op : loop.getBody().front())
      if (auto release = dyn_cast<ConsumerReleaseOp>(op);
          release && takes.contains(release.getStage().getDefiningOp())) {
        if (release.getDeferred() || release->isBeforeInBlock(waits.back()))
          return false;
        releases.push_back(release);
      }
    return releases.size() == takes.size();
  }

  /// Replaces the wait for each MMA with a wait for the MMA before, in this or
  /// the previous iteration.
  void moveWaits() {
    SmallVector<Value> current(loop.getRegionIterArgs());
    for (auto [i, mma, wait] : llvm::enumerate(mmas, waits)) {
      mma.getDMutable().assign(current[accumulators[i]]);
      current[accumulators[i]] = mma->getResult(0);
      Value &finished =
          current[accumulators[(i + mmas.size() - 1) % mmas.size()]];
      OpBuilder builder(wait);
      finished =
          MmaWaitOp::create(builder, wait.getLoc(), finished, /*pending=*/1);
    }
    for (unsigned accumulator : accumulators)
      loop.getYield().getValuesMutable()[accumulator].assign(
          current[accumulator]);
    for (MmaWaitOp &wait : waits) {
      auto moved = cast<MmaWaitOp>(wait->getPrevNode());
      wait->erase();
      wait = moved;
    }
  }

  /// Releases the stages of an iteration after the first wait of the next.
  void deferReleases() {
    Operation *wait = waits.front();
    for (ConsumerReleaseOp release : releases) {
      release.setDeferred(1);
      release->moveAfter(wait);
      wait = release;
    }
  }

  void finishAfterLoop() {
    OpBuilder builder(loop->getContext());
    builder.setInsertionPointAfter(loop);
    Location loc = waits.back().getLoc();
    for (auto [i, carried] : llvm::enumerate(loop.getResults())) {
      if (!llvm::is_contained(accumulators, i))
        continue;
      auto wait = MmaWaitOp::create(builder, loc, carried, /*pending=*/0);
      carried.replaceAllUsesExcept(wait.getResult(), wait);
    }
    for (ConsumerReleaseOp release : releases) {
      auto take = release.getStage().getDefiningOp<ConsumerWaitOp>();
      ConsumerTailOp::create(builder, release.getLoc(), take.getRing());
    }
  }

  ForEachKOp loop;
  SmallVector<MmaOp> mmas;
  SmallVector<MmaWaitOp> waits;            // the wait after each MMA
  SmallVector<unsigned> accumulators;      // index of each MMA's accumulator
  SmallVector<ConsumerReleaseOp> releases; // releases of stages that MMAs read
  DenseMap<Value, unsigned> accumulatorOf;
};

struct PipelineMmasPass final
    : mxgpu::impl::MXGPUPipelineMmasBase<PipelineMmasPass> {
  void runOnOperation() override {
    getOperation().walk([&](ForEachKOp loop) {
      FailureOr<PlainLoop> plain = PlainLoop::match(loop);
      if (succeeded(plain) && plain->canOverlap())
        plain->pipeline();
    });
  }
};

} // namespace
