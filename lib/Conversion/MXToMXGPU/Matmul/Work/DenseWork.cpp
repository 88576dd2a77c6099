//===- DenseWork.cpp - Units of one matrix --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DenseWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value DenseWork::getUnitRowTiles() {
  return host.ceilDiv(host.dim(matrices.out, 0), schedule.getTileM());
}

void DenseWork::createScheduler(Value rows, Value columns, Value units) {
  resultRows = rows;
  scheduler =
      TileSchedulerOp::create(body, rows, columns, arguments.get(Arg::K),
                              getTile(), schedule.getRaster(), units);
}

OperandOrigin DenseWork::getOperands(ForEachWorkTileOp unit) {
  Value row = getFirstRow(unit), column = unit.getColumn();
  Value rowTile = body.div(row, kScaleTileRows);
  return {row, rowTile, column, body.div(column, kScaleTileRows)};
}

ResultRow DenseWork::getRow(ForEachWorkTileOp unit, Value inTile) {
  Value own = body.add(getResultRow(unit), inTile);
  auto type = cast<MemRefType>(arguments.get(Arg::Result).getType());
  if (!type.isDynamicDim(0) && type.getDimSize(0) % schedule.getTileM() == 0)
    return {own, own, own,
            arith::ConstantOp::create(body, body.getBoolAttr(true))};
  Value isPresent = isBelow(own, resultRows);
  Value clamped = clamp(own, resultRows);
  return {own, clamped, clamped, isPresent};
}

StoreOrigin DenseWork::getStoreOrigin(ForEachWorkTileOp unit, Value inTile,
                                      Value column) {
  return {{body.add(getResultRow(unit), inTile), column}, {}};
}
