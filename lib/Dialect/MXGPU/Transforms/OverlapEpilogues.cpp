//===- OverlapEpilogues.cpp - Early release of accumulators ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves reads of the columns that two accumulators share to the front of the
// epilogue, followed by the release. mxgpu-verify-pipelines checks the result.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUOVERLAPEPILOGUES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

/// An epilogue before the rewrite: a wait for an accumulator, the loops over
/// its columns, and the release.
class PlainEpilogue {
public:
  PlainEpilogue(KernelOp kernel, int64_t overlap)
      : kernel(kernel), overlap(overlap) {}

  /// Rewrites the epilogue, or fails at an operation of any other form.
  LogicalResult run() {
    for (RingOp other : kernel.getBody().getOps<RingOp>())
      if (other.getType().getSpace() == Space::Tmem) {
        if (ring)
          return refuse(other);
        ring = other;
      }
    if (!ring)
      return refuse(kernel);
    if (ring.getType().getOverlap() == overlap)
      return success(); // already overlapped
    columns = ring.getType().getBuffers()[0].getShape()[1];
    if (ring.getType().getOverlap() || ring.getType().getBuffers().size() > 1 ||
        columns < 2 * overlap)
      return refuse(ring);
    for (Operation *user : ring->getUsers())
      if (auto other = dyn_cast<ConsumerWaitOp>(user); other && !wait)
        wait = other;
      else if (!isa<ProducerAcquireOp>(user))
        return refuse(user);
    if (!wait)
      return refuse(ring);
    for (Operation *user : wait->getUsers())
      if (!matchUse(user))
        return refuse(user);
    if (!drain || !release || release->getBlock() != wait->getBlock() ||
        !drain->isBeforeInBlock(release))
      return refuse(wait);
    // split() runs each branch twice, for the shared and for the other columns,
    // so operations outside the loops must be free of side effects.
    for (Region &branch : drain->getRegions())
      for (Operation &op : branch.getOps())
        if (isa<scf::IfOp>(drain) && !loops.contains(&op) &&
            !isMemoryEffectFree(&op))
          return refuse(&op);
    rewrite();
    return success();
  }

private:
  static LogicalResult refuse(Operation *op) {
    return op->emitOpError(
        "expected an epilogue that waits once for an accumulator, reads all "
        "its columns in one loop or in one scf.if with loops, in steps that "
        "divide the overlap, and releases the accumulator, found another form: "
        "use a schedule without overlap");
  }

  void rewrite() {
    RingType type = ring.getType().withStages(/*stages=*/2, overlap);
    ring.getResult().setType(type);
    for (Operation *take : ring->getUsers())
      take->getResult(0).setType(StageType::get(ring.getContext(), type));
    OpBuilder builder(ring.getContext());
    auto getColumn = [&](Value place, int64_t first) -> Value {
      return EpilogueColumnOp::create(builder, place.getLoc(), wait.getStage(),
                                      place, first / width, columns / width);
    };
    for (auto [load, place, first] : loads) {
      builder.setInsertionPoint(load);
      load.getColumnMutable().assign(getColumn(place, first));
    }
    for (Operation *loop : loops) {
      Value place = cast<scf::ForOp>(loop).getInductionVar();
      builder.setInsertionPointToStart(place.getParentBlock());
      place.replaceUsesWithIf(getColumn(place, 0), [](OpOperand &use) {
        return !isa<EpilogueColumnOp>(use.getOwner());
      });
    }
    if (overlap < width)
      split(builder);
  }

  bool matchUse(Operation *user) {
    if (auto other = dyn_cast<ConsumerReleaseOp>(user); other && !release) {
      release = other;
      return true;
    }
    auto load = dyn_cast<LoadAccumulatorOp>(user);
    if (!load)
      return false;
    // The columns of each matrix B follow the columns of the previous matrix.
    APInt first(64, 0);
    Value place = load.getColumn();
    if (auto sum = place.getDefiningOp<arith::AddIOp>();
        sum && matchPattern(sum.getRhs(), m_ConstantInt(&first)))
      place = sum.getLhs();
    scf::ForOp loop = scf::getForInductionVarOwner(place);
    Operation *outer = wait->getBlock()->findAncestorOpInBlock(*load);
    if (!loop || outer != (drain ? drain : outer))
      return false;
    drain = outer;
    loops.insert(loop);
    loads.emplace_back(load, place, first.getSExtValue());
    // split() supports loop-carried values only for a loop without a branch.
    bool isInBranch = isa<scf::IfOp>(drain) && loop->getParentOp() == drain &&
                      !drain->getNumResults() && !loop.getNumResults();
    auto end = getConstantIntValue(loop.getUpperBound());
    auto step = getConstantIntValue(loop.getStep());
    if ((loop != drain && !isInBranch) || !end || *end < overlap ||
        *end != (width ? width : *end) || columns % *end || !step ||
        *step < 1 || overlap % *step)
      return false;
    width = *end;
    return getConstantIntValue(loop.getLowerBound()) == 0 &&
           width % *step == 0 && first.sge(0) && first.slt(columns) &&
           first.srem(width) == 0;
  }

  /// Splits each loop into a loop over the shared columns and a loop over the
  /// rest.
  void split(OpBuilder &builder) {
    builder.setInsertionPoint(drain);
    Value end =
        arith::ConstantIndexOp::create(builder, drain->getLoc(), overlap);
    IRMapping mapping;
    Operation *shared = builder.clone(*drain, mapping);
    release->moveAfter(shared);
    for (Operation *loop : loops) {
      cast<scf::ForOp>(mapping.lookup(loop)).setUpperBound(end);
      cast<scf::ForOp>(loop).setLowerBound(end);
    }
    if (auto loop = dyn_cast<scf::ForOp>(drain))
      loop.getInitArgsMutable().assign(shared->getResults());
  }

  KernelOp kernel;
  RingOp ring;
  int64_t overlap, columns = 0,
                   width = 0; // `width`: columns of a single B
  ConsumerWaitOp wait;
  ConsumerReleaseOp release;
  Operation *drain = nullptr; // the loop, or an scf.if with loops
  llvm::SetVector<Operation *> loops;
  SmallVector<std::tuple<LoadAccumulatorOp, Value, int64_t>> loads;
};

struct OverlapEpiloguesPass final
    : mxgpu::impl::MXGPUOverlapEpiloguesBase<OverlapEpiloguesPass> {
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      ScheduleAttr schedule = kernel.getScheduleAttr();
      if (!schedule || !schedule.getStrategy())
        continue;
      int64_t overlap = schedule.getStrategy().getOverlap();
      if (overlap && failed(PlainEpilogue(kernel, overlap).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
