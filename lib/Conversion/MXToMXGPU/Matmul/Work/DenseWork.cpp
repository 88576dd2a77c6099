//===- DenseWork.cpp - Work tiles of one product --------------------------===//
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

void DenseWork::createScheduler(Value rows, Value columns, Value workTiles) {
  resultRows = rows;
  scheduler =
      TileSchedulerOp::create(body, rows, columns, arguments.get(Arg::K),
                              getTile(), schedule.getRaster(), workTiles);
}

OperandOrigin DenseWork::getOperands(ForEachWorkTileOp workTile) {
  Value row = getFirstRow(workTile), column = workTile.getColumn();
  Value rowTile = body.div(row, kScaleTileRows);
  return {row, rowTile, column, body.div(column, kScaleTileRows)};
}

ResultRow DenseWork::getRow(ForEachWorkTileOp workTile, Value inTile) {
  Value own = body.add(getResultRow(workTile), inTile);
  auto type = cast<MemRefType>(arguments.get(Arg::Result).getType());
  if (!type.isDynamicDim(0) && type.getDimSize(0) % schedule.getTileM() == 0)
    return {own, own, own,
            arith::ConstantOp::create(body, body.getBoolAttr(true))};
  Value isPresent = isBelow(own, resultRows);
  Value clamped = clamp(own, resultRows);
  return {own, clamped, clamped, isPresent};
}

StoreOrigin DenseWork::getStoreOrigin(ForEachWorkTileOp workTile, Value inTile,
                                      Value column) {
  return {{body.add(getResultRow(workTile), inTile), column}, {}};
}

//===----------------------------------------------------------------------===//
// Parts of the reduction
//===----------------------------------------------------------------------===//

void SplitWork::createScheduler(Value rows, Value columns, Value workTiles) {
  resultRows = rows;
  scheduler = TileSchedulerOp::create(
      body, body.div(rows, schedule.getSplitK()), columns,
      arguments.get(Arg::K), getTile(), schedule.getRaster(), workTiles,
      schedule.getSplitK(), schedule.getTileK());
}

Value SplitWork::getResultRow(ForEachWorkTileOp workTile) {
  return body.add(getFirstRow(workTile),
                  body.mul(workTile.getGroup(), scheduler.getRows()));
}

//===----------------------------------------------------------------------===//
// CTAs of a cluster
//===----------------------------------------------------------------------===//

void ClusterWork::createScheduler(Value rows, Value columns, Value workTiles) {
  resultRows = rows;
  scheduler =
      TileSchedulerOp::create(body, rows, columns, arguments.get(Arg::K),
                              getTile(), schedule.getRaster(), workTiles,
                              schedule.getSplitK(), schedule.getTileK());
}

Value ClusterWork::isEmpty(ForEachWorkTileOp workTile) {
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                               scheduler.getReduction(), body.index(0));
}
