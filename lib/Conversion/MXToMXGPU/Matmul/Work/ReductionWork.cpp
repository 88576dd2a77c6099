//===- ReductionWork.cpp - Units of groups of a reduction -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ReductionWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void ReductionWork::viewMatrices() {
  matrices.out = stackRows(host, op.getResultTensor());
}

void ReductionWork::checkGroups() {
  Value groups = host.dim(op.getGroupOffsets(), 0);
  host.requireSize(host.dim(op.getResultTensor(), 0), groups,
                   "dimension 0 of outs");
  host.requireAtMost(host.dim(matrices.out, 0), kMaxExtent, "rows of outs");
}

/// Without rows there is no map to load them by.
Value ReductionWork::getUnitRowTiles() {
  Value rows = host.dim(matrices.a, 0);
  Value tiles = host.mul(host.ceilDiv(rows, schedule.getTileM()),
                         host.dim(op.getGroupOffsets(), 0));
  return host.mul(tiles, arith::MinUIOp::create(host, rows, host.index(1)));
}

void ReductionWork::createScheduler(Value rows, Value columns, Value units) {
  resultRows = rows;
  Value offsets = arguments.get(Arg::Offsets);
  Value groupRows = arith::DivUIOp::create(body, rows, body.dim(offsets, 0));
  scheduler =
      TileSchedulerOp::create(body, groupRows, columns, arguments.get(Arg::K),
                              getTile(), schedule.getRaster(), units, offsets,
                              /*matrixRows=*/Value(),
                              /*dividesReduction=*/true);
}

Value ReductionWork::getWindow(ForEachWorkTileOp unit, Value tile, Value rows) {
  Value tiles = body.ceilDiv(rows, kScaleTileRows);
  return body.add(body.mul(unit.getGroup(), tiles), clamp(tile, tiles));
}

Value ReductionWork::getWindowOfA(ForEachWorkTileOp unit, Value number) {
  return getWindow(unit, DenseWork::getWindowOfA(unit, number),
                   scheduler.getRows());
}

Value ReductionWork::getWindowOfB(ForEachWorkTileOp unit) {
  return getWindow(unit, DenseWork::getWindowOfB(unit), scheduler.getColumns());
}

Value ReductionWork::getResultRow(ForEachWorkTileOp unit) {
  return body.add(getFirstRow(unit),
                  body.mul(unit.getGroup(), scheduler.getRows()));
}

ResultRow ReductionWork::getRow(ForEachWorkTileOp unit, Value inTile) {
  Value own = body.add(getResultRow(unit), inTile);
  Value inMatrix = body.add(getFirstRow(unit), inTile), end = getRowEnd(unit);
  Value isPresent = isBelow(inMatrix, end);
  Value clamped = clamp(inMatrix, end);
  return {own, clamp(own, resultRows), clamped, isPresent};
}

StoreOrigin ReductionWork::getStoreOrigin(ForEachWorkTileOp unit, Value inTile,
                                          Value column) {
  return {{unit.getGroup(), body.add(getFirstRow(unit), inTile), column}, {}};
}
