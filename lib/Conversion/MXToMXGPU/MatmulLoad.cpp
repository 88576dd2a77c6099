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
  auto maps = kernel.getBody().getArguments().take_front(4);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkOp unit = body.forEachWork(work);
  Value rowTile = body.div(unit.getRow(), kScaleTileRows);
  Value columnTile = body.div(unit.getColumn(), kScaleTileRows);
  ForEachKOp step =
      body.forEachK(unit.getStart(), unit.getEnd(), schedule.getTileK());
  Value kTile = body.div(step.getK(), kScaleTileK);
  Value slot = body.create<AcquireOp>(inputs);
  for (auto [map, field, row, k] :
       {std::tuple(maps[0], "a", unit.getRow(), Value(step.getK())),
        std::tuple(maps[1], "b", unit.getColumn(), Value(step.getK()))})
    body.create<TmaLoadOp>(map, ValueRange{row, k}, slot, field);
  body.create<TmaLoadOp>(maps[2], ValueRange{rowTile, kTile}, slot, "sfa");
  body.create<TmaLoadOp>(maps[3], ValueRange{columnTile, kTile}, slot, "sfb");
  body.create<PublishOp>(slot, Value());
}
