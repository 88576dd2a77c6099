//===- VerifyMmas.cpp - Waits for asynchronous MMAs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous MMA may still read its operands and write its accumulator
// after the next operation starts. Until an mxgpu.mma_wait completes the MMA,
// its stages must not be released and its accumulator must not be used.
// Register operands need no check, because SSA values never change.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

bool mxgpu::isAsyncMma(Operation *op) {
  auto mma = dyn_cast<MmaOp>(op);
  return mma && mma.getKind().getRoles().completion ==
                    target::MmaCompletion::WaitGroup;
}

/// Returns a lower bound on the MMAs started between two operations of a block.
/// MMAs complete in the order of their start (PTX ISA, wgmma.wait_group).
static int64_t countStarted(Operation *first, Operation *end) {
  int64_t started = 0;
  for (Operation *op = first; op != end; op = op->getNextNode())
    started += isAsyncMma(op);
  return started;
}

/// Returns true if `mma` is complete after `wait`: the wait leaves no MMA
/// pending, or at most as many as start between both operations in their block.
/// With `inNext` the wait is in the next iteration.
static bool finishes(MmaOp mma, MmaWaitOp wait, bool inNext) {
  if (!wait.getPending())
    return true;
  Block *block = mma->getBlock();
  if (block != wait->getBlock())
    return false;
  Operation *following = mma->getNextNode();
  int64_t later = inNext ? countStarted(following, /*end=*/nullptr) +
                               countStarted(&block->front(), wait)
                         : countStarted(following, wait);
  return static_cast<int64_t>(wait.getPending()) <= later;
}

namespace {

/// Data-flow analysis of a role. The state at a program point is the union over
/// all paths to the point of
/// - the MMAs that may be in flight, each with the number of MMAs started later
///   and the number of stages taken after the stage that the MMA reads;
/// - the takes of the ring, each with the number of later takes.
class MmasInFlight {
public:
  LogicalResult verify(RoleOp role) {
    State state;
    return run(role.getBody().front(), state);
  }

private:
  struct Read {
    Operation *op; // an MMA or a take
    Operation *ring;
    int64_t taken, started;

    bool operator<(const Read &other) const {
      return std::tuple(op, ring, taken, started) <
             std::tuple(other.op, other.ring, other.taken, other.started);
    }
  };
  using State = std::set<Read>;

  /// Upper limit of `started`. No wait leaves so many MMAs pending.
  static constexpr int64_t kManyStarted = 64;

  LogicalResult run(Block &block, State &state) {
    for (Operation &op : block)
      if (failed(run(op, state)))
        return failure();
    // A stage is used and released only in the block that takes it.
    change(state, [&](Read &read) {
      return isa<MmaOp>(read.op) || read.op->getBlock() != &block;
    });
    return success();
  }

  LogicalResult run(Operation &op, State &state) {
    if (op.getNumRegions())
      return runRegions(op, state);
    if (auto wait = dyn_cast<ConsumerWaitOp>(op))
      take(wait, state);
    else if (auto mma = dyn_cast<MmaOp>(op); mma && isAsyncMma(mma))
      start(mma, state);
    else if (auto wait = dyn_cast<MmaWaitOp>(op))
      finish(wait.getPending(), state);
    else if (auto release = dyn_cast<ConsumerReleaseOp>(op))
      return verifyRelease(release, state);
    else if (auto tail = dyn_cast<ConsumerTailOp>(op))
      return verifyReleased(tail, tail.getRing().getDefiningOp(), /*first=*/0,
                            /*last=*/kMaxStages, state);
    return success();
  }

  /// Analyzes any number of iterations of a loop, or a branch.
  LogicalResult runRegions(Operation &op, State &state) {
    size_t known;
    do {
      known = state.size();
      State before = state;
      for (Region &region : op.getRegions())
        for (Block &block : region) {
          State after = before;
          if (failed(run(block, after)))
            return failure();
          state.merge(after);
        }
    } while (state.size() != known);
    return success();
  }

  template <typename ChangeFn>
  static void change(State &state, ChangeFn changed) {
    State next;
    for (Read read : state)
      if (changed(read))
        next.insert(read);
    state = std::move(next);
  }

  /// Drops entries of the stage that the take reuses: the producer filled it
  /// again, so it was released.
  static void take(ConsumerWaitOp wait, State &state) {
    Operation *ring = wait.getRing().getDefiningOp();
    int64_t stages = wait.getRing().getType().getStages();
    change(state, [&](Read &read) {
      read.taken += read.ring == ring;
      return read.op != wait && read.taken < stages;
    });
    state.insert({wait, ring, 0, 0});
  }

  static void start(MmaOp mma, State &state) {
    State reads;
    for (Value operand : {mma.getA(), Value(mma.getB())})
      for (const Read &read : state)
        if (read.op == operand.getDefiningOp())
          reads.insert({mma, read.ring, read.taken, 0});
    change(state, [&](Read &read) {
      read.started = std::min(read.started + isa<MmaOp>(read.op), kManyStarted);
      return true;
    });
    state.merge(reads);
  }

  static void finish(int64_t pending, State &state) {
    change(state, [&](Read &read) {
      return !isa<MmaOp>(read.op) || read.started < pending;
    });
  }

  static LogicalResult verifyRelease(ConsumerReleaseOp release,
                                     const State &state) {
    auto wait = release.getStage().getDefiningOp<ConsumerWaitOp>();
    for (const Read &read : state)
      if (read.op == wait) {
        int64_t given = read.taken + release.getDeferred();
        if (failed(verifyReleased(release, read.ring, given, given, state)))
          return failure();
      }
    return success();
  }

  /// Fails if an MMA may still read a stage released by `give`. The stages
  /// `first` to `last` are counted backwards from the latest take, 0.
  static LogicalResult verifyReleased(Operation *give, Operation *ring,
                                      int64_t first, int64_t last,
                                      const State &state) {
    for (const Read &read : state) {
      auto mma = dyn_cast<MmaOp>(read.op);
      if (!mma || read.ring != ring || read.taken < first || read.taken > last)
        continue;
      // kernel C49
      InFlightDiagnostic diag =
          mma.emitOpError("expected an mxgpu.mma_wait for this MMA before the "
                          "release of a stage that the MMA reads, found none");
      diag.attachNote(give->getLoc()) << "released here";
      return diag;
    }
    return success();
  }
};

} // namespace

/// Checks that only MMAs use an accumulator before the wait.
static LogicalResult verifyAccumulator(MmaOp mma) {
  llvm::SmallSetVector<Value, 4> values;
  values.insert(mma.getAccumulator());
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto wait = dyn_cast<MmaWaitOp>(user)) {
        bool inNext =
            mma->getBlock() == wait->getBlock() && !mma->isBeforeInBlock(wait);
        if (!finishes(mma, wait, inNext))
          values.insert(wait.getResult());
        continue;
      }
      // The next MMA may add to an accumulator in flight.
      if (auto next = dyn_cast<MmaOp>(user);
          next && next.getKind() == mma.getKind())
        continue;
      auto loop = dyn_cast<ForEachKOp>(user);
      unsigned carried = use.getOperandNumber();
      if (loop) {
        carried -= loop.getInits().getBeginOperandIndex();
      } else if (isa<mxgpu::YieldOp>(user)) {
        loop = cast<ForEachKOp>(user->getParentOp());
      }
      if (loop) {
        values.insert(loop.getResult(carried));
        values.insert(loop.getRegionIterArgs()[carried]);
        continue;
      }
      InFlightDiagnostic diag = user->emitOpError(
          "expected the accumulator of a completed MMA, found an accumulator "
          "in flight: wait for the MMA with mxgpu.mma_wait pending(0), or with "
          "pending(n) after n later MMAs of the same block"); // kernel C50
      diag.attachNote(mma.getLoc()) << "this MMA computes the accumulator";
      return diag;
    }
  return success();
}

LogicalResult mxgpu::verifyMmas(KernelOp kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (failed(MmasInFlight().verify(role)))
      return failure();
  WalkResult result = kernel.walk([](MmaOp mma) {
    return WalkResult(
        failure(isAsyncMma(mma) && failed(verifyAccumulator(mma))));
  });
  return failure(result.wasInterrupted());
}
