//===- RowsWork.cpp - Units of groups of rows -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "RowsWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/WeightLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void RowsWork::viewMatrices() {
  matrices.b = stackRows(host, op.getB());
  if (op.getBScales())
    matrices.bScales = stackRows(host, op.getBScales());
}

void RowsWork::checkGroups() {
  Value groups = host.dim(op.getGroupOffsets(), 0);
  host.requireSize(host.dim(op.getB(), 0), groups, "dimension 0 of b");
  if (op.getBScales())
    host.requireSize(host.dim(op.getBScales(), 0), groups,
                     "dimension 0 of b_scales");
  host.requireAtMost(host.dim(matrices.out, 0), kMaxExtent, "rows of outs");
}

/// As many as suffice for any division of the rows.
Value RowsWork::getRowTiles(Value rows) {
  return host.packedTiles(rows, kScaleTileRows, op.getGroupOffsets());
}

Value RowsWork::getColumnTiles(Value columns) {
  return host.mul(host.dim(op.getGroupOffsets(), 0),
                  host.ceilDiv(columns, kScaleTileRows));
}

/// Also enough for masked groups. Without rows there is no map to load them by.
Value RowsWork::getUnitRowTiles() {
  Value rows = host.dim(matrices.a, 0);
  Value tiles =
      host.packedTiles(rows, schedule.getTileM(), op.getGroupOffsets());
  return host.mul(tiles, arith::MinUIOp::create(host, rows, host.index(1)));
}

void RowsWork::createScheduler(Value rows, Value columns, Value units) {
  resultRows = rows;
  scheduler = TileSchedulerOp::create(
      body, rows, columns, arguments.get(Arg::K), getTile(),
      schedule.getRaster(), units, arguments.get(Arg::Offsets),
      arguments.get(Arg::MatrixRows),
      /*dividesReduction=*/false);
}

OperandOrigin RowsWork::getOperands(ForEachWorkTileOp unit) {
  Value row = getFirstRow(unit), column = unit.getColumn();
  Value columnTile = body.div(column, kScaleTileRows);
  Value group = unit.getGroup(), columns = scheduler.getColumns();
  Value rowTile = getRowTile(unit);
  columnTile = body.add(columnTile,
                        body.mul(group, body.ceilDiv(columns, kScaleTileRows)));
  // Matrices of packed weights begin with tiles of their own.
  Value rowsOfB = columns;
  if (product.problem.isPackedB)
    rowsOfB = body.mul(body.ceilDiv(columns, kWeightTileRows),
                       body.index(kWeightTileRows));
  return {row, rowTile, body.add(column, body.mul(group, rowsOfB)), columnTile};
}

Value RowsWork::getRowTile(ForEachWorkTileOp unit) {
  return body.add(WorkPolicy::getRowTile(unit), unit.getGroup());
}

/// The rows of the group: the next row may belong to another group, or to none.
Value RowsWork::getWindowOfA(ForEachWorkTileOp unit, Value number) {
  Value rows = arith::SubIOp::create(body, unit.getEnd(), getFirstRow(unit));
  Value tiles = body.ceilDiv(rows, kScaleTileRows);
  return WorkPolicy::getWindowOfA(unit, clamp(number, tiles));
}

std::pair<Value, Value> RowsWork::getReduction(ForEachWorkTileOp unit) {
  return {body.index(0), arguments.get(Arg::K)};
}

ResultRow RowsWork::getRow(ForEachWorkTileOp unit, Value inTile) {
  Value own = body.add(getFirstRow(unit), inTile);
  Value isPresent = isBelow(own, unit.getEnd());
  Value inMatrix = getRowInMatrix(unit, clamp(own, unit.getEnd()));
  return {own, clamp(own, resultRows), inMatrix, isPresent};
}

/// Where a group ends among the rows, a bulk store would write the next one's.
StoreOrigin RowsWork::getStoreOrigin(ForEachWorkTileOp unit, Value inTile,
                                     Value column) {
  Value row = body.add(getFirstRow(unit), inTile);
  int64_t staged = product.buffers.staging.getBuffers().front().getShape()[0];
  Value hasAll = arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                                       body.add(row, staged), unit.getEnd());
  return {{row, column}, hasAll};
}
