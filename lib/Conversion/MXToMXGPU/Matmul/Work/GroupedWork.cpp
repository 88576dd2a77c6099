//===- GroupedWork.cpp - Work tiles of expert groups ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GroupedWork.h"
#include "../../Builder/HostChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void RowsWork::viewMatrices() {
  matrices.b = stackRows(host, op.getB());
  if (op.getBScales())
    matrices.bScales = stackRows(host, op.getBScales());
}

void RowsWork::checkExperts() {
  Value groups = host.dim(op.getExpertOffsets(), 0);
  requireSize(host, host.dim(op.getB(), 0), groups, "dimension 0 of b");
  if (op.getBScales())
    requireSize(host, host.dim(op.getBScales(), 0), groups,
                "dimension 0 of b_scales");
  requireAtMost(host, host.dim(matrices.out, 0), kMaxExtent, "rows of outs");
}

/// Returns an upper bound on the scale tiles for all possible group sizes.
Value RowsWork::getRowTiles(Value rows) {
  return host.packedTiles(rows, kScaleTileRows, op.getExpertOffsets());
}

Value RowsWork::getColumnTiles(Value columns) {
  return host.mul(host.dim(op.getExpertOffsets(), 0),
                  host.ceilDiv(columns, kScaleTileRows));
}

/// Returns an upper bound on the row tiles that includes masked groups. Returns
/// 0 for 0 rows, because a tensor map cannot have 0 rows.
Value RowsWork::getNumRowTiles() {
  Value rows = host.dim(matrices.a, 0);
  Value tiles =
      host.packedTiles(rows, schedule.getTileM(), op.getExpertOffsets());
  return host.mul(tiles, arith::MinUIOp::create(host, rows, host.index(1)));
}

void RowsWork::createScheduler(Value rows, Value columns, Value workTiles) {
  resultRows = rows;
  resultColumns = columns;
  if (Value some = arguments.get(Arg::Columns))
    columns = some;
  scheduler = TileSchedulerOp::create(
      body, rows, columns, arguments.get(Arg::K), getTile(),
      schedule.getRaster(), /*single=*/false, workTiles, /*counter=*/Value(),
      arguments.get(Arg::Offsets), arguments.get(Arg::MatrixRows));
}

OperandOrigin RowsWork::getOperands(ForEachWorkTileOp workTile) {
  Value row = getFirstRow(workTile), column = workTile.getColumn();
  Value columnTile = body.div(column, kScaleTileRows);
  Value group = workTile.getGroup(), columns = resultColumns;
  Value rowTile = getRowTile(workTile);
  columnTile = body.add(columnTile,
                        body.mul(group, body.ceilDiv(columns, kScaleTileRows)));
  // Each matrix of packed weights starts a new weight tile.
  Value rowsOfB = columns;
  if (matmul.problem.isPackedB)
    rowsOfB = body.mul(body.ceilDiv(columns, kWeightTileRows),
                       body.index(kWeightTileRows));
  return {row, rowTile, body.add(column, body.mul(group, rowsOfB)), columnTile};
}

Value RowsWork::getRowTile(ForEachWorkTileOp workTile) {
  return body.add(WorkPolicy::getRowTile(workTile), workTile.getGroup());
}

/// Clamps the tile to the rows of the expert group, because the next row may
/// belong to another group or to no group.
Value RowsWork::getScaleRangeOfA(ForEachWorkTileOp workTile, Value number) {
  Value rows =
      arith::SubIOp::create(body, workTile.getEnd(), getFirstRow(workTile));
  Value tiles = body.ceilDiv(rows, kScaleTileRows);
  return WorkPolicy::getScaleRangeOfA(workTile, clamp(number, tiles));
}

std::pair<Value, Value> RowsWork::getReduction(ForEachWorkTileOp workTile) {
  return {body.index(0), arguments.get(Arg::K)};
}

ResultRow RowsWork::getRow(ForEachWorkTileOp workTile, Value inTile) {
  Value own = body.add(getFirstRow(workTile), inTile);
  Value isPresent = isBelow(own, workTile.getEnd());
  Value inMatrix = getRowInMatrix(workTile, clamp(own, workTile.getEnd()));
  return {own, clamp(own, resultRows), inMatrix, isPresent};
}

/// Returns the origin of the rows, and whether a bulk store of a whole staged
/// tile stays within the expert group.
StoreOrigin RowsWork::getStoreOrigin(ForEachWorkTileOp workTile, Value inTile,
                                     Value column) {
  Value row = body.add(getFirstRow(workTile), inTile);
  BufferType buffer = matmul.buffers.staging.getBuffers().front();
  int64_t staged = buffer.getShape().take_back(2).front();
  Value hasAll =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                            body.add(row, staged), workTile.getEnd());
  return {{row, column}, hasAll};
}

//===----------------------------------------------------------------------===//
// Rows of matrices
//===----------------------------------------------------------------------===//

void MaskedWork::viewMatrices() {
  RowsWork::viewMatrices();
  matrices.a = stackRows(host, op.getA());
  if (op.getAScales())
    matrices.aScales = stackRows(host, op.getAScales());
  matrices.out = stackRows(host, op.getOut());
  if (Value scales = op.getResultScales())
    matrices.outScales = stackRows(host, scales);
}

void MaskedWork::checkExperts() {
  Value groups = host.dim(op.getExpertOffsets(), 0);
  requireSize(host, host.dim(op.getA(), 0), groups, "dimension 0 of a");
  requireSize(host, host.dim(op.getOut(), 0), groups, "dimension 0 of outs");
  if (op.getAScales())
    requireSize(host, host.dim(op.getAScales(), 0), groups,
                "dimension 0 of a_scales");
  RowsWork::checkExperts();
}

Value MaskedWork::getMatrixRow(ForEachWorkTileOp workTile) {
  return body.mul(workTile.getGroup(), arguments.get(Arg::MatrixRows));
}

Value MaskedWork::getRowInMatrix(ForEachWorkTileOp workTile, Value row) {
  return arith::SubIOp::create(body, row, getMatrixRow(workTile));
}

Value MaskedWork::getRowTile(ForEachWorkTileOp workTile) {
  Value inMatrix = getRowInMatrix(workTile, getFirstRow(workTile));
  Value matrixRows = arguments.get(Arg::MatrixRows);
  return body.add(
      body.div(inMatrix, kScaleTileRows),
      body.mul(workTile.getGroup(), body.ceilDiv(matrixRows, kScaleTileRows)));
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

void ReductionWork::viewMatrices() {
  matrices.out = stackRows(host, op.getOut());
}

void ReductionWork::checkExperts() {
  Value groups = host.dim(op.getExpertOffsets(), 0);
  requireSize(host, host.dim(op.getOut(), 0), groups, "dimension 0 of outs");
  requireAtMost(host, host.dim(matrices.out, 0), kMaxExtent, "rows of outs");
}

/// Returns the row tiles of all groups. Returns 0 for 0 rows, because a tensor
/// map cannot have 0 rows.
Value ReductionWork::getNumRowTiles() {
  Value rows = host.dim(matrices.a, 0);
  Value tiles = host.mul(host.ceilDiv(rows, schedule.getTileM()),
                         host.dim(op.getExpertOffsets(), 0));
  return host.mul(tiles, arith::MinUIOp::create(host, rows, host.index(1)));
}

void ReductionWork::createScheduler(Value rows, Value columns,
                                    Value workTiles) {
  resultRows = rows;
  Value offsets = arguments.get(Arg::Offsets);
  Value groupRows = arith::DivUIOp::create(body, rows, body.dim(offsets, 0));
  scheduler = TileSchedulerOp::create(
      body, groupRows, columns, arguments.get(Arg::K), getTile(),
      schedule.getRaster(), /*single=*/false, workTiles, /*counter=*/Value(),
      offsets, /*stride=*/Value(), /*overReduction=*/true);
}

Value ReductionWork::getWindow(ForEachWorkTileOp workTile, Value tile,
                               Value rows) {
  Value tiles = body.ceilDiv(rows, kScaleTileRows);
  return body.add(body.mul(workTile.getGroup(), tiles), clamp(tile, tiles));
}

Value ReductionWork::getScaleRangeOfA(ForEachWorkTileOp workTile,
                                      Value number) {
  return getWindow(workTile, DenseWork::getScaleRangeOfA(workTile, number),
                   scheduler.getRows());
}

Value ReductionWork::getScaleRangeOfB(ForEachWorkTileOp workTile) {
  return getWindow(workTile, DenseWork::getScaleRangeOfB(workTile),
                   scheduler.getColumns());
}

Value ReductionWork::getResultRow(ForEachWorkTileOp workTile) {
  return body.add(getFirstRow(workTile),
                  body.mul(workTile.getGroup(), scheduler.getRows()));
}

ResultRow ReductionWork::getRow(ForEachWorkTileOp workTile, Value inTile) {
  Value own = body.add(getResultRow(workTile), inTile);
  Value inMatrix = body.add(getFirstRow(workTile), inTile),
        end = getRowEnd(workTile);
  Value isPresent = isBelow(inMatrix, end);
  Value clamped = clamp(inMatrix, end);
  return {own, clamp(own, resultRows), clamped, isPresent};
}

StoreOrigin ReductionWork::getStoreOrigin(ForEachWorkTileOp workTile,
                                          Value inTile, Value column) {
  return {
      {workTile.getGroup(), body.add(getFirstRow(workTile), inTile), column},
      {}};
}
