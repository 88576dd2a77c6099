//===- VerifyColumns.cpp - Columns read from accumulators -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns beyond a stage belong to the next stage, which the tensor core may
// write at the same time.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mx/Dialect/MXGPU/IR/IndexRange.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Returns true if the `count` columns that start at each place of `drain`
/// provably follow the shared columns. Places are positions in the read order
/// (mxgpu.epilogue_column).
static bool isRest(EpilogueColumnOp drain, int64_t count) {
  RingType ring = drain.getStage().getType().getRing();
  return ring.getOverlap() && drain.isRest() &&
         getIndexRange(drain.getPlace())->last + count <= drain.getWidth();
}

static EpilogueColumnOp getDrain(LoadAccumulatorOp load) {
  auto drain = load.getColumn().getDefiningOp<EpilogueColumnOp>();
  bool isOfSameStage = drain && drain.getStage().getDefiningOp() ==
                                    load.getBuffer().getDefiningOp();
  return isOfSameStage ? drain : EpilogueColumnOp();
}

static int64_t getCount(LoadAccumulatorOp load) {
  return load.getType().getColumns();
}

bool mx::mxgpu::isReadOfRest(Operation *op) {
  if (auto drain = dyn_cast<EpilogueColumnOp>(op))
    return isRest(drain, 1);
  auto load = dyn_cast<LoadAccumulatorOp>(op);
  EpilogueColumnOp drain = load ? getDrain(load) : EpilogueColumnOp();
  return drain && isRest(drain, getCount(load));
}

LogicalResult mx::mxgpu::verifyColumns(LoadAccumulatorOp load) {
  EpilogueColumnOp drain = getDrain(load);
  Value column = drain ? drain.getPlace() : load.getColumn();
  // All threads of a warp execute tcgen05.ld with the same address (PTX ISA).
  // kernel C46
  if (!isUniform(column) || (load.getEmpty() && !isUniform(load.getEmpty())))
    return load.emitOpError("expected the threads of a role to agree on ")
           << (isUniform(column) ? "`empty`" : "the column")
           << ", found a value that may depend on the thread";
  std::optional<IndexRange> range = getIndexRange(column);
  if (!range)
    return success();
  int64_t columns =
      drain ? drain.getWidth() : load.getBuffer().getType().getShape()[1];
  int64_t count = getCount(load), overlap = 0;
  if (drain)
    overlap = drain.getStage().getType().getRing().getOverlap();
  if (range->first < 0 || range->last > columns - count) // kernel C47
    return load.emitOpError("expected columns 0 to ")
           << columns - 1 << ", found columns " << range->first << " to "
           << range->last + count - 1;
  // Adjacent places around the end of the overlap may be distant columns.
  // kernel C48
  for (int64_t place = range->first; place <= range->last; place += range->step)
    if (place < overlap && place + count > overlap)
      return load.emitOpError("expected all places before or all places after "
                              "the end of the overlap, found places ")
             << place << " to " << place + count - 1 << " with overlap "
             << overlap;
  return success();
}
