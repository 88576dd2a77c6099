//===- WorkPolicy.cpp - How a product is divided into work tiles ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all kinds of work have in common. See the header.
//
//===----------------------------------------------------------------------===//

#include "WorkPolicy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value mx::mxgpu::stackRows(KernelBuilder &host, Value batch) {
  SmallVector<ReassociationIndices> dims{{0, 1}};
  int64_t rank = cast<MemRefType>(batch.getType()).getRank();
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back({dim});
  return memref::CollapseShapeOp::create(host, batch, dims);
}

Value WorkPolicy::getWorkTiles() {
  Value rowTiles = getUnitRowTiles();
  Value out = op.getResultTensor();
  Value columns = host.dim(out, cast<MemRefType>(out.getType()).getRank() - 1);
  return host.mul(rowTiles, host.ceilDiv(columns, product.getTileColumns()));
}

Value WorkPolicy::getFirstRow(ForEachWorkTileOp workTile) {
  if (!kernel.rank)
    return workTile.getRow();
  return body.add(workTile.getRow(),
                  body.mul(kernel.rank, body.index(product.getARows())));
}

Value WorkPolicy::getRowTile(ForEachWorkTileOp workTile) {
  return body.div(getFirstRow(workTile), kScaleTileRows);
}

/// The table ends with the last tile.
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
