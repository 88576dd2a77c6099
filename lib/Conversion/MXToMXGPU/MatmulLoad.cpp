//===- MatmulLoad.cpp - The role that loads tiles and scales --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread fills the slots of the input ring by bulk tensor copies.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MatmulBuilder::buildLoad() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkOp unit = body.forEachWork(work);
  Value rowTile = body.div(unit.getRow(), kScaleTileRows);
  Value columnTile = body.div(unit.getColumn(), kScaleTileRows);
  ForEachKOp step =
      body.forEachK(unit.getStart(), unit.getEnd(), schedule.getTileK());
  Value kTile = body.div(step.getK(), getScaleTileK());
  Value slot = body.create<AcquireOp>(inputs);
  loadOperand(slot, "a", getMap(0), unit.getRow(), step.getK(),
              schedule.getL2A());
  loadOperand(slot, "b", getMap(1), unit.getColumn(), step.getK(),
              schedule.getL2B());
  body.create<TmaLoadOp>(getMap(2), ValueRange{rowTile, kTile}, slot, "sfa");
  body.create<TmaLoadOp>(getMap(3), ValueRange{columnTile, kTile}, slot, "sfb");
  body.create<PublishOp>(slot, Value());
}

/// Loads the panels of an operand, a box each.
void MatmulBuilder::loadOperand(Value slot, StringRef field, Value map,
                                Value row, Value k, CacheHint cache) {
  int64_t elements = cast<TensorMapType>(map.getType()).getBox().back();
  int64_t panels = schedule.getTileK() / elements;
  for (int64_t panel = 0; panel < panels; ++panel)
    body.create<TmaLoadOp>(
        map, ValueRange{row, panel ? body.add(k, panel * elements) : k}, slot,
        body.getStringAttr(field), panels > 1 ? body.index(panel) : Value(),
        CacheHintAttr::get(op.getContext(), cache));
}
