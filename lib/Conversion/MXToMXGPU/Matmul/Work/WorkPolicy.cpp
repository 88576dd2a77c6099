//===- WorkPolicy.cpp - Division of matmuls into work tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the common part of all policies, and the policies for matmuls
// without expert groups.
//===----------------------------------------------------------------------===//

#include "WorkPolicy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Defaults for one matrix
//===----------------------------------------------------------------------===//

std::pair<Value, Value> WorkPolicy::getReduction(ForEachWorkTileOp workTile) {
  return {workTile.getStart(), workTile.getEnd()};
}

int64_t WorkPolicy::getReductionMultiple() {
  return cast<MemRefType>(matrices.a.getType()).getDimSize(1);
}

//===----------------------------------------------------------------------===//
// Common part
//===----------------------------------------------------------------------===//

SmallVector<int64_t> WorkPolicy::getTile() const {
  return {schedule.getTileM(), matmul.getTileColumns()};
}

Value mx::mxgpu::stackRows(KernelBuilder &host, Value batch) {
  SmallVector<ReassociationIndices> dims{{0, 1}};
  int64_t rank = cast<MemRefType>(batch.getType()).getRank();
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back({dim});
  return memref::CollapseShapeOp::create(host, batch, dims);
}

Value WorkPolicy::getWorkTiles() {
  Value rowTiles = getNumRowTiles();
  Value out = op.getOut();
  Value columns = host.dim(out, cast<MemRefType>(out.getType()).getRank() - 1);
  if (auto range = op.getColumnRange())
    columns = host.index(range->second - range->first);
  return host.mul(rowTiles, host.ceilDiv(columns, matmul.getTileColumns()));
}

Value WorkPolicy::getFirstRow(ForEachWorkTileOp workTile) {
  if (!kernel.rank)
    return workTile.getRow();
  return body.add(workTile.getRow(),
                  body.mul(kernel.rank, body.index(matmul.getARows())));
}

Value WorkPolicy::getRowTile(ForEachWorkTileOp workTile) {
  return body.div(getFirstRow(workTile), kScaleTileRows);
}

/// Returns the table row unclamped, because the table ends with the last tile.
Value WorkPolicy::getScaleRangeOfA(ForEachWorkTileOp workTile, Value number) {
  return body.add(getOperands(workTile).rowTile, number);
}

Value WorkPolicy::getScaleRangeOfB(ForEachWorkTileOp workTile) {
  return getOperands(workTile).columnTile;
}

Value WorkPolicy::isEmpty(ForEachWorkTileOp workTile) {
  auto [start, end] = getReduction(workTile);
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq, start, end);
}

Value WorkPolicy::isBelow(Value row, Value end) {
  return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row, end);
}

Value WorkPolicy::clamp(Value row, Value end) {
  return arith::MinUIOp::create(
      body, row, arith::SubIOp::create(body, end, body.index(1)));
}

//===----------------------------------------------------------------------===//
// Dense work
//===----------------------------------------------------------------------===//

Value DenseWork::getResultRow(ForEachWorkTileOp workTile) {
  return getFirstRow(workTile);
}

Value DenseWork::getNumRowTiles() {
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
// Split work
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
// Cluster work
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
