//===- PipelineMmas.cpp - Overlap of MMAs between iterations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain form, each iteration of a loop over K waits for its MMAs and then
// releases their stages. The pass moves each wait `depth` MMAs later and defers
// the releases accordingly.
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

  /// Returns the number of MMAs that may be in flight when the next MMA starts,
  /// at most `depth`. Each iteration with an MMA in flight occupies a stage.
  /// Register operands stay in use until the MMA completes, and the next
  /// iteration needs registers for its own operands, so the number in flight
  /// must be less than the number of MMAs per iteration.
  int64_t limitDepth(int64_t depth) const {
    int64_t perStep = mmas.size();
    for (ConsumerReleaseOp release : releases) {
      RingType ring = release.getStage().getType().getRing();
      depth = std::min(depth, perStep * (ring.getStages() - 1));
    }
    bool readsRegisters = llvm::any_of(mmas, [](MmaOp mma) {
      return isa<FragmentType>(mma.getA().getType());
    });
    return readsRegisters ? std::min(depth, perStep - 1) : depth;
  }

  void pipeline(int64_t depth) {
    moveWaits(depth);
    deferReleases(depth);
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

  /// Replaces the wait for each MMA with a wait for the MMA that started
  /// `depth` MMAs earlier, in this or an earlier iteration.
  void moveWaits(int64_t depth) {
    int64_t perStep = mmas.size();
    SmallVector<Value> current(loop.getRegionIterArgs());
    for (auto [i, mma, wait] : llvm::enumerate(mmas, waits)) {
      mma.getDMutable().assign(current[accumulators[i]]);
      current[accumulators[i]] = mma->getResult(0);
      int64_t before = static_cast<int64_t>(i) - depth % perStep;
      Value &finished =
          current[accumulators[before < 0 ? before + perStep : before]];
      OpBuilder builder(wait);
      finished = MmaWaitOp::create(builder, wait.getLoc(), finished, depth);
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

  /// Releases the stages of an iteration after the first wait that completes
  /// all of its MMAs, which is in a later iteration.
  void deferReleases(int64_t depth) {
    int64_t perStep = mmas.size(), steps = llvm::divideCeil(depth, perStep);
    Operation *wait = waits[depth + perStep - 1 - steps * perStep];
    for (ConsumerReleaseOp release : releases) {
      release.setDeferred(steps);
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
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([&](ForEachKOp loop) {
      FailureOr<PlainLoop> plain = PlainLoop::match(loop);
      if (failed(plain))
        return;
      if (int64_t under = plain->limitDepth(depth); under > 0)
        plain->pipeline(under);
    });
  }
};

} // namespace
