//===- VerifyMmas.cpp - Accumulators in registers are waited for ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An instruction whose completion is a wait group still reads its operands and
// writes its accumulator when the next operation begins. Until an
// mxgpu.mma_wait has waited for it, others leave both alone. Operands in
// registers are values, and nothing changes a value; they take registers until
// the wait.
//
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

/// Instructions that are started between two operations of a block, at least:
/// groups finish in the order in which they are started (PTX ISA,
/// wgmma.wait_group).
static int64_t countStarted(Operation *first, Operation *end) {
  int64_t started = 0;
  for (Operation *op = first; op != end; op = op->getNextNode())
    started += isAsyncMma(op);
  return started;
}

/// Whether `mma` is finished after `wait`: from elsewhere with none pending,
/// from the same block if enough are started between them, in one iteration or
/// from it to the next.
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

/// What a role may have started and not waited for, wherever it is: of each
/// instruction, how many have been started after it, and how many stages of a
/// ring have been taken since the one that it reads. Of a take, how many since
/// its own. All that any path through the role leads to is in one set.
class ReadsUnderWay {
public:
  LogicalResult verify(RoleOp role) {
    State state;
    return run(role.getBody().front(), state);
  }

private:
  struct Read {
    Operation *op; // an instruction, or a take
    Operation *ring;
    int64_t taken, started;

    bool operator<(const Read &other) const {
      return std::tuple(op, ring, taken, started) <
             std::tuple(other.op, other.ring, other.taken, other.started);
    }
  };
  using State = std::set<Read>;

  /// As many started count as more: a wait that leaves more pending than that
  /// waits for nothing.
  static constexpr int64_t kManyStarted = 64;

  LogicalResult run(Block &block, State &state) {
    for (Operation &op : block)
      if (failed(run(op, state)))
        return failure();
    // What a block has taken is used and released in it.
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
      return verifyGiven(tail, tail.getRing().getDefiningOp(), /*first=*/0,
                         /*last=*/kMaxStages, state);
    return success();
  }

  /// Any number of iterations of a loop, or one branch.
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

  /// A stage is taken again after all others of the ring: it was released.
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
        if (failed(verifyGiven(release, read.ring, given, given, state)))
          return failure();
      }
    return success();
  }

  /// Fails where an instruction may still read a stage that goes back, one of
  /// those from `first` to `last`, the latest being 0.
  static LogicalResult verifyGiven(Operation *give, Operation *ring,
                                   int64_t first, int64_t last,
                                   const State &state) {
    for (const Read &read : state) {
      auto mma = dyn_cast<MmaOp>(read.op);
      if (!mma || read.ring != ring || read.taken < first || read.taken > last)
        continue;
      // kernel C49
      InFlightDiagnostic diag =
          mma.emitOpError("expected an mxgpu.mma_wait that finishes it before "
                          "the stage that it "
                          "reads is given back, found none");
      diag.attachNote(give->getLoc()) << "given back here";
      return diag;
    }
    return success();
  }
};

} // namespace

/// Accumulators are under way wherever they go, until a wait for them.
static LogicalResult verifySums(MmaOp mma) {
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
      // The next instruction takes them as they are.
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
      // kernel C50
      InFlightDiagnostic diag = user->emitOpError(
          "expected an accumulator that an mxgpu.mma_wait gave with "
          "pending(0), or with "
          "as many started in its block after them, found some that may still "
          "change");
      diag.attachNote(mma.getLoc()) << "this computes them";
      return diag;
    }
  return success();
}

LogicalResult mxgpu::verifyMmas(KernelOp kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (failed(ReadsUnderWay().verify(role)))
      return failure();
  WalkResult result = kernel.walk([](MmaOp mma) {
    return WalkResult(failure(isAsyncMma(mma) && failed(verifySums(mma))));
  });
  return failure(result.wasInterrupted());
}
