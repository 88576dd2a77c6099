//===- MatmulMma.cpp - The role that multiplies ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread issues scale copies and MMAs, slot by slot.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MatmulBuilder::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  body.role("mma", 1, /*elected=*/true);
  ForEachWorkOp unit = body.forEachWork(work);
  Value empty = isEmpty(unit);
  Value accumulator = body.create<AcquireOp>(accumulators);
  ForEachKOp step =
      body.forEachK(unit.getStart(), unit.getEnd(), schedule.getTileK());
  Value yes = body.create<arith::ConstantOp>(body.getBoolAttr(true));
  Value accumulate = body.create<arith::XOrIOp>(step.getFirst(), yes);
  Value slot = body.create<ConsumeOp>(inputs);
  auto getScales = [&](StringRef field, int64_t rows) -> Value {
    return body.create<CopyScalesOp>(ScalesType::get(op.getContext(), rows),
                                     slot, field, IntegerAttr());
  };
  Value aScales = getScales("sfa", schedule.getTileM());
  Value bScales = getScales("sfb", schedule.getTileN());
  body.create<MmaOp>(slot, "a", "b", aScales, bScales, accumulator, "d",
                     accumulate, step.getExtent());
  body.create<ReleaseOp>(slot);
  body.setInsertionPointAfter(step);
  body.create<PublishOp>(accumulator, empty);
}
